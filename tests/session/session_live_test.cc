// Needs root: BPF programs tell of the forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/process/process_facts.h"
#include "daemon/session/session.h"
#include "tests/fakes/temp_dir.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;

AttachSpec SpecWithChildren(pid_t pid) {
  AttachSpec spec;
  spec.pid = pid;
  spec.children = true;
  std::vector<Pattern> patterns;
  patterns.push_back(*ParsePattern("*:f"));
  spec.rules.targets =
      std::make_shared<const TargetList>(std::move(patterns), std::vector<Pattern>(), false);
  return spec;
}

TEST(SessionLiveTest, TakesInSoManyProcessesEver) {
  constexpr size_t kMost = 3, kChildren = 5;
  Child parent([] {
    for (size_t i = 0; i < kChildren && fork() != 0; ++i) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    while (true) pause();
  });
  ASSERT_TRUE(Eventually([&] { return DescendantsOf(parent.pid())->size() == kChildren; }));
  const TempDir state{"session"};
  InterpreterFileCache files;
  WalkTurn walk_turn;
  ProcessEvents events;
  Session session("s1", SpecWithChildren(parent.pid()),
                  {.files = &files,
                   .walk_turn = &walk_turn,
                   .process_events = &events,
                   .most_processes_ever = kMost,
                   .state_dir = state.path()});
  std::promise<void> ended;
  session.Start([&](const absl::Status&) { ended.set_value(); });
  session.Stop("detached");
  ended.get_future().get();
  const auto last = session.latest();
  EXPECT_THAT(
      last->skipped,
      Contains(AllOf(Field(&SkippedCount::reason, "processes after the first 3 of the session"),
                     Field(&SkippedCount::count, 1 + kChildren - kMost))));
}

}  // namespace
}  // namespace sbump
