// Parts of spans as JSON.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

boost::json::array ToJson(const google::protobuf::RepeatedPtrField<v1::SpanTensor>& tensors,
                          std::string_view keyword);
// The keywords that have a tensor, in order.
boost::json::object KeywordsOf(const v1::Span& span);

}  // namespace sbump
