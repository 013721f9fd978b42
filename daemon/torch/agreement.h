// When two readings of a process that runs are taken for the truth.
#pragma once

#include "daemon/torch/forest_reader.h"

namespace sbump {

// Whether nothing but plain attributes differs: a count of calls, say, is another one each time.
// These are taken out of `now` then, with a warning: no second reading said the same of them.
bool AgreeButForSettings(Reading before, Reading& now);

}  // namespace sbump
