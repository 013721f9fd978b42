#include "daemon/rpc/experiment_call.h"

#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/rpc/grpc_status.h"

namespace sbump {

std::shared_ptr<ExperimentCall> ExperimentCall::Make(ControlThread& control) {
  std::shared_ptr<ExperimentCall> call(new ExperimentCall(control));
  call->self_ = call;
  return call;
}

void ExperimentCall::PostStart(Client client) {
  control_.Post([self = shared_from_this(), client = std::move(client)] {
    self->client_ = client;
    if (self->cancelled_) return self->Gone();
    self->StartRead(&self->request_);
  });
}

void ExperimentCall::PostReply(v1::RunReply reply) {
  control_.Post([self = shared_from_this(), reply = std::move(reply)]() mutable {
    if (self->finished_ || self->cancelled_) return;
    if (self->replies_.size() >= kMostWaiting) {
      self->replies_.resize(self->writing_ ? 1 : 0);
      self->Gone();
      return self->PostEnd(absl::ResourceExhaustedError(
          StrCat("the client has left ", kMostWaiting, " replies unread")));
    }
    self->replies_.push_back(std::move(reply));
    self->Pump();
  });
}

void ExperimentCall::PostEnd(absl::Status status) {
  control_.Post([self = shared_from_this(), status = std::move(status)] {
    if (self->end_ == nullptr) self->end_ = std::make_unique<absl::Status>(status);
    self->Pump();
  });
}

// A client that has nothing more to say is still there.
void ExperimentCall::OnReadDone(bool ok) {
  if (!ok) return;
  control_.Post([self = shared_from_this()] {
    if (self->finished_ || self->cancelled_) return;
    if (self->client_.on_message) self->client_.on_message(std::move(self->request_));
    self->request_.Clear();
    self->StartRead(&self->request_);
  });
}

void ExperimentCall::OnWriteDone(bool ok) {
  control_.Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    self->replies_.pop_front();
    if (!ok) self->cancelled_ = true;
    self->Pump();
  });
}

void ExperimentCall::OnCancel() {
  control_.Post([self = shared_from_this()] {
    self->cancelled_ = true;
    self->Gone();
    self->Pump();
  });
}

void ExperimentCall::OnDone() {
  control_.Post([self = std::move(self_)] { self->client_ = {}; });
}

void ExperimentCall::Gone() {
  client_.on_message = nullptr;
  if (client_.on_gone) std::exchange(client_.on_gone, nullptr)();
}

void ExperimentCall::Pump() {
  if (writing_ || finished_) return;
  if (cancelled_) {
    finished_ = true;
    return Finish(grpc::Status::CANCELLED);
  }
  if (!replies_.empty()) {
    writing_ = true;
    return StartWrite(&replies_.front());
  }
  if (end_ == nullptr) return;
  finished_ = true;
  Finish(ToGrpc(*end_));
}

}  // namespace sbump
