#include "daemon/cpython/interpreter_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class InterpreterStateTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};

  absl::StatusOr<std::vector<InterpreterState>> Read() {
    return ReadInterpreterStates(python.memory(), python.interpreter());
  }
  void SetNextThread(RemoteAddr thread, RemoteAddr next) {
    python.memory().Put(thread + python.layout().thread.next, next);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, InterpreterStateTest, testing::ValuesIn(kFakeMinors));

TEST_P(InterpreterStateTest, InterpretersThreadsAndModules) {
  const RemoteAddr second = python.AddInterpreter();
  const RemoteAddr its_thread = python.AddThread(second);
  const RemoteAddr worker = python.AddThread(python.main_interpreter());
  const auto states = Read();
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_THAT(*states, SizeIs(2));
  EXPECT_EQ((*states)[0].addr, second);
  EXPECT_THAT((*states)[0].threads, ElementsAre(its_thread));
  EXPECT_FALSE((*states)[0].modules);
  EXPECT_EQ((*states)[1].addr, python.main_interpreter());
  EXPECT_THAT((*states)[1].threads, ElementsAre(worker, python.main_thread()));
  EXPECT_TRUE((*states)[1].modules.Plausible());
}

TEST_P(InterpreterStateTest, NotInitialised) {
  python.memory().Put(python.interpreter().runtime + python.layout().runtime.interpreters_head,
                      uint64_t{0});
  const auto states = Read();
  EXPECT_TRUE(absl::IsFailedPrecondition(states.status())) << states.status();
  EXPECT_NE(std::string(states.status().message()).find("try again"), std::string::npos);
}

TEST_P(InterpreterStateTest, AThreadOfAnotherInterpreter) {
  python.memory().Put(python.main_thread() + 16, uint64_t{0x5000'0000});
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_P(InterpreterStateTest, AListOfThreadsThatTurnsInACircle) {
  SetNextThread(python.main_thread(), python.main_thread());
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_P(InterpreterStateTest, AListOfInterpretersThatTurnsInACircle) {
  python.memory().Put(python.main_interpreter() + python.layout().interpreter.next,
                      python.main_interpreter());
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_P(InterpreterStateTest, PointersThatLeadNowhere) {
  SetNextThread(python.main_thread(), RemoteAddr{16});
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
  SetNextThread(python.main_thread(), RemoteAddr{0x7000'0000'0000});
  EXPECT_FALSE(Read().ok());
  SetNextThread(python.main_thread(), RemoteAddr{});
  EXPECT_TRUE(Read().ok()) << "sound again";
  python.memory().Put(python.main_interpreter() + python.layout().interpreter.next,
                      uint64_t{1} << 63);
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

}  // namespace
}  // namespace sbump
