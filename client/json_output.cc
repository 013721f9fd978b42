#include "client/json_output.h"

#include "google/protobuf/util/json_util.h"

namespace sbump {

std::string JsonLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string line;
  // Fails only for messages with Any in them; the contract has none.
  (void)google::protobuf::util::MessageToJsonString(message, &line, options);
  return line + "\n";
}

}  // namespace sbump
