// What the gate writes down of those whom it lets onto a process.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "daemon/base/str_cat.h"
#include "daemon/gate/facts.h"
#include "tests/gate/gate_fixture.h"

namespace sbump {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class AuditTest : public GateTest {
 protected:
  std::vector<std::string> Updates() const {
    std::vector<std::string> lines;
    std::ifstream log(audit_);
    for (std::string line; std::getline(log, line);) {
      if (line.find("\"event\":\"update\"") != std::string::npos) lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(AuditTest, NothingIsLetOntoAProcessWithoutARecord) {
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  const TargetProcess process = OpenSomeProcess();
  ASSERT_TRUE(spec.authorise(process, "s1", spec.rules).ok());
  EXPECT_THAT(Log(), HasSubstr("\"event\":\"attach\""));
  EXPECT_THAT(Log(), HasSubstr("\"rules\":[{\"pattern\":\"*:f\",\"delay_ns\":1000,\"every\":1}]"));
  EXPECT_THAT(Log(), HasSubstr("\"mode\":\"spin\",\"on\":\"call\",\"children\":false"));
  EXPECT_EQ(admission->targets().size(), 1u);
  EXPECT_EQ(admission->session_id(), "s1");
  admission->Ended(absl::OkStatus());
  EXPECT_THAT(Log(), HasSubstr("\"event\":\"end\""));
}

TEST_F(AuditTest, ARefusalOfASessionsProcessNamesTheSession) {
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  const TargetProcess process = OpenSomeProcess();
  Write("callers: []\n");
  gate_->Reload();
  EXPECT_FALSE(spec.authorise(process, "s1", spec.rules).ok());
  const std::string words = "\"action\":\"attach\",\"session\":\"s1\"";
  EXPECT_THAT(LogWith(words), HasSubstr(words));
}

TEST_F(AuditTest, AProcessThatComesLaterIsRecordedWithTheRulesOfThen) {
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  const TargetProcess process = OpenSomeProcess();
  ASSERT_TRUE(spec.authorise(process, "s1", Spec(2000).rules).ok());
  EXPECT_THAT(Log(), HasSubstr("\"rules\":[{\"pattern\":\"*:f\",\"delay_ns\":2000,\"every\":1}]"));
}

TEST_F(AuditTest, TheDoseInForceIsRecorded) {
  AttachSpec spec = Spec(1);
  spec.trap_costs.emulated_ns = 700;
  const auto admission = *gate_->Admit(Local(1), spec);
  ASSERT_TRUE(spec.authorise(OpenSomeProcess(), "s1", spec.rules).ok());
  EXPECT_THAT(Log(), HasSubstr("\"rules\":[{\"pattern\":\"*:f\",\"delay_ns\":700,"));
  ASSERT_TRUE(gate_->NoteUpdate(Local(0), "s1", Spec(0).rules).ok());
  EXPECT_THAT(Updates(), ElementsAre(HasSubstr("\"delay_ns\":0")));
  ASSERT_TRUE(gate_->NoteUpdate(Local(0), "s1", Spec(699).rules).ok());
  ASSERT_TRUE(gate_->NoteUpdate(Local(0), "s1", Spec(701).rules).ok());
  EXPECT_THAT(Updates(), ElementsAre(HasSubstr(":0,"), HasSubstr(":700,"), HasSubstr(":701,")));
}

TEST_F(AuditTest, AChangeIsRecordedOnceForEachProcess) {
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  const TargetProcess process = OpenSomeProcess();
  ASSERT_TRUE(spec.authorise(process, "s1", spec.rules).ok());
  const TargetRules after = Spec(2000).rules;
  ASSERT_TRUE(gate_->NoteUpdate(Local(0), "s1", after).ok());
  EXPECT_THAT(Updates(),
              ElementsAre(AllOf(HasSubstr("\"uid\":0"), HasSubstr("\"delay_ns\":2000"))));
  ASSERT_TRUE(spec.authorise(process, "s1", after).ok());
  EXPECT_THAT(Updates(), SizeIs(1));
}

// It came while the change was on its way: let on with the old rules, and given the new ones then.
TEST_F(AuditTest, AChangeThatAProcessMissedIsRecordedWhenItIsMadeThere) {
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  const TargetProcess first = OpenSomeProcess();
  ASSERT_TRUE(spec.authorise(first, "s1", spec.rules).ok());
  const TargetRules after = Spec(2000).rules;
  ASSERT_TRUE(gate_->NoteUpdate(Local(0), "s1", after).ok());
  Child second([] { pause(); });
  const auto late = TargetProcess::Open(second.pid());
  ASSERT_TRUE(late.ok()) << late.status();
  ASSERT_TRUE(spec.authorise(*late, "s1", spec.rules).ok());
  EXPECT_THAT(Updates(), SizeIs(1));
  ASSERT_TRUE(spec.authorise(*late, "s1", after).ok());
  ASSERT_THAT(Updates(), SizeIs(2));
  EXPECT_THAT(Updates()[1], AllOf(HasSubstr("\"uid\":0"), HasSubstr("\"delay_ns\":2000"),
                                  HasSubstr(StrCat("\"pid\":", second.pid()))));
}

TEST_F(AuditTest, AProcessThatNamesItselfAnewIsTheSame) {
  auto& is_named = SharedWithChildren<std::atomic<int>>();
  Child child([&] {
    while (is_named == 0) usleep(1000);
    memset(program_invocation_name, 'x', strlen(program_invocation_name));  // as setproctitle(3)
    is_named = 2;
    pause();
  });
  const TargetProcess process = *TargetProcess::Open(child.pid());
  AttachSpec spec = Spec(1000);
  const auto admission = *gate_->Admit(Local(1), spec);
  ASSERT_TRUE(spec.authorise(process, "s1", spec.rules).ok());
  is_named = 1;
  ASSERT_TRUE(Eventually([&] { return is_named == 2; }));
  ASSERT_THAT(ReadFacts(process)->cmdline, StartsWith("xxx"));
  ASSERT_TRUE(spec.authorise(process, "s1", Spec(2000).rules).ok());
  EXPECT_THAT(admission->targets(), SizeIs(1));
  EXPECT_THAT(Updates(), ElementsAre(HasSubstr("\"delay_ns\":2000")));
}

TEST_F(AuditTest, AProgramThatItExecutesIsAnother) {
  auto& goes_on = SharedWithChildren<std::atomic<bool>>();
  Child child([&] {
    while (!goes_on) usleep(1000);
    execl("/bin/sleep", "sleep", "1000", nullptr);
  });
  const TargetProcess process = *TargetProcess::Open(child.pid());
  AttachSpec spec = Spec();
  const auto admission = *gate_->Admit(Local(1), spec);
  ASSERT_TRUE(spec.authorise(process, "s1", spec.rules).ok());
  goes_on = true;
  ASSERT_TRUE(Eventually([&] { return ReadFacts(process)->cmdline.starts_with("sleep"); }));
  ASSERT_TRUE(spec.authorise(process, "s1", spec.rules).ok());
  EXPECT_THAT(admission->targets(), SizeIs(2));
}

}  // namespace
}  // namespace sbump
