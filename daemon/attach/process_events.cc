#include "daemon/attach/process_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/process_events.skel.h"
#include "bpf/shared/process_event.h"
#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/own_namespaces.h"

namespace sbump {

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// The programs, and the thread that reads what they tell. Exists only while somebody follows: each
// fork of the machine passes the programs.
class Loaded {
 public:
  using OnEvent = std::function<void(const sb_process_event&)>;

  static absl::StatusOr<std::unique_ptr<Loaded>> Load(OnEvent on_event) {
    std::unique_ptr<Loaded> loaded(new Loaded(std::move(on_event)));
    SB_RETURN_IF_ERROR(loaded->TryLoad());
    return loaded;
  }

  ~Loaded() {
    if (thread_.joinable()) {
      ends_ = true;
      Wake();
      thread_.join();
    }
    if (ring_ != nullptr) ring_buffer__free(ring_);
    if (skeleton_ != nullptr) process_events__destroy(skeleton_);
  }

  absl::Status Follow(uint64_t follower, pid_t pid) const {
    const uint32_t key = static_cast<uint32_t>(pid);
    if (bpf_map_update_elem(map(), &key, &follower, BPF_ANY) == 0) return absl::OkStatus();
    return ErrnoStatus(errno == E2BIG ? ENOSPC : errno, StrCat("pid ", pid, ": following it"));
  }

  // The kernel forgets those that end; these are left of a follower that went.
  void Forget(uint64_t follower) const {
    std::vector<uint32_t> pids;
    uint32_t pid = 0, next = 0;
    for (const uint32_t* at = nullptr; bpf_map_get_next_key(map(), at, &next) == 0; at = &pid) {
      pid = next;
      uint64_t owner = 0;
      if (bpf_map_lookup_elem(map(), &pid, &owner) == 0 && owner == follower) pids.push_back(pid);
    }
    for (uint32_t one : pids) bpf_map_delete_elem(map(), &one);
  }

  // On the thread that calls `on_event`, after all that was told until now.
  void Drain(std::function<void()> done) {
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(done));
    }
    Wake();
  }

  uint64_t lost() const { return skeleton_->bss->events_lost; }

 private:
  explicit Loaded(OnEvent on_event) : on_event_(std::move(on_event)) {}
  int map() const { return bpf_map__fd(skeleton_->maps.followed); }

  absl::Status TryLoad() {
    skeleton_ = process_events__open();
    if (skeleton_ != nullptr) skeleton_->rodata->pid_namespace = OwnPidNamespace();
    if (skeleton_ == nullptr || process_events__load(skeleton_) != 0 ||
        process_events__attach(skeleton_) != 0) {
      return absl::FailedPreconditionError(
          StrCat("children cannot be followed: this kernel refuses the programs that tell of forks "
                 "(tracing programs, with BTF): ",
                 ErrnoStatus(errno, "bpf").message()));
    }
    ring_ = ring_buffer__new(bpf_map__fd(skeleton_->maps.process_events), OnSample, this, nullptr);
    if (ring_ == nullptr) return ErrnoStatus(errno, "opening the ring buffer of process events");
    wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid()) return ErrnoStatus(errno, "eventfd");
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          StrCat("children cannot be followed: no thread to be had: ", error.what()));
    }
    return absl::OkStatus();
  }

  void Run() {
    pthread_setname_np(pthread_self(), "process-events");
    sched_param param{};
    param.sched_priority = 1;  // without the right, a newborn runs for longer before it is held
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    pollfd fds[] = {{.fd = ring_buffer__epoll_fd(ring_), .events = POLLIN, .revents = 0},
                    {.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
      const std::vector<std::function<void()>> waiting = TakeWaiting();
      if (ends_) return;  // looked at after the read that may have taken the call to end
      ring_buffer__consume(ring_);
      for (const auto& done : waiting) done();
    }
  }

  void Wake() const {
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof(one));
  }

  std::vector<std::function<void()>> TakeWaiting() {
    uint64_t count = 0;
    (void)!read(wake_.get(), &count, sizeof(count));
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

  static int OnSample(void* context, void* data, size_t size) {
    if (size >= sizeof(sb_process_event))
      static_cast<Loaded*>(context)->on_event_(*static_cast<const sb_process_event*>(data));
    return 0;
  }

  const OnEvent on_event_;
  process_events* skeleton_ = nullptr;
  ring_buffer* ring_ = nullptr;
  Fd wake_;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace

struct ProcessEvents::Impl {
  mutable std::mutex mutex;
  std::map<uint64_t, Handler> handlers;  // guarded by mutex, also while one runs
  uint64_t next_follower = 1;            // guarded by mutex
  uint64_t lost_before = 0;              // guarded by mutex
  const uint64_t ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  std::unique_ptr<Loaded> loaded;  // guarded by mutex; its thread takes the mutex, too

  void Tell(const sb_process_event& event) {
    std::lock_guard lock(mutex);
    const auto handler = handlers.find(event.owner);
    if (handler == handlers.end()) return;
    handler->second(
        {.kind = event.kind == SB_PROCESS_FORKED ? ProcessEvent::Kind::kForked
                                                 : ProcessEvent::Kind::kExecuted,
         .process = {.pid = static_cast<pid_t>(event.pid),
                     .start_ticks = event.start_boottime_ns / (kNsPerSecond / ticks_per_second)},
         .parent_pid = static_cast<pid_t>(event.parent_pid),
         .shares_memory = event.shares_memory != 0,
         .at_ns = event.at_ns});
  }
};

ProcessEvents::ProcessEvents() : impl_(std::make_unique<Impl>()) {}
ProcessEvents::~ProcessEvents() = default;

absl::StatusOr<uint64_t> ProcessEvents::AddFollower(Handler handler) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->loaded == nullptr) {
    SB_ASSIGN_OR_RETURN(impl_->loaded, Loaded::Load([impl = impl_.get()](const auto& event) {
                          impl->Tell(event);
                        }));
  }
  const uint64_t follower = impl_->next_follower++;
  impl_->handlers[follower] = std::move(handler);
  return follower;
}

void ProcessEvents::RemoveFollower(uint64_t follower) {
  std::unique_ptr<Loaded> unused;  // ends without the lock: its thread may be waiting for that
  std::lock_guard lock(impl_->mutex);
  impl_->handlers.erase(follower);
  impl_->loaded->Forget(follower);
  if (!impl_->handlers.empty()) return;
  impl_->lost_before += impl_->loaded->lost();
  unused = std::move(impl_->loaded);
}

void ProcessEvents::Drain(uint64_t follower, std::function<void()> done) {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->handlers.contains(follower)) return;
  impl_->loaded->Drain([impl = impl_.get(), follower, done = std::move(done)] {
    std::lock_guard told(impl->mutex);
    if (impl->handlers.contains(follower)) done();
  });
}

absl::Status ProcessEvents::Follow(uint64_t follower, pid_t pid) {
  std::lock_guard lock(impl_->mutex);
  return impl_->loaded->Follow(follower, pid);
}

uint64_t ProcessEvents::lost() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->lost_before + (impl_->loaded == nullptr ? 0 : impl_->loaded->lost());
}

}  // namespace sbump
