#include "daemon/rpc/experiment_job.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/rpc/experiment_to_proto.h"
#include "daemon/rpc/wire_text.h"

namespace sbump {

ExperimentJob::ExperimentJob(SessionTable& table, Gate& gate, ControlThread& control, Caller caller,
                             std::shared_ptr<ExperimentCall> call)
    : table_(table),
      gate_(gate),
      control_(control),
      caller_(std::move(caller)),
      call_(std::move(call)) {}

// Where the control thread has ended before the experiment's, that one may be the last to know of
// this.
ExperimentJob::~ExperimentJob() {
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

// ---- The client ----

void ExperimentJob::Take(v1::RunRequest request) {
  switch (request.what_case()) {
    case v1::RunRequest::kBegin:
      if (const absl::Status begun = Begin(request.begin()); !begun.ok()) call_->PostEnd(begun);
      return;
    case v1::RunRequest::kApproval:
      return Approve(request.approval().go());
    case v1::RunRequest::kStop:
      Interrupt(absl::CancelledError("stopped by its client"));
      // Nothing runs yet that would end the session.
      if (!thread_.joinable() && session_ != nullptr) session_->Stop("stopped by its client");
      return;
    case v1::RunRequest::kSamples:
      return TakeSamples(request.samples());
    case v1::RunRequest::kClock:
      return TakeClock(request.clock());
    case v1::RunRequest::WHAT_NOT_SET:
      return;
  }
}

absl::Status ExperimentJob::Begin(const v1::Experiment& message) {
  if (request_) return absl::OkStatus();  // the first one counts
  SB_RETURN_IF_ERROR(Interrupted());      // stopped before it began: nothing would end it
  SB_ASSIGN_OR_RETURN(request_, ToExperiment(message));
  AttachSpec spec = request_->spec;
  if (!caller_.IsLocal() || caller_.uid != 0) spec.client_name = ToString(caller_);
  spec.trap_costs = table_.environment().calibration->costs();
  request_->wishes.hit_cost_ns = spec.trap_costs.emulated_ns;
  SB_ASSIGN_OR_RETURN(const std::shared_ptr<Admission> admission, gate_.Admit(caller_, spec));
  const auto self = shared_from_this();
  const auto on_snapshot = [self, admission](std::shared_ptr<const SessionSnapshot> snapshot) {
    admission->OnSnapshot(snapshot);
    self->OnSnapshot(snapshot);
  };
  const auto on_end = [self, admission](const absl::Status& status) {
    admission->Ended(status);
    self->Interrupt(absl::AbortedError(StrCat("the session has ended: ", self->end_reason_)));
    self->control_.Post([self, status] { self->SessionEnded(status); });
  };
  SB_ASSIGN_OR_RETURN(session_, table_.Begin(std::move(spec), on_snapshot, on_end));
  admission->Began(session_);
  return absl::OkStatus();
}

void ExperimentJob::Approve(bool go) {
  std::lock_guard lock(mutex_);
  approval_ = go;
  changed_.notify_all();
}

// ---- The client's metric ----

void ExperimentJob::AskForClock() {
  if (asked_ns_ != 0) return;
  asked_ns_ = MonotonicNs();
  v1::RunReply reply;
  reply.mutable_clock()->set_question(++question_);
  call_->PostReply(std::move(reply));
}

void ExperimentJob::TakeClock(const v1::ClockAnswer& answer) {
  if (asked_ns_ == 0 || answer.question() != question_) return;
  clock_.Add(asked_ns_, answer.received_ns(), MonotonicNs());
  asked_ns_ = 0;
}

// What comes before its clock is known, or before there is an experiment, nobody needs.
namespace {

// They are read on the thread that has all clients' requests.
constexpr int kMostSamplesOfMessage = 1'000;

bool IsUsable(const MetricSample& sample) {
  return std::isfinite(sample.value) &&
         std::ranges::all_of(sample.buckets, [](const MetricBucket& bucket) {
           return !std::isnan(bucket.upper) && std::isfinite(bucket.count);
         });
}

}  // namespace

void ExperimentJob::TakeSamples(const v1::MetricSamples& message) {
  if (!request_ || request_->all.metric) return;
  if (message.samples_size() > kMostSamplesOfMessage) {
    call_->PostEnd(absl::InvalidArgumentError(StrCat(
        "samples: ", message.samples_size(), " in a message, of at most ", kMostSamplesOfMessage)));
    return ClientGone();
  }
  AskForClock();
  std::shared_ptr<SessionSpecimen> specimen;
  {
    std::lock_guard lock(mutex_);
    specimen = specimen_;
  }
  if (specimen == nullptr || !clock_.is_known()) return;
  if (!message.failure().empty())
    specimen->feed().Fail(Utf8(message.failure().substr(0, 1000)), MonotonicNs());
  std::vector<MetricSample> samples;
  for (const v1::MetricSamples::Sample& from : message.samples()) {
    MetricSample sample = {.at_ns = clock_.ToOurs(from.at_ns()), .value = from.value()};
    sample.epoch = from.epoch();
    for (const v1::MetricSamples::Bucket& bucket : from.buckets())
      sample.buckets.push_back({.upper = bucket.upper_ns(), .count = bucket.count()});
    if (IsUsable(sample)) samples.push_back(std::move(sample));
  }
  specimen->feed().Add(samples);
}

// ---- From any thread ----

void ExperimentJob::Interrupt(const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (interrupted_.ok()) interrupted_ = why;
  if (specimen_ != nullptr) specimen_->Interrupt(interrupted_);
  changed_.notify_all();
}

absl::Status ExperimentJob::Interrupted() const {
  std::lock_guard lock(mutex_);
  return interrupted_;
}

void ExperimentJob::ClientGone() {
  Interrupt(absl::CancelledError("client gone"));
  if (session_ != nullptr) session_->Stop("client gone");
}

// ---- The session ----

// Its beginning, and its end with the proof. In between windows say more.
void ExperimentJob::OnSnapshot(const std::shared_ptr<const SessionSnapshot>& snapshot) {
  const bool is_end = snapshot->end != nullptr;
  if (is_end) end_reason_ = snapshot->end->reason;
  if (is_end && snapshot->end->failed) return;  // the call ends with the error
  if (was_active_ && !is_end) return;
  Tell(*snapshot);
  if (was_active_ || snapshot->state != SessionState::kActive) return;
  was_active_ = true;
  control_.Post([self = shared_from_this()] { self->OnActive(); });
}

void ExperimentJob::Tell(const SessionSnapshot& snapshot) {
  for (v1::SessionUpdate& update : ToUpdates(snapshot, seen_)) {
    v1::RunReply reply;
    *reply.mutable_session() = std::move(update);
    call_->PostReply(std::move(reply));
  }
}

void ExperimentJob::OnActive() {
  if (!request_->all.metric) AskForClock();  // so that the first sample counts
  const auto specimen = std::make_shared<SessionSpecimen>(session_, request_->all, request_->bare);
  {
    std::lock_guard lock(mutex_);
    if (!interrupted_.ok()) return;
    specimen_ = specimen;
  }
  try {
    thread_ = std::thread([self = shared_from_this(), specimen] {
      pthread_setname_np(pthread_self(), "experiment");
      const absl::Status status = self->RunOn(*specimen);
      self->control_.Post([self, status] { self->RunEnded(status); });
    });
  } catch (const std::system_error& error) {
    run_status_ = absl::ResourceExhaustedError(
        StrCat("the daemon has no thread left for an experiment: ", error.what()));
    session_->Stop("experiment over");
  }
}

// What is thrown (no memory) ends this experiment and no other.
absl::Status ExperimentJob::RunOn(Specimen& specimen) {
  try {
    return RunExperiment(specimen, request_->groups, request_->wishes, *this);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(
        StrCat("the daemon's resources are exhausted: ", error.what()));
  }
}

void ExperimentJob::RunEnded(const absl::Status& status) {
  run_status_ = status;
  thread_.join();
  if (is_over_) return End(status);
  session_->Stop("experiment over");
}

void ExperimentJob::SessionEnded(const absl::Status& status) {
  is_over_ = true;
  if (thread_.joinable()) return;  // RunEnded() ends the call
  if (run_status_) return End(*run_status_);
  End(status.ok() ? Interrupted() : status);
}

// A session keeps what listens to it, and that is this.
void ExperimentJob::End(const absl::Status& status) {
  call_->PostEnd(status);
  session_ = nullptr;
  std::lock_guard lock(mutex_);
  specimen_ = nullptr;
}

// ---- The experiment ----

void ExperimentJob::OnProgress(const ExperimentProgress& progress) {
  v1::RunReply reply;
  *reply.mutable_progress() = ToProto(progress);
  call_->PostReply(std::move(reply));
}

void ExperimentJob::OnWindow(ExperimentPhase phase, const Window& window) {
  v1::RunReply reply;
  *reply.mutable_window() = ToProto(phase, window);
  call_->PostReply(std::move(reply));
}

absl::StatusOr<bool> ExperimentJob::OnPlan(const ExperimentPlan& plan) {
  v1::RunReply reply;
  *reply.mutable_plan() = ToProto(plan);
  call_->PostReply(std::move(reply));
  if (!request_->wishes.asks_first) return true;
  std::unique_lock lock(mutex_);
  const bool is_answered =
      changed_.wait_for(lock, std::chrono::nanoseconds(kLongestApprovalNs),
                        [this] { return approval_.has_value() || !interrupted_.ok(); });
  if (approval_) return *approval_;
  if (is_answered) return interrupted_;
  return absl::CancelledError(StrCat("nobody has approved the plan for ",
                                     kLongestApprovalNs / 1'000'000'000, " s: nothing was slowed"));
}

void ExperimentJob::OnAnswer(const ExperimentAnswer& answer) {
  v1::RunReply reply;
  *reply.mutable_result() = ToProto(answer);
  call_->PostReply(std::move(reply));
}

}  // namespace sbump
