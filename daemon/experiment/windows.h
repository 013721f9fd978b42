// From two marks to the window between them.
#pragma once

#include "daemon/experiment/specimen.h"

namespace sbump {

// Work by the metric's own function. Each process is timed from the last call that it had begun at
// the one mark to the last at the other, and so the window has no part of a unit at its edges; a
// process that came or went in between counts for the time that it was there. `flaw` is set where
// nothing can be learnt from it.
Window WindowBetween(const Mark& begin, const Mark& end, size_t groups);

// The same, by whatever the specimen's metric is.
absl::StatusOr<Window> MeasuredBetween(Specimen& specimen, const Mark& begin, const Mark& end,
                                       size_t groups);

}  // namespace sbump
