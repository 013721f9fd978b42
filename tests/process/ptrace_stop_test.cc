#include "daemon/process/ptrace_stop.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/process/dead_mans_handle.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMaxCounters = 64;
constexpr size_t kOtherThreads = kHasThreadSanitizer ? 1 : 0;

struct Progress {
  std::array<std::atomic<uint64_t>, kMaxCounters> steps = {};
  std::atomic<uint64_t> signals = 0;
  std::atomic<pid_t> tracer = 0;
  std::atomic<int> result = 0;
};
Progress* shared = nullptr;

uint64_t TotalSteps() {
  uint64_t total = 0;
  for (const auto& steps : shared->steps) total += steps;
  return total;
}

void CountForEver(size_t slot) {
  while (true) {
    ++shared->steps[slot];
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void RunCountingThreads(size_t count) {
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(CountForEver, i);
  CountForEver(0);
}

bool AllCount(size_t count) {
  return Eventually([count] {
    for (size_t i = 0; i < count; ++i) {
      if (shared->steps[i] == 0) return false;
    }
    return true;
  });
}

bool StillCounting() {
  const uint64_t before = TotalSteps();
  return Eventually([before] { return TotalSteps() > before + 10; });
}

bool StandsStill() {
  const uint64_t before = TotalSteps();
  std::this_thread::sleep_for(milliseconds(20));
  return TotalSteps() == before;
}

char StateOf(pid_t pid) {
  const auto process = TargetProcess::Open(pid);
  if (!process.ok()) return '?';
  const auto text = process->ReadProcFile("stat", 4096);
  return text.ok() ? ParseProcStat(*text)->state : '?';
}

// Until the watched timer expires; 0: it is not armed.
long SecondsPromised() {
  itimerspec left{};
  timerfd_gettime(DeadMansHandle::timer_fd(), &left);
  return left.it_value.tv_sec;
}

class PtraceStopTest : public testing::Test {
 protected:
  void SetUp() override { shared = &SharedWithChildren<Progress>(); }
};

TEST_F(PtraceStopTest, EveryThreadStandsStillAndThenRunsOn) {
  for (const size_t threads : {size_t{1}, size_t{8}, size_t{64}}) {
    SetUp();
    Child child([threads] { RunCountingThreads(threads); });
    ASSERT_TRUE(AllCount(threads));
    const auto process = TargetProcess::Open(child.pid());
    ASSERT_TRUE(process.ok()) << process.status();

    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
      const uint64_t before_ns = MonotonicNs();
      auto stop = PtraceStop::StopAll(*process, seconds(10));
      ASSERT_TRUE(stop.ok()) << stop.status();
      best_ns = std::min(best_ns, MonotonicNs() - before_ns);
      EXPECT_EQ(stop->thread_count(), threads + kOtherThreads);
      EXPECT_GE(stop->stopped_since_ns(), before_ns);
      if (i == 0) {
        EXPECT_TRUE(StandsStill());
      }
      stop->Resume();
      stop->Resume();
      if (i == 0) {
        EXPECT_TRUE(StillCounting());
      }
    }
    RecordProperty("best_stop_us_" + std::to_string(threads), static_cast<int>(best_ns / 1000));
    printf("%zu threads: stopped in %.3f ms at best\n", threads,
           static_cast<double>(best_ns) / 1e6);
    EXPECT_TRUE(StillCounting());
  }
}

TEST_F(PtraceStopTest, ASignalSentDuringTheStopArrivesAfterwards) {
  Child child([] {
    signal(SIGUSR1, [](int) { ++shared->signals; });
    RunCountingThreads(4);
  });
  ASSERT_TRUE(AllCount(4));
  const auto process = TargetProcess::Open(child.pid());
  {
    const auto stop = PtraceStop::StopAll(*process, seconds(10));
    ASSERT_TRUE(stop.ok()) << stop.status();
    kill(child.pid(), SIGUSR1);
    EXPECT_TRUE(StandsStill());
    EXPECT_EQ(shared->signals, 0u);
  }
  EXPECT_TRUE(Eventually([] { return shared->signals == 1; }));
  EXPECT_TRUE(StillCounting());
}

TEST_F(PtraceStopTest, NoSignalIsLostWhenStopsAndSignalsMeet) {
  Child child([] {
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      shared->signals += static_cast<uint64_t>(info->si_value.sival_int);
    };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN, &action, nullptr);  // real-time signals queue, so each one can be counted
    RunCountingThreads(4);
  });
  ASSERT_TRUE(AllCount(4));
  const auto process = TargetProcess::Open(child.pid());
  uint64_t sent = 0;
  std::atomic<bool> done = false;
  std::thread sender([&] {
    while (!done) {
      sigqueue(child.pid(), SIGRTMIN, {.sival_int = 1});
      ++sent;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto stop = PtraceStop::StopAll(*process, seconds(10));
    EXPECT_TRUE(stop.ok()) << stop.status();
  }
  done = true;
  sender.join();
  EXPECT_TRUE(Eventually([&] { return shared->signals == sent; }))
      << shared->signals << " of " << sent;
}

TEST_F(PtraceStopTest, AProcessStoppedBySigstopStaysStopped) {
  Child child([] { RunCountingThreads(4); });
  ASSERT_TRUE(AllCount(4));
  kill(child.pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return StateOf(child.pid()) == 'T'; }));
  {
    const auto process = TargetProcess::Open(child.pid());
    const auto stop = PtraceStop::StopAll(*process, seconds(10));
    ASSERT_TRUE(stop.ok()) << stop.status();
    EXPECT_EQ(stop->thread_count(), 4 + kOtherThreads);
  }
  EXPECT_TRUE(Eventually([&] { return StateOf(child.pid()) == 'T'; }));
  EXPECT_TRUE(StandsStill());
  kill(child.pid(), SIGCONT);
  EXPECT_TRUE(StillCounting());
}

