// A streaming answer whose pieces are all there from the start.
#pragma once

#include <grpcpp/grpcpp.h>

#include <vector>

#include "daemon/base/status.h"
#include "daemon/rpc/grpc_status.h"

namespace sbump {

// Deletes itself when the call is over.
template <typename Reply>
class PieceStream : public grpc::ServerWriteReactor<Reply> {
 public:
  // Once, from any thread.
  void Send(absl::StatusOr<std::vector<Reply>> pieces) {
    if (!pieces.ok()) return this->Finish(ToGrpc(pieces.status()));
    pieces_ = *std::move(pieces);
    Next();
  }
  void OnWriteDone(bool ok) override { ok ? Next() : this->Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (sent_ == pieces_.size()) return this->Finish(grpc::Status::OK);
    this->StartWrite(&pieces_[sent_++]);
  }
  std::vector<Reply> pieces_;
  size_t sent_ = 0;
};

}  // namespace sbump
