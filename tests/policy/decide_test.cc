#include "daemon/policy/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/policy/policy_file.h"
#include "daemon/stats/rate_meter.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

Caller Local(uid_t uid) { return {.uid = uid, .pid = 7}; }

Policy Example() {
  return *ParsePolicy("p.yaml", R"(
callers:
  - {user: 1, role: viewer, limits: {target_uids: [1000]}}
  - user: 2
    role: operator
    limits:
      target_uids: [1000, 1001]
      cgroups: ["/app/*"]
      cmdlines: ["*gunicorn*"]
      max_delay: 1ms
      max_ttl: 10m
      max_sessions: 2
  - {user: 3, role: operator, sessions: all}
  - {user: 4, role: operator, limits: {max_duty: 29%}}
)");
}

TargetFacts App() {
  return {.pid = 42, .uids = {1000}, .cgroup = "/app/web", .cmdline = "python3 gunicorn -w 4"};
}

// What stands against it; empty where nothing does.
std::string Why(uid_t uid, AccessRequest request) {
  const auto refusal = Decide(Example(), Local(uid), request);
  return refusal ? std::string(NameOf(refusal->reason)) + ": " + refusal->words : "";
}

TEST(DecideTest, AViewerLooksAndAnOperatorActs) {
  for (const Action action :
       {Action::kInfo, Action::kList, Action::kWatch, Action::kMatch, Action::kInspect}) {
    EXPECT_EQ(Why(1, {.action = action}), "") << NameOf(action);
    EXPECT_EQ(Why(2, {.action = action}), "") << NameOf(action);
  }
  for (const Action action : {Action::kAttach, Action::kUpdate, Action::kDetach}) {
    EXPECT_THAT(Why(1, {.action = action}),
                HasSubstr("role: policy: uid 1 is a viewer, and " + std::string(NameOf(action)) +
                          " takes an operator (p.yaml:3)"));
    EXPECT_EQ(Why(2, {.action = action}), "") << NameOf(action);
  }
}

TEST(DecideTest, WhoIsNotNamedMayNothing) {
  for (const Action action : {Action::kInfo, Action::kList, Action::kWatch, Action::kMatch,
                              Action::kInspect, Action::kAttach, Action::kUpdate, Action::kDetach})
    EXPECT_EQ(Why(77, {.action = action}), "nobody: policy: uid 77 has no role here");
}

TEST(DecideTest, WithoutAPolicyRootAlone) {
  const Policy policy = Policy::RootAlone(500);
  EXPECT_FALSE(Decide(policy, Local(0), {.action = Action::kAttach, .max_stop_ns = 10 * kSecond}));
  EXPECT_FALSE(Decide(policy, Local(500), {.action = Action::kDetach, .owner = "uid 0"}));
  EXPECT_THAT(Decide(policy, Local(1), {.action = Action::kInfo})->words,
              HasSubstr("serves root alone"));
  Caller remote{.kind = Caller::Kind::kCertificate, .uid = 0, .names = {"dns:x"}};
  EXPECT_TRUE(Decide(policy, remote, {.action = Action::kInfo}));
}

TEST(DecideTest, EachLimitOnTargets) {
  const auto why = [](auto change) {
    TargetFacts target = App();
    change(target);
    return Why(2, {.action = Action::kAttach, .target = &target});
  };
  EXPECT_EQ(why([](auto&) {}), "");
  EXPECT_EQ(why([](auto& t) { t.uids = {1000, 1001}; }), "");
  EXPECT_THAT(why([](auto& t) {
                t.uids = {1000, 0};
              }),
              HasSubstr("target: policy: uid 2 may not touch pid 42: it runs with the rights of "
                        "uid 0"));
  EXPECT_THAT(why([](auto& t) { t.cgroup = "/other"; }), HasSubstr("its cgroup /other matches"));
  EXPECT_THAT(why([](auto& t) { t.cgroup = ""; }), HasSubstr("cgroup"));
  EXPECT_THAT(why([](auto& t) { t.cmdline = "python3 app.py"; }), HasSubstr("command line"));
}

TEST(DecideTest, LimitsOnTargetsHoldForLookingToo) {
  TargetFacts target = App();
  target.uids = {1001};
  for (const Action action : {Action::kWatch, Action::kMatch, Action::kInspect})
    EXPECT_THAT(Why(1, {.action = action, .target = &target}), HasSubstr("uid 1001"));
}

