#include "client/experiment/finite_numbers.h"

#include <cmath>
#include <vector>

namespace sbump {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsFinite(const Message& message, const FieldDescriptor& field) {
  const Reflection& in = *message.GetReflection();
  if (!field.is_repeated()) return std::isfinite(in.GetDouble(message, &field));
  for (int i = 0; i < in.FieldSize(message, &field); ++i) {
    if (!std::isfinite(in.GetRepeatedDouble(message, &field, i))) return false;
  }
  return true;
}

bool AreFinite(const Message& message, const FieldDescriptor& field) {
  const Reflection& in = *message.GetReflection();
  if (!field.is_repeated()) return HasFiniteNumbersOnly(in.GetMessage(message, &field));
  for (int i = 0; i < in.FieldSize(message, &field); ++i) {
    if (!HasFiniteNumbersOnly(in.GetRepeatedMessage(message, &field, i))) return false;
  }
  return true;
}

}  // namespace

bool HasFiniteNumbersOnly(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto type = field->cpp_type();
    if (type == FieldDescriptor::CPPTYPE_DOUBLE && !IsFinite(message, *field)) return false;
    if (type == FieldDescriptor::CPPTYPE_MESSAGE && !AreFinite(message, *field)) return false;
  }
  return true;
}

}  // namespace sbump
