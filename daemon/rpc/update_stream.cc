#include "daemon/rpc/update_stream.h"

#include "daemon/rpc/grpc_status.h"

namespace sbump {

std::shared_ptr<UpdateStream> UpdateStream::Make(ControlThread& control) {
  std::shared_ptr<UpdateStream> stream(new UpdateStream(control));
  stream->self_ = stream;
  return stream;
}

void UpdateStream::PostCancelHandler(std::function<void()> on_cancel) {
  control_.Post([self = shared_from_this(), on_cancel = std::move(on_cancel)] {
    if (self->cancelled_) return on_cancel();
    self->on_cancel_ = on_cancel;
  });
}

void UpdateStream::PostSnapshot(std::shared_ptr<const SessionSnapshot> snapshot) {
  {
    std::lock_guard lock(mutex_);
    const bool is_posted = latest_ != nullptr;
    latest_ = std::move(snapshot);
    if (is_posted) return;  // the control thread has yet to look
  }
  control_.Post([self = shared_from_this()] { self->Pump(); });
}

std::shared_ptr<const SessionSnapshot> UpdateStream::TakeLatest() {
  std::lock_guard lock(mutex_);
  return std::exchange(latest_, nullptr);
}

void UpdateStream::PostEnd(absl::Status status) {
  control_.Post([self = shared_from_this(), status = std::move(status)] {
    if (self->end_ == nullptr) self->end_ = std::make_unique<absl::Status>(status);
    self->Pump();
  });
}

void UpdateStream::OnWriteDone(bool ok) {
  control_.Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    self->pieces_.pop_front();
    if (!ok) self->cancelled_ = true;
    self->Pump();
  });
}

void UpdateStream::OnCancel() {
  control_.Post([self = shared_from_this()] {
    self->cancelled_ = true;
    if (self->on_cancel_) std::exchange(self->on_cancel_, nullptr)();
    self->Pump();
  });
}

void UpdateStream::OnDone() {
  control_.Post([self = std::move(self_)] { self->on_cancel_ = nullptr; });
}

void UpdateStream::Pump() {
  if (writing_ || finished_) return;
  if (cancelled_) {
    finished_ = true;
    return Finish(grpc::Status::CANCELLED);
  }
  if (pieces_.empty()) {
    if (const std::shared_ptr<const SessionSnapshot> snapshot = TakeLatest()) {
      for (v1::SessionUpdate& update : ToUpdates(*snapshot, seen_))
        pieces_.push_back(std::move(update));
    }
  }
  if (!pieces_.empty()) {
    writing_ = true;
    return StartWrite(&pieces_.front());
  }
  if (end_ == nullptr) return;
  finished_ = true;
  Finish(ToGrpc(*end_));
}

}  // namespace sbump
