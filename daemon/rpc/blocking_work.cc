#include "daemon/rpc/blocking_work.h"

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/str_cat.h"

namespace sbump {

struct BlockingWork::Job {
  Job(boost::asio::io_context& io, GiveUp give_up_) : timer(io), give_up(std::move(give_up_)) {}
  // True for the first that asks.
  bool MayAnswer() { return !answered.exchange(true); }

  std::atomic<bool> answered = false;
  boost::asio::steady_timer timer;  // the control thread's
  const GiveUp give_up;
};

void BlockingWork::Start(std::function<Reply()> work, GiveUp give_up) {
  const auto job = std::make_shared<Job>(control_.io(), std::move(give_up));
  const absl::Status status = Launch(job, std::move(work));
  if (!status.ok() && job->MayAnswer()) return job->give_up(status);
  control_.Post([this, job] { WaitFor(job); });
}

absl::Status BlockingWork::Launch(const std::shared_ptr<Job>& job, std::function<Reply()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return absl::UnavailableError("the daemon is shutting down");
    if (jobs_.size() >= kMost) {
      return absl::ResourceExhaustedError(
          StrCat("the daemon waits for the memory or files of processes in ", jobs_.size(),
                 " requests, and begins no more"));
    }
    jobs_.insert(job);
  }
  try {
    std::thread([this, job, work = std::move(work)]() mutable {
      Reply reply = work();
      if (job->MayAnswer()) reply();
      control_.Post([job] { job->timer.cancel(); });
      // What these hold may hold the daemon's: they go while this thread still counts as running.
      reply = nullptr;
      work = nullptr;
      Ended(std::move(job));
    }).detach();
  } catch (const std::system_error&) {
    Ended(job);
    return absl::ResourceExhaustedError("no thread can be had");
  }
  return absl::OkStatus();
}

void BlockingWork::WaitFor(const std::shared_ptr<Job>& job) {
  if (job->answered) return;
  job->timer.expires_after(kPatience);
  job->timer.async_wait([job](const boost::system::error_code& error) {
    if (error || !job->MayAnswer()) return;
    job->give_up(absl::DeadlineExceededError(
        StrCat("no answer within ", kPatience.count(),
               " s: the process's memory or one of its files may be on a file system that does not "
               "answer (FUSE, NFS)")));
  });
}

bool BlockingWork::Within(std::chrono::milliseconds patience, std::function<void()> work) {
  const auto job = std::make_shared<Job>(control_.io(), [](const absl::Status&) {});
  const absl::Status status = Launch(job, [work = std::move(work)] {
    work();
    return [] {};
  });
  if (!status.ok()) return false;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return !jobs_.contains(job); });
}

void BlockingWork::GiveUpAll() {
  std::vector<std::shared_ptr<Job>> waiting;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    waiting.assign(jobs_.begin(), jobs_.end());
  }
  for (const auto& job : waiting) {
    if (job->MayAnswer()) job->give_up(absl::UnavailableError("the daemon is shutting down"));
  }
}

size_t BlockingWork::running() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void BlockingWork::Ended(std::shared_ptr<Job> job) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
  job.reset();
  changed_.notify_all();
}

}  // namespace sbump
