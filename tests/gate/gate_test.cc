#include "daemon/gate/gate.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/gate/facts.h"
#include "tests/gate/gate_fixture.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(GateTest, RefusalsAreCountedAndRecorded) {
  EXPECT_TRUE(gate_->Allow(Local(2), {.action = Action::kList}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(gate_->Allow(Local(2), {.action = Action::kAttach})));
  EXPECT_TRUE(absl::IsPermissionDenied(gate_->Allow(Local(3), {.action = Action::kList})));
  EXPECT_EQ(meters_.refusals(), (std::map<std::string, uint64_t>{{"nobody", 1}, {"role", 1}}));
  const std::string log = LogWith("uid 3 has no role here");
  EXPECT_THAT(log, HasSubstr("\"event\":\"refused\",\"caller\":{\"uid\":2,\"pid\":7},"
                             "\"action\":\"attach\""));
  EXPECT_THAT(log, HasSubstr("uid 3 has no role here"));
}

// Whoever may connect can be refused as fast as it asks.
TEST_F(GateTest, RefusalsWithoutEndAreInNobodysWay) {
  constexpr uint64_t kAsked = 100'000;
  SetLogLevel(LogLevel::kError);
  for (uint64_t i = 0; i < kAsked; ++i)
    EXPECT_FALSE(gate_->Allow(Local(3), {.action = Action::kList}).ok());
  SetLogLevel(LogLevel::kInfo);
  gate_.reset();
  EXPECT_EQ(meters_.refusals().at("nobody"), kAsked);
  uint64_t recorded = 0, lines = 0;
  std::ifstream log(audit_);
  for (std::string line; std::getline(log, line); ++lines) {
    constexpr std::string_view kReason = "\"reason\":\"";
    const size_t more = line.find(" more refusals of uid 3");
    const size_t number = line.find(kReason) + kReason.size();
    recorded += more == line.npos ? 1 : std::stoull(line.substr(number, more - number));
  }
  EXPECT_EQ(recorded, kAsked);
  EXPECT_LT(lines, kAsked / 20);
}

TEST_F(GateTest, PlacesAreTakenAndGivenBack) {
  AttachSpec spec = Spec();
  auto first = *gate_->Admit(Local(1), spec);
  auto second = *gate_->Admit(Local(1), spec);
  EXPECT_TRUE(absl::IsResourceExhausted(gate_->Admit(Local(1), spec).status()));
  EXPECT_TRUE(gate_->Admit(Local(0), spec).ok()) << "places are each caller's own";
  second->Ended(absl::OkStatus());  // over, but still held by a session that is not destroyed yet
  second = *gate_->Admit(Local(1), spec);
  EXPECT_FALSE(gate_->Admit(Local(1), spec).ok());
  first.reset();  // never began
  EXPECT_TRUE(gate_->Admit(Local(1), spec).ok());
  EXPECT_EQ(meters_.attaches, 5u);
}

// Who may change others' sessions gives nothing what it could not give by itself.
TEST_F(GateTest, AChangeIsJudgedByAllThatItGivesToOtherFunctions) {
  Write("callers:\n  - {user: 1, role: operator, sessions: all, limits: {max_delay: 1ms}}\n");
  gate_->Reload();
  AttachSpec spec = Spec(10'000'000);
  const auto roots = *gate_->Admit(Local(0), spec);
  ASSERT_TRUE(spec.authorise(OpenSomeProcess(), "s1", spec.rules).ok());
  const auto may = [&](const RulesChange& change) {
    return gate_->AllowUpdate(Local(1), "s1", spec.rules, change).ok();
  };
  const TargetRules other = Spec().rules;
  EXPECT_FALSE(may({.targets = other.targets, .natives = other.natives}));
  EXPECT_FALSE(may({.every = 1}));
  EXPECT_FALSE(may({.delay_ns = 2'000'000}));
  EXPECT_TRUE(may({.delay_ns = 1'000'000}));
  EXPECT_TRUE(may({.delay_ns = 1000, .targets = other.targets, .natives = other.natives}));
}

SessionSnapshot Injected(SessionState state, uint64_t injected_ns) {
  auto process = std::make_shared<Snapshot>();
  process->process = {.pid = 42, .start_ticks = 7};
  process->rows = {std::make_shared<RowInfo>()};
  process->counters = {{.injected_delay_ns = injected_ns}};
  SessionSnapshot snapshot;
  snapshot.state = state;
  snapshot.processes = {std::move(process)};
  return snapshot;
}

