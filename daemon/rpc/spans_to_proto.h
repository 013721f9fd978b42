// Spans as messages.
#pragma once

#include "daemon/spans/hub.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

v1::SpanBatch ToBatch(const SpanHub::Taken& taken);

}  // namespace sbump
