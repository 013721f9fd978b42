// A large update arrives in pieces, all but the last with `more` set; this puts them together.
#pragma once

#include <optional>

#include "proto/sbump/v1/control.pb.h"

namespace sbump {

class UpdateMerger {
 public:
  // The whole update once its last piece is there. Lists are joined in order; of a single field the
  // last piece that has it counts.
  std::optional<v1::SessionUpdate> Add(v1::SessionUpdate piece);

  // True while pieces are owed.
  bool Incomplete() const { return pending_.has_value(); }

 private:
  std::optional<v1::SessionUpdate> pending_;
};

}  // namespace sbump
