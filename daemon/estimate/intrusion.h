// What the probes themselves cost the program: a sham window less an unprobed one.
#pragma once

#include <optional>
#include <string>

#include "daemon/estimate/recording.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {

struct Intrusion {
  SignedRankEstimate ns_per_unit;  // over the blocks that have both kinds of window
  double unprobed_ns = 0;          // that an unprobed unit takes, above 0
  double share = 0;                // the estimate, of an unprobed unit
  std::string warning;             // where that is much; empty: it is not, or that is not certain
};

// Nothing where no block has both. The recording is a checked one.
std::optional<Intrusion> IntrusionOf(const Recording& recording, double level);

}  // namespace sbump
