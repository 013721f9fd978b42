#include "daemon/session/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/process/child.h"

namespace sbump {
namespace {

TEST(DoctorTest, TellsNothingOfAProcessThatMayNotBeTouched) {
  const Child child([] { pause(); });
  TargetId judged;
  const absl::StatusOr<Diagnosis> diagnosis = Diagnose(
      child.pid(), {}, [&](const TargetProcess& process, const std::string&, const TargetRules&) {
        judged = process.id();
        return absl::PermissionDeniedError("no");
      });
  EXPECT_EQ(diagnosis.status(), absl::PermissionDeniedError("no"));
  EXPECT_EQ(judged, TargetProcess::Open(child.pid())->id());
}

// The number is another process's by then, or none's: what is told is of the one that was judged.
TEST(DoctorTest, ExaminesTheProcessThatWasJudged) {
  Child child([] { pause(); });
  const TargetId id = TargetProcess::Open(child.pid())->id();
  InterpreterFileCache files;
  const absl::StatusOr<Diagnosis> diagnosis =
      Diagnose(child.pid(), {.files = &files},
               [&](const TargetProcess&, const std::string&, const TargetRules&) {
                 child.Kill();
                 return absl::OkStatus();
               });
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  EXPECT_EQ(diagnosis->process.pid, id.pid);
  EXPECT_EQ(diagnosis->process.start_ticks, id.start_ticks);
}

TEST(DoctorTest, TellsNothingOfWhatAProcessBecameMeanwhile) {
  const Child child([] { pause(); });
  InterpreterFileCache files;
  int asked = 0;
  const auto authorise = [&](const TargetProcess&, const std::string&, const TargetRules&) {
    return ++asked == 1 ? absl::OkStatus() : absl::PermissionDeniedError("it executed another");
  };
  EXPECT_TRUE(
      absl::IsPermissionDenied(Diagnose(child.pid(), {.files = &files}, authorise).status()));
}

TEST(DoctorTest, WithoutAProcessNobodyIsAsked) { EXPECT_TRUE(Diagnose(0, {}, {}).ok()); }

}  // namespace
}  // namespace sbump
