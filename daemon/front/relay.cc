#include "daemon/front/relay.h"

namespace sbump {

using boost::asio::buffer;
using boost::system::error_code;

Relay::Relay(std::unique_ptr<OuterStream> outer, Inner inner, std::function<void()> on_end)
    : outer_(std::move(outer)),
      inner_(std::move(inner)),
      on_end_(std::move(on_end)),
      farewell_(inner_.get_executor()) {}

void Relay::Start() {
  ReadOuter();
  ReadInner();
}

void Relay::Close() {
  EndOf(upward_open_);
  EndOf(downward_open_);
}

void Relay::ReadOuter() {
  outer_->ReadSome(buffer(up_), [self = shared_from_this()](const error_code& error, size_t bytes) {
    if (error) return self->EndUpward();
    boost::asio::async_write(self->inner_, buffer(self->up_, bytes),
                             [self](const error_code& write_error, size_t) {
                               write_error ? self->EndUpward() : self->ReadOuter();
                             });
  });
}

void Relay::ReadInner() {
  inner_.async_read_some(buffer(down_), [self = shared_from_this()](const error_code& error,
                                                                    size_t bytes) {
    if (error) return self->EndDownward();
    self->outer_->Write(buffer(self->down_, bytes), [self](const error_code& write_error, size_t) {
      write_error ? self->EndDownward() : self->ReadInner();
    });
  });
}

// The client is gone, or gRPC takes no more of it.
void Relay::EndUpward() {
  error_code ignored;
  inner_.shutdown(Inner::shutdown_send, ignored);
  EndOf(upward_open_);
}

void Relay::EndDownward() {
  outer_->ShutDownSending();
  EndOf(downward_open_);
}

void Relay::EndOf(bool& open) {
  if (!open) return;
  open = false;
  if (upward_open_ || downward_open_) {
    farewell_.expires_after(kLongestFarewell);
    farewell_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->Close();
    });
    return;
  }
  farewell_.cancel();
  error_code ignored;
  inner_.close(ignored);
  outer_->Close();
  if (on_end_) std::exchange(on_end_, nullptr)();
}

}  // namespace sbump
