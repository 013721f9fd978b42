#include "client/spans/span_json.h"

#include <string>

namespace sbump {

boost::json::array ToJson(const google::protobuf::RepeatedPtrField<v1::SpanTensor>& tensors,
                          std::string_view keyword) {
  boost::json::array all;
  for (const v1::SpanTensor& tensor : tensors) {
    if (tensor.keyword() != keyword) continue;
    boost::json::array dims;
    for (int64_t dim : tensor.dims()) dims.push_back(dim);
    all.push_back(std::move(dims));
  }
  return all;
}

boost::json::object KeywordsOf(const v1::Span& span) {
  boost::json::object keywords;
  for (const v1::SpanTensor& tensor : span.inputs()) {
    const std::string& name = tensor.keyword();
    if (!name.empty() && !keywords.contains(name)) keywords[name] = ToJson(span.inputs(), name);
  }
  return keywords;
}

}  // namespace sbump
