#include "daemon/rpc/span_stream.h"

#include <utility>

#include "daemon/rpc/grpc_status.h"
#include "daemon/rpc/spans_to_proto.h"

namespace sbump {

std::shared_ptr<SpanStream> SpanStream::Make(ControlThread& control) {
  std::shared_ptr<SpanStream> stream(new SpanStream(control));
  stream->self_ = stream;
  return stream;
}

void SpanStream::PostStart(std::shared_ptr<SpanHub> hub, std::function<bool()> may_show) {
  control_.Post([self = shared_from_this(), hub = std::move(hub), may_show = std::move(may_show)] {
    if (self->finished_ || !self->end_.ok()) return;
    const auto on_news = [weak = std::weak_ptr(self)] {
      if (const auto stream = weak.lock()) stream->PostPump();
    };
    if (!hub->Open(on_news)) {
      return self->Finish(absl::FailedPreconditionError("another client reads its spans"));
    }
    self->hub_ = hub;
    self->may_show_ = may_show;
  });
}

void SpanStream::PostEnd(absl::Status status) {
  control_.Post([self = shared_from_this(), status = std::move(status)] {
    self->end_ = status;
    self->Pump();
  });
}

void SpanStream::PostPump() {
  if (pump_is_posted_.exchange(true)) return;
  control_.Post([self = shared_from_this()] {
    self->pump_is_posted_ = false;
    self->Pump();
  });
}

void SpanStream::OnWriteDone(bool ok) {
  control_.Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (!ok) self->end_ = absl::CancelledError("the client has gone");
    self->Pump();
  });
}

void SpanStream::OnCancel() { PostEnd(absl::CancelledError("the client has gone")); }

void SpanStream::OnDone() {
  control_.Post([self = std::move(self_)] {
    if (self->hub_ != nullptr) std::exchange(self->hub_, nullptr)->Close();
  });
}

void SpanStream::Pump() {
  if (writing_ || finished_) return;
  if (!end_.ok()) return Finish(end_);
  if (hub_ == nullptr || !may_show_()) return;
  const SpanHub::Taken taken = hub_->Take(kMostInBatch);
  if (!taken.spans.empty() || !taken.operations.empty() || taken.lost != lost_) {
    lost_ = taken.lost;
    batch_ = ToBatch(taken);
    writing_ = true;
    return StartWrite(&batch_);
  }
  if (taken.finished) Finish(absl::OkStatus());
}

void SpanStream::Finish(absl::Status status) {
  if (std::exchange(finished_, true)) return;
  may_show_ = {};
  grpc::ServerWriteReactor<v1::SpanBatch>::Finish(ToGrpc(status));
}

}  // namespace sbump