TEST_F(PtraceStopTest, TheTargetRunsOnWhenTheTracerIsKilled) {
  Child child([] {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    RunCountingThreads(8);
  });
  ASSERT_TRUE(AllCount(8));
  Child tracer([&child] {
    const auto process = TargetProcess::Open(child.pid());
    const auto stop = PtraceStop::StopAll(*process, seconds(10));
    shared->result = stop.ok() ? 1 : 2;
    pause();
  });
  ASSERT_TRUE(Eventually([] { return shared->result != 0; }));
  ASSERT_EQ(shared->result, 1);
  EXPECT_TRUE(StandsStill());
  tracer.Kill();
  EXPECT_TRUE(StillCounting());
  EXPECT_NE(StateOf(child.pid()), 't');
}

// Threads that live for a moment and start the next one before they end.
void* StartNextAndEnd(void*) {
  ++shared->steps[0];
  pthread_t next;
  while (pthread_create(&next, nullptr, StartNextAndEnd, nullptr) != 0) usleep(100);
  pthread_detach(next);
  return nullptr;
}

TEST_F(PtraceStopTest, AProcessThatKeepsCreatingThreadsIsStoppedEveryTime) {
  Child child([] {
    for (int i = 0; i < 4; ++i) StartNextAndEnd(nullptr);
    pause();
  });
  ASSERT_TRUE(AllCount(1));
  const auto process = TargetProcess::Open(child.pid());
  for (int i = 0; i < 50; ++i) {
    const auto stop = PtraceStop::StopAll(*process, seconds(5));
    ASSERT_TRUE(stop.ok()) << "try " << i << ": " << stop.status();
    const uint64_t before = TotalSteps();
    std::this_thread::sleep_for(milliseconds(2));
    ASSERT_EQ(TotalSteps(), before) << "try " << i;
  }
  EXPECT_TRUE(StillCounting());
}

TEST_F(PtraceStopTest, AProcessThatHasEndedIsNotFound) {
  Child child([] { RunCountingThreads(2); });
  ASSERT_TRUE(AllCount(2));
  const auto process = TargetProcess::Open(child.pid());
  child.Kill();
  const auto stop = PtraceStop::StopAll(*process, seconds(5));
  EXPECT_TRUE(absl::IsNotFound(stop.status())) << stop.status();
}

TEST_F(PtraceStopTest, AProcessThatEndsMeanwhileIsNotFoundOrStopped) {
  for (int i = 0; i < 50; ++i) {
    Child child([i] {
      std::thread([] { pause(); }).detach();
      shared->tracer = getpid();
      usleep(static_cast<useconds_t>(i * 20));
    });
    Eventually([&] { return shared->tracer == child.pid(); });
    const auto process = TargetProcess::Open(child.pid());
    if (!process.ok()) continue;  // it was quicker
    const auto stop = PtraceStop::StopAll(*process, seconds(5));
    EXPECT_TRUE(stop.ok() || absl::IsNotFound(stop.status())) << stop.status();
  }
}

