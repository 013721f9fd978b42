// The bump is made by a system call on a live process: here on this one, with a small CPython
// copied to where its addresses say.
#include "daemon/attach/version_bump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

// Maps the scene's pages where it says, for as long as it lives.
class InThisProcess {
 public:
  explicit InThisProcess(const FakeMemory& scene) {
    for (const auto& [number, page] : scene.pages()) {
      void* at =
          mmap(reinterpret_cast<void*>(number * FakeMemory::kPage), FakeMemory::kPage,
               PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (at == MAP_FAILED) abort();
      std::memcpy(at, page.data(), page.size());
      pages_.push_back(at);
    }
  }
  ~InThisProcess() {
    for (void* page : pages_) munmap(page, FakeMemory::kPage);
  }
  RemoteMemory& memory() { return memory_; }
  uint64_t WordAt(RemoteAddr addr) const { return memory_.ReadValue<uint64_t>(addr).value_or(0); }

 private:
  static RemoteMemory Open() {
    const Fd self(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return std::move(RemoteMemory::Open(self.get(), getpid())).value();
  }
  RemoteMemory memory_ = Open();
  std::vector<void*> pages_;
};

class VersionBumpTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  const bool has_thread_words = GetParam() >= 13;
  const uint64_t step = has_thread_words ? 256 : 1;

  RemoteAddr VersionOf(RemoteAddr interpreter) {
    return interpreter + python.layout().interpreter.instrumentation_version;
  }
  RemoteAddr BreakerOf(RemoteAddr thread) { return thread + python.layout().thread.eval_breaker; }
  void SetVersion(RemoteAddr interpreter, uint64_t version) {
    python.memory().Put(VersionOf(interpreter), version);
  }
  void SetBreaker(RemoteAddr thread, uint64_t word) {
    if (has_thread_words) python.memory().Put(BreakerOf(thread), word);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, VersionBumpTest, testing::Values(12, 13, 14, 15));

TEST_P(VersionBumpTest, OneThatIsBeingMadeHasNoThreadYet) {
  const RemoteAddr unused = python.AddInterpreter();
  const RemoteAddr used = python.AddInterpreter();
  const RemoteAddr its_thread = python.AddThread(used);
  SetVersion(python.main_interpreter(), 3 * step);
  InThisProcess process(python.memory());
  RemoteMemory& memory = process.memory();
  EXPECT_EQ(NewInterpreters(memory, python.interpreter())->size(), 2u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      BumpUnusedInterpreters(memory, memory, python.interpreter(), /*until_ns=*/1)));
  EXPECT_EQ(process.WordAt(VersionOf(unused)), 0u);
  ASSERT_TRUE(BumpUnusedInterpreters(memory, memory, python.interpreter(), UINT64_MAX).ok());
  EXPECT_EQ(process.WordAt(VersionOf(unused)), step);
  EXPECT_EQ(process.WordAt(VersionOf(used)), 0u);
  ASSERT_TRUE(BumpNewInterpreters(getpid(), memory, python.interpreter()).ok());
  EXPECT_EQ(process.WordAt(VersionOf(unused)), step);
  EXPECT_EQ(process.WordAt(VersionOf(used)), step);
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), 3 * step);
  if (has_thread_words) {
    EXPECT_EQ(process.WordAt(BreakerOf(its_thread)), step);
  }
  EXPECT_TRUE(NewInterpreters(memory, python.interpreter())->empty());
}

TEST_P(VersionBumpTest, EveryInterpreterAndThreadIsOneAhead) {
  const RemoteAddr second = python.AddInterpreter();
  const RemoteAddr worker = python.AddThread(python.main_interpreter());
  const RemoteAddr its_thread = python.AddThread(second);
  SetVersion(python.main_interpreter(), 3 * step);
  SetVersion(second, 7 * step);
  SetBreaker(python.main_thread(), 3 * step);
  SetBreaker(worker, 3 * step + 5);  // with events in the low byte
  SetBreaker(its_thread, 7 * step);
  InThisProcess process(python.memory());
  const absl::Status status =
      BumpInstrumentationVersion(getpid(), process.memory(), python.interpreter());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), 4 * step);
  EXPECT_EQ(process.WordAt(VersionOf(second)), 8 * step);
  if (!has_thread_words) return;
  EXPECT_EQ(process.WordAt(BreakerOf(python.main_thread())), 4 * step);
  EXPECT_EQ(process.WordAt(BreakerOf(worker)), 4 * step + 5);
  EXPECT_EQ(process.WordAt(BreakerOf(its_thread)), 8 * step);
}

TEST_P(VersionBumpTest, RepairMakesThreadsAgreeWithTheirInterpreter) {
  const RemoteAddr worker = python.AddThread(python.main_interpreter());
  SetVersion(python.main_interpreter(), 9 * step);
  SetBreaker(python.main_thread(), 9 * step + 1);
  SetBreaker(worker, 8 * step + 2);
  InThisProcess process(python.memory());
  const auto wrong = RepairInstrumentationVersion(getpid(), process.memory(), python.interpreter());
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), 9 * step);
  EXPECT_EQ(*wrong, has_thread_words ? 1 : 0);
  if (!has_thread_words) return;
  EXPECT_EQ(process.WordAt(BreakerOf(python.main_thread())), 9 * step + 1);
  EXPECT_EQ(process.WordAt(BreakerOf(worker)), 9 * step + 2);
}

TEST_P(VersionBumpTest, WhetherThreadsAgree) {
  SetVersion(python.main_interpreter(), 9 * step);
  SetBreaker(python.main_thread(), 9 * step + 3);  // an event is no version
  {
    InThisProcess process(python.memory());
    EXPECT_TRUE(*VersionsAgree(process.memory(), python.interpreter()));
  }
  SetBreaker(python.main_thread(), 8 * step);
  InThisProcess process(python.memory());
  EXPECT_EQ(*VersionsAgree(process.memory(), python.interpreter()), !has_thread_words);
}

// One system call writes all words or none that matters: more than it takes are refused.
TEST_P(VersionBumpTest, MoreThreadsThanOneWriteTakes) {
  RemoteAddr first;
  for (int i = 0; i < 3000; ++i) first = python.AddThread(python.main_interpreter());
  InThisProcess process(python.memory());
  const absl::Status status =
      BumpInstrumentationVersion(getpid(), process.memory(), python.interpreter());
  EXPECT_EQ(status.ok(), !has_thread_words) << status;
  if (!has_thread_words) return;
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), 0u);
  EXPECT_EQ(process.WordAt(BreakerOf(first)), 0u);
}

// _Py_Instrument() keeps 32 bits: a code object would never catch up with more.
TEST_P(VersionBumpTest, AVersionAtItsEndIsLeftAlone) {
  const uint64_t last = (uint64_t{1} << 32) - step;
  SetVersion(python.main_interpreter(), last);
  SetBreaker(python.main_thread(), last);
  InThisProcess process(python.memory());
  const absl::Status status =
      BumpInstrumentationVersion(getpid(), process.memory(), python.interpreter());
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), last);
}

TEST_P(VersionBumpTest, ABrokenListOfThreadsChangesNothing) {
  SetVersion(python.main_interpreter(), step);
  const RemoteAddr worker = python.AddThread(python.main_interpreter());
  python.memory().Put(worker + 16, uint64_t{0});
  InThisProcess process(python.memory());
  EXPECT_FALSE(BumpInstrumentationVersion(getpid(), process.memory(), python.interpreter()).ok());
  EXPECT_EQ(process.WordAt(VersionOf(python.main_interpreter())), step);
}

}  // namespace
}  // namespace sbump