TEST_F(GateTest, MoreThanTheDutyOfASecondIsJudgedBeforeTheSecondIsOver) {
  AttachSpec spec = Spec();
  const auto admission = *gate_->Admit(Local(1), spec);
  const auto tell = [&](uint64_t injected_ns) {
    admission->OnSnapshot(
        std::make_shared<const SessionSnapshot>(Injected(SessionState::kActive, injected_ns)));
    return meters_.refusals().count("duty") == 1;
  };
  EXPECT_FALSE(tell(0));
  EXPECT_FALSE(tell(90'000'000));
  EXPECT_TRUE(tell(900'000'000));
}

TEST_F(GateTest, CallsThatAreOnlyCountedTakeTime) {
  AttachSpec spec = Spec();
  const auto admission = *gate_->Admit(Local(1), spec);
  const auto tell = [&](uint64_t calls, uint64_t native_calls, uint64_t module_calls) {
    RowInfo native;
    native.native = NativeRowInfo{.hit_cost_ns = 10'000};
    auto process = std::make_shared<Snapshot>();
    process->process = {.pid = 42, .start_ticks = 7};
    process->trap_cost_ns = 500;
    process->module_hit_cost_ns = 1'000;
    RowInfo module;
    module.module_type = "Linear";
    process->rows = {std::make_shared<RowInfo>(), std::make_shared<RowInfo>(native),
                     std::make_shared<RowInfo>(module)};
    process->counters = {{.calls = calls},
                         {.calls = native_calls},
                         {.calls = module_calls, .spans = SpanFigures{.calls = module_calls}}};
    SessionSnapshot snapshot;
    snapshot.state = SessionState::kActive;
    snapshot.processes = {std::move(process)};
    admission->OnSnapshot(std::make_shared<const SessionSnapshot>(snapshot));
    return meters_.refusals().count("duty") == 1;
  };
  EXPECT_FALSE(tell(0, 0, 0));
  EXPECT_FALSE(tell(60'000, 3'000, 15'000));    // 30 ms each
  EXPECT_TRUE(tell(560'000, 28'000, 140'000));  // and 250 ms
}

// That of a session that was over before it was judged counts for the next one.
TEST_F(GateTest, ShortSessionsInARowAreJudgedTogether) {
  const auto run = [&](SessionState state, uint64_t injected_ns) {
    AttachSpec spec = Spec();
    const auto admission = *gate_->Admit(Local(1), spec);
    admission->OnSnapshot(std::make_shared<const SessionSnapshot>(Injected(state, injected_ns)));
  };
  // Once is enough; again where this machine stood still for a second in between.
  for (int i = 0; i < 5 && meters_.refusals().empty(); ++i) {
    run(SessionState::kEnded, 900'000'000);
    run(SessionState::kActive, 0);
  }
  EXPECT_EQ(meters_.refusals().count("duty"), 1u);
}

TEST_F(GateTest, EndsAreCountedByTheirKind) {
  const std::pair<const char*, const char*> kinds[] = {
      {"ttl over", "ttl over"},
      {"guardrail: at least 9 matching calls", "guardrail"},
      {"policy: uid 1 took at least 9 %", "limit"},
      {"something else", "other"}};
  std::map<std::string, uint64_t> expected;
  for (const auto& [reason, kind] : kinds) {
    AttachSpec spec = Spec();
    const auto admission = *gate_->Admit(Local(0), spec);
    auto snapshot = std::make_shared<SessionSnapshot>();
    snapshot->end = std::make_shared<const SessionEnd>(SessionEnd{.reason = reason});
    admission->OnSnapshot(snapshot);
    admission->Ended(absl::OkStatus());
    expected[kind] = 1;
  }
  EXPECT_EQ(meters_.ends(), expected);
}

// What is not known to be one's own is somebody else's.
TEST_F(GateTest, ASessionThatIsNotKnownYetIsNobodys) {
  EXPECT_FALSE(gate_->AllowSession(Local(1), Action::kDetach, "s9").ok());
  EXPECT_FALSE(gate_->MayEnd(Local(1), "s9"));
  EXPECT_TRUE(gate_->AllowSession(Local(0), Action::kDetach, "s9").ok());
}

TEST_F(GateTest, WatchersAreToldWhenTheyMayNotWatchAnyMore) {
  std::string told;
  const auto watch = gate_->KeepWatch(
      Local(2), "s1", [&](absl::Status status) { told = std::string(status.message()); });
  std::string gone;
  gate_->KeepWatch(Local(2), "s1", [&](absl::Status) { gone = "told"; }).reset();
  gate_->Reload();
  EXPECT_EQ(told, "");
  Write("callers: []\n");
  gate_->Reload();
  EXPECT_THAT(told, HasSubstr("uid 2 has no role"));
  EXPECT_EQ(gone, "");
}

// Spans may be read on when the session is over.
TEST_F(GateTest, AWatchKnowsWhoseSessionItWas) {
  AttachSpec spec = Spec();
  auto admission = *gate_->Admit(Local(1), spec);
  ASSERT_TRUE(spec.authorise(OpenSomeProcess(), "s1", spec.rules).ok());
  std::string owner, other;
  const auto note = [](std::string& told) {
    return [&told](absl::Status status) { told = std::string(status.message()); };
  };
  const auto owners = gate_->KeepWatch(Local(1), "s1", note(owner), Action::kDetach);
  const auto others = gate_->KeepWatch(Local(2), "s1", note(other), Action::kDetach);
  admission->Ended(absl::OkStatus());
  spec = {};
  admission.reset();
  gate_->Reload();
  EXPECT_EQ(owner, "");
  EXPECT_THAT(other, HasSubstr("uid 2"));
}

TEST_F(GateTest, WatchersAreToldThatTheDaemonEnds) {
  std::vector<absl::Status> told;
  const auto end = [&](absl::Status status) { told.push_back(std::move(status)); };
  const auto of_session = gate_->KeepWatch(Local(2), "s1", end);
  const auto of_none = gate_->KeepWatch(Local(2), "", end);
  gate_->KeepWatch(Local(2), "s1", end).reset();
  gate_->EndWatches(absl::UnavailableError("it ends"));
  EXPECT_THAT(told,
              ElementsAre(absl::UnavailableError("it ends"), absl::UnavailableError("it ends")));
}

// It is authorised before the record is on the disk, and the session's only after that.
TEST_F(GateTest, AReloadMissesNoProcessThatIsBeingAuthorised) {
  const TargetProcess process = OpenSomeProcess();
  for (int i = 0; i < 200; ++i) {
    Write("callers:\n  - {user: 1, role: operator}\n");
    gate_->Reload();
    AttachSpec spec = Spec();
    const auto admission = *gate_->Admit(Local(1), spec);
    const size_t ended_before = meters_.refusals()["target"];
    Write("callers:\n  - {user: 1, role: operator, limits: {cmdlines: ['nothing']}}\n");
    std::thread reload([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(10 * i));
      gate_->Reload();
    });
    const absl::Status let_on = spec.authorise(process, "s1", spec.rules);
    reload.join();
    ASSERT_TRUE(!let_on.ok() || meters_.refusals()["target"] > ended_before) << i;
  }
}

TEST_F(GateTest, AWatchIsJudgedAgainWhenAProcessComes) {
  Write("callers:\n  - {user: 2, role: viewer, limits: {cmdlines: ['*gate_test*']}}\n");
  gate_->Reload();
  AttachSpec spec = Spec();
  const auto roots = *gate_->Admit(Local(0), spec);
  ASSERT_TRUE(spec.authorise(OpenSomeProcess(), "s1", spec.rules).ok());
  std::string told;
  const auto watch = gate_->KeepWatch(
      Local(2), "s1", [&](absl::Status status) { told = std::string(status.message()); });
  EXPECT_TRUE(gate_->MayShow(*watch));
  Child other([] { execl("/bin/sleep", "sleep", "1000", nullptr); });
  ASSERT_TRUE(Eventually(
      [&] { return ReadFacts(*TargetProcess::Open(other.pid()))->cmdline.starts_with("sleep"); }));
  EXPECT_TRUE(gate_->MayShow(*watch));
  ASSERT_TRUE(spec.authorise(*TargetProcess::Open(other.pid()), "s1", spec.rules).ok());
  EXPECT_FALSE(gate_->MayShow(*watch));
  EXPECT_THAT(told, HasSubstr(StrCat("may not touch pid ", other.pid())));
  EXPECT_FALSE(gate_->MayShow(*watch)) << "nothing more";
  EXPECT_EQ(meters_.refusals(), (std::map<std::string, uint64_t>{{"target", 1}}));
}

TEST_F(GateTest, AMistakeInTheFileChangesNothing) {
  Write("callers: [\n");
  gate_->Reload();
  EXPECT_EQ(meters_.policy_reload_failures, 1u);
  EXPECT_TRUE(gate_->Allow(Local(2), {.action = Action::kList}).ok());
}

}  // namespace
}  // namespace sbump