TEST_F(PtraceStopTest, AProcessKilledWhileStoppedReachesItsParent) {
  Child child([] { RunCountingThreads(8); });
  ASSERT_TRUE(AllCount(8));
  const auto process = TargetProcess::Open(child.pid());
  auto stop = PtraceStop::StopAll(*process, seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  kill(child.pid(), SIGKILL);
  stop->Resume();
  const int status = child.Wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_FALSE(process->Alive());
}

TEST_F(PtraceStopTest, ATracedThreadIsRefusedByTheTracersName) {
  Child child([] { RunCountingThreads(2); });
  ASSERT_TRUE(AllCount(2));
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0);
  const auto process = TargetProcess::Open(child.pid());
  const auto stop = PtraceStop::StopAll(*process, seconds(5));
  EXPECT_TRUE(absl::IsFailedPrecondition(stop.status())) << stop.status();
  const std::string message(stop.status().message());
  EXPECT_NE(message.find("traced by process " + std::to_string(getpid())), std::string::npos)
      << message;
  EXPECT_TRUE(StillCounting());
}

// The parent of a vfork sleeps where no interrupt reaches it until the child execs or ends.
TEST_F(PtraceStopTest, AThreadThatDoesNotStopInTimeIsLetGo) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer makes a fork of a vfork";
  Child child([] {
    std::thread(CountForEver, 1).detach();
    if (vfork() == 0) {
      shared->tracer = getpid();
      while (shared->result == 0) usleep(1000);
      _exit(0);
    }
    CountForEver(0);
  });
  ASSERT_TRUE(Eventually([] { return shared->tracer != 0; }));
  const auto process = TargetProcess::Open(child.pid());
  const uint64_t before_ns = MonotonicNs();
  const auto stop = PtraceStop::StopAll(*process, milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stop.status())) << stop.status();
  EXPECT_LT(MonotonicNs() - before_ns, 2'000'000'000u);
  EXPECT_TRUE(StillCounting());
  shared->result = 1;
  EXPECT_TRUE(AllCount(2));  // the first thread counts too, so nothing holds it
  EXPECT_EQ(ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0) << "still traced";
}