TEST(DecideTest, EachLimitOnSize) {
  EXPECT_EQ(Why(2, {.action = Action::kAttach,
                    .delay_ns = kMs,
                    .ttl_ns = 600 * kSecond,
                    .max_stop_ns = 100 * kMs,
                    .sessions = 1}),
            "");
  EXPECT_THAT(Why(2, {.action = Action::kAttach, .delay_ns = kMs + 1}),
              HasSubstr("dose: policy: uid 2 asks for a delay of 1.000001ms, and the most is 1ms"));
  EXPECT_THAT(Why(2, {.action = Action::kUpdate, .delay_ns = 2 * kMs}), HasSubstr("dose: "));
  EXPECT_THAT(Why(2, {.action = Action::kAttach, .ttl_ns = 601 * kSecond}), HasSubstr("time: "));
  EXPECT_THAT(Why(2, {.action = Action::kMatch, .max_stop_ns = 101 * kMs}), HasSubstr("a stop"));
  EXPECT_THAT(Why(2, {.action = Action::kAttach, .sessions = 2}),
              HasSubstr("sessions: policy: uid 2 has 2 sessions, and the most is 2"));
  EXPECT_EQ(Why(2, {.action = Action::kUpdate, .sessions = 2}), "");
}

TEST(DecideTest, OneDelayIsNoMoreThanTheDutyOfASecond) {
  for (const Action action : {Action::kAttach, Action::kUpdate}) {
    EXPECT_EQ(Why(4, {.action = action, .delay_ns = 290 * kMs}), "");
    EXPECT_THAT(Why(4, {.action = action, .delay_ns = 10 * kSecond}),
                HasSubstr("duty: policy: uid 4 asks for a delay of 10s, and max_duty leaves 290ms "
                          "of a second"));
  }
}

TEST(DecideTest, OwnSessionsUnlessAllAreGranted) {
  for (const Action action : {Action::kUpdate, Action::kDetach}) {
    EXPECT_EQ(Why(2, {.action = action, .owner = "uid 2"}), "");
    EXPECT_THAT(Why(2, {.action = action, .owner = "uid 3"}),
                HasSubstr("owner: policy: uid 2 may " + std::string(NameOf(action)) +
                          " its own sessions only, and this one is of uid 3"));
    EXPECT_EQ(Why(3, {.action = action, .owner = "uid 2"}), "");
  }
  EXPECT_EQ(Why(1, {.action = Action::kWatch, .owner = "uid 2"}), "");
}

TEST(DecideTest, TheCodeSaysWhatKindOfRefusalItIs) {
  EXPECT_TRUE(absl::IsResourceExhausted(
      Decide(Example(), Local(2), {.action = Action::kAttach, .sessions = 2})->ToStatus()));
  EXPECT_TRUE(absl::IsPermissionDenied(
      Decide(Example(), Local(1), {.action = Action::kAttach})->ToStatus()));
}

TEST(RateMeterTest, TheShareOverAWindow) {
  RateMeter meter;
  EXPECT_DOUBLE_EQ(meter.Add(kSecond, 0), 0.0);
  EXPECT_DOUBLE_EQ(meter.Add(kSecond + kSecond / 4, kSecond / 2), 0.5) << "it cannot become less";
  EXPECT_DOUBLE_EQ(meter.Add(2 * kSecond, kSecond / 2), 0.5);
  EXPECT_DOUBLE_EQ(meter.Add(5 * kSecond / 2, kSecond / 2), 0.0) << "the burst has passed";
  EXPECT_DOUBLE_EQ(meter.Add(7 * kSecond / 2, 5 * kSecond / 2), 2.0) << "two threads at once";
}

TEST(RateMeterTest, CountersThatFellAreNoShare) {
  RateMeter meter;
  meter.Add(kSecond, 500);
  EXPECT_DOUBLE_EQ(meter.Add(3 * kSecond, 100), 0.0);
}

// One snapshot an hour or twenty a second: memory and answer stay what they are.
TEST(RateMeterTest, LongRuns) {
  RateMeter meter;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const double duty = meter.Add(kSecond + i * 50 * kMs, i * 10 * kMs);
    if (i < 20) continue;
    ASSERT_NEAR(duty, 0.2, 1e-9);
  }
}

}  // namespace
}  // namespace sbump
