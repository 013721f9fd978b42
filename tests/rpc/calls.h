// Calls of a server that listens nowhere, over connections that are handed to it.
#pragma once

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "daemon/base/fd.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump::test {

// Knows no role of anybody: gRPC has read the whole request by then.
class NobodyMay : public v1::Control::Service {
  grpc::Status Attach(grpc::ServerContext*, const v1::AttachRequest*,
                      grpc::ServerWriter<v1::SessionUpdate>*) override {
    return {grpc::StatusCode::PERMISSION_DENIED, "no role"};
  }
};

inline std::shared_ptr<grpc::Channel> Connect(const std::function<void(Fd)>& hand_over) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) abort();
  hand_over(Fd(ends[0]));
  return grpc::CreateInsecureChannelFromFd("s", ends[1]);
}

// An AttachRequest, at least so large.
class LargeRequest {
 public:
  explicit LargeRequest(size_t bytes) {
    v1::AttachRequest request;
    if (bytes != 0) request.mutable_selection()->add_exclude(std::string(bytes, 'x'));
    text_ = request.SerializeAsString();
    const grpc::Slice slice(text_.data(), text_.size(), grpc::Slice::STATIC_SLICE);
    buffer_ = grpc::ByteBuffer(&slice, 1);
  }
  const grpc::ByteBuffer& buffer() const { return buffer_; }

 private:
  std::string text_;
  grpc::ByteBuffer buffer_;
};

// One connection with one call of Attach. All may send the same bytes: no copy of them is made on
// this side, so that what the process takes is the server's.
class OneCall {
 public:
  OneCall(const std::function<void(Fd)>& hand_over, const LargeRequest& request)
      : stub_(Connect(hand_over)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(200));
    stub_.UnaryCall(&context_, "/sbump.v1.Control/Attach", {}, &request.buffer(), &reply_,
                    [this](const grpc::Status& status) { code_.set_value(status.error_code()); });
  }
  grpc::StatusCode Code() { return code_.get_future().get(); }

 private:
  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  grpc::ByteBuffer reply_;
  std::promise<grpc::StatusCode> code_;
};

inline bool Eventually(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace sbump::test