TEST_F(PtraceStopTest, AStopWithoutGraceEndsByItselfAtItsLimit) {
  Child child([] { CountForEver(0); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(Eventually([] { return StillCounting(); }));
  auto stop = PtraceStop::StopAll(*process, milliseconds(100), milliseconds(0));
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_TRUE(Eventually([&] { return stop->Expired(); }));
  EXPECT_TRUE(StillCounting());
  EXPECT_FALSE(stop->KeepFor(seconds(5))) << "too late";
}

TEST_F(PtraceStopTest, AStopThatIsKeptGoesOn) {
  Child child([] { CountForEver(0); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(Eventually([] { return StillCounting(); }));
  auto stop = PtraceStop::StopAll(*process, milliseconds(300), milliseconds(0));
  ASSERT_TRUE(stop.ok()) << stop.status();
  ASSERT_TRUE(stop->KeepFor(seconds(20)));
  usleep(600'000);
  EXPECT_FALSE(stop->Expired());
  EXPECT_TRUE(StandsStill());
  stop->Resume();
  EXPECT_TRUE(StillCounting());
}

TEST_F(PtraceStopTest, AProcessThatHasRunIsNoNewborn) {
  Child child([] { CountForEver(0); });
  ASSERT_TRUE(Eventually([] { return StillCounting(); }));
  const auto process = TargetProcess::Open(child.pid());
  auto stop = PtraceStop::StopNewborn(process->id(), seconds(5), seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  ASSERT_TRUE(stop->Await().ok()) << stop->Await();
  EXPECT_EQ(stop->id(), process->id());
  EXPECT_FALSE(stop->is_newborn());
  EXPECT_EQ(stop->ran_ns() > 0, access("/proc/self/schedstat", F_OK) == 0);
  EXPECT_TRUE(StandsStill());
  stop->Resume();
  EXPECT_TRUE(StillCounting());
}

// A tracer of its own stops it at the fork, as we do where we are quick enough, and hands it on by
// SIGSTOP: the registers are the same.
TEST_F(PtraceStopTest, AProcessThatHasNotRunIsANewborn) {
  Child parent([] {
    while (shared->result == 0) usleep(1000);
    if (const pid_t child = fork(); child != 0) {
      shared->tracer = child;
      waitpid(child, nullptr, 0);
      _exit(0);
    }
    alarm(60);
    CountForEver(0);
  });
  ASSERT_EQ(ptrace(PTRACE_SEIZE, parent.pid(), nullptr, PTRACE_O_TRACEFORK), 0);
  shared->result = 1;
  int status = 0;
  ASSERT_EQ(waitpid(parent.pid(), &status, __WALL), parent.pid());
  ASSERT_EQ(status >> 8, SIGTRAP | PTRACE_EVENT_FORK << 8);
  unsigned long newborn = 0;
  ASSERT_EQ(ptrace(PTRACE_GETEVENTMSG, parent.pid(), nullptr, &newborn), 0);
  const pid_t pid = static_cast<pid_t>(newborn);
  ASSERT_EQ(waitpid(pid, &status, __WALL), pid);
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  ASSERT_EQ(ptrace(PTRACE_DETACH, pid, nullptr, nullptr), 0);
  ASSERT_EQ(ptrace(PTRACE_DETACH, parent.pid(), nullptr, nullptr), 0);
  ASSERT_TRUE(Eventually([&] { return StateOf(pid) == 'T'; }));
  auto stop = PtraceStop::StopNewborn(TargetProcess::Open(pid)->id(), seconds(5), seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  ASSERT_TRUE(stop->Await().ok()) << stop->Await();
  EXPECT_TRUE(stop->is_newborn());
  EXPECT_EQ(TotalSteps(), 0u);
  stop->Resume();
  kill(pid, SIGCONT);
  EXPECT_TRUE(StillCounting());
  kill(pid, SIGKILL);
}

TEST_F(PtraceStopTest, ANewbornThatHasEndedIsNotFound) {
  Child child([] { CountForEver(0); });
  const TargetId id = TargetProcess::Open(child.pid())->id();
  child.Kill();
  auto stop = PtraceStop::StopNewborn(id, seconds(5), seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_TRUE(absl::IsNotFound(stop->Await())) << stop->Await();
}

TEST_F(PtraceStopTest, AnotherProcessWithItsNumberIsLetGo) {
  Child child([] { CountForEver(0); });
  ASSERT_TRUE(Eventually([] { return StillCounting(); }));
  TargetId id = TargetProcess::Open(child.pid())->id();
  ++id.start_ticks;
  auto stop = PtraceStop::StopNewborn(id, seconds(5), seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_TRUE(absl::IsNotFound(stop->Await())) << stop->Await();
  EXPECT_TRUE(StillCounting());
}

// The promise that another process watches is the one that is kept.
TEST_F(PtraceStopTest, AStopOfANewbornThatIsKeptBreaksNoPromise) {
  Child child([] { CountForEver(0); });
  ASSERT_TRUE(Eventually([] { return StillCounting(); }));
  auto stop = PtraceStop::StopNewborn(TargetProcess::Open(child.pid())->id(), milliseconds(50),
                                      milliseconds(50));
  ASSERT_TRUE(stop.ok()) << stop.status();
  ASSERT_TRUE(stop->Await().ok()) << stop->Await();
  ASSERT_TRUE(stop->KeepFor(seconds(30)));
  ASSERT_TRUE(Eventually([] { return SecondsPromised() > 20; })) << SecondsPromised();
  EXPECT_TRUE(StandsStill());
}

TEST_F(PtraceStopTest, AFirstThreadThatEndedDoesNotPreventAStop) {
  Child child([] {
    std::thread(CountForEver, 1).detach();
    while (shared->result == 0) usleep(1000);
    syscall(SYS_exit, 0);  // this thread only
  });
  const auto process = TargetProcess::Open(child.pid());
  shared->result = 1;
  ASSERT_TRUE(Eventually(
      [&] { return ParseProcStat(*process->ReadProcFile("stat", 4096))->state == 'Z'; }));
  const auto stop = PtraceStop::StopAll(*process, seconds(5));
  ASSERT_TRUE(stop.ok()) << stop.status();
  EXPECT_EQ(stop->thread_count(), 1 + kOtherThreads);
  EXPECT_TRUE(StandsStill());
}

}  // namespace
}  // namespace sbump
