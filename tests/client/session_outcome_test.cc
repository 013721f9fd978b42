#include "client/session_outcome.h"

#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

ExitCode CodeFor(const v1::SessionUpdate& head, const StreamEnd& end = {}) {
  return AttachOutcome(head, end).code;
}

v1::SessionUpdate EndedBy(const std::string& reason) { return test::Ended(2, 5, reason); }

TEST(AttachOutcome, ReasonDecides) {
  EXPECT_EQ(CodeFor(EndedBy("duration over")), ExitCode::kOk);
  EXPECT_EQ(CodeFor(EndedBy("detached")), ExitCode::kOk);
  EXPECT_EQ(CodeFor(EndedBy("ttl over")), ExitCode::kOk);
  EXPECT_EQ(CodeFor(EndedBy("target exited (status 1)")), ExitCode::kTargetEnded);
  EXPECT_EQ(CodeFor(EndedBy("target called exec")), ExitCode::kTargetEnded);
  EXPECT_EQ(CodeFor(EndedBy("daemon shutting down")), ExitCode::kUnreachable);
  EXPECT_EQ(CodeFor(EndedBy("journal: no space left")), ExitCode::kError);
  EXPECT_EQ(CodeFor(EndedBy("revoked by a new policy: uid 1 has no role")), ExitCode::kPermission);
}

TEST(AttachOutcome, ALimitIsNoFailure) {
  for (const char* reason :
       {"guardrail: at least 7 matching calls a second, and the most is 5",
        "policy: uid 1 took at least 30 % of the time, and the most is 20 %"}) {
    const Outcome outcome = AttachOutcome(EndedBy(reason), {});
    EXPECT_EQ(outcome.code, ExitCode::kGuardrail);
    EXPECT_EQ(outcome.message, std::string("the session ended: ") + reason);
  }
  v1::SessionUpdate unclean =
      EndedBy("guardrail: at least 7 matching calls a second, and the most is 5");
  unclean.mutable_end()->mutable_detach_proof()->set_links_left(1);
  EXPECT_EQ(CodeFor(unclean), ExitCode::kError);
}

TEST(AttachOutcome, NoMatchByFlagOrByPatterns) {
  v1::SessionUpdate flagged = EndedBy("detached");
  flagged.mutable_end()->set_no_match(true);
  EXPECT_EQ(CodeFor(flagged), ExitCode::kNoMatch);

  v1::SessionUpdate patterns = EndedBy("detached");
  for (auto& pattern : *patterns.mutable_patterns()) pattern.set_status(v1::NO_MATCH);
  EXPECT_EQ(CodeFor(patterns), ExitCode::kNoMatch);

  flagged.mutable_end()->set_reason("target exited");
  EXPECT_EQ(CodeFor(flagged), ExitCode::kTargetEnded) << "that is the news";
}

TEST(AttachOutcome, ProofThatIsNotCleanBeatsAll) {
  v1::SessionUpdate head = EndedBy("target exited");
  head.mutable_end()->mutable_detach_proof()->set_text_bytes_changed(1);
  const Outcome outcome = AttachOutcome(head, {});
  EXPECT_EQ(outcome.code, ExitCode::kError);
  EXPECT_NE(outcome.message.find("1 text byte changed"), std::string::npos) << outcome.message;
}

TEST(AttachOutcome, BrokenStream) {
  const StreamEnd lost = {absl::UnavailableError("gone"), 0, false};
  EXPECT_EQ(CodeFor(test::Active(1, 1), lost), ExitCode::kUnreachable);
  EXPECT_EQ(CodeFor(v1::SessionUpdate(), {absl::AlreadyExistsError("held"), 0, false}),
            ExitCode::kBusy);
  EXPECT_EQ(CodeFor(test::Active(1, 1), {absl::CancelledError(""), 0, false}), ExitCode::kError)
      << "cancelled, but not by us";
}

TEST(AttachOutcome, Interrupted) {
  const absl::Status cancelled = absl::CancelledError("");
  EXPECT_EQ(CodeFor(v1::SessionUpdate(), {cancelled, 1, false}), ExitCode::kOk);
  EXPECT_EQ(CodeFor(test::Active(1, 1), {cancelled, 2, false}), ExitCode::kError);
  EXPECT_EQ(CodeFor(test::Active(1, 1), {cancelled, 1, true}), ExitCode::kOk);
}

TEST(WatchOutcome, AnyEndIsFine) {
  EXPECT_EQ(WatchOutcome(EndedBy("target exited"), {}).code, ExitCode::kOk);
  EXPECT_EQ(WatchOutcome(v1::SessionUpdate(), {absl::NotFoundError("no"), 0, true}).code,
            ExitCode::kNoSession);
  EXPECT_EQ(WatchOutcome(test::Active(1, 1), {absl::CancelledError(""), 1, true}).code,
            ExitCode::kOk);
}

}  // namespace
}  // namespace sbump
