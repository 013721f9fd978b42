#include "client/update_merger.h"

#include <utility>

namespace sbump {

std::optional<v1::SessionUpdate> UpdateMerger::Add(v1::SessionUpdate piece) {
  const bool last = !piece.more();
  if (pending_) {
    pending_->MergeFrom(piece);
  } else {
    pending_ = std::move(piece);
  }
  if (!last) return std::nullopt;
  pending_->set_more(false);
  return std::exchange(pending_, std::nullopt);
}

}  // namespace sbump
