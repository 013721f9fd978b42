#include "daemon/torch/operator_signature.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kArrow = ") -> ";
constexpr size_t kMostResults = 16;

// What stands between commas that are within no bracket.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  const auto take = [&](size_t end) {
    std::string_view part = text.substr(begin, end - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    begin = end + 1;
  };
  const auto is_one_of = [](std::string_view brackets, char c) {
    return brackets.find(c) != std::string_view::npos;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_one_of("(<[", text[i])) ++depth;
    if (is_one_of(")>]", text[i]) && (i == 0 || text[i - 1] != '-')) --depth;
    if (text[i] == ',' && depth == 0) take(i);
  }
  take(text.size());
  return parts;
}

// ---- What is returned ----

struct Returned {
  sb_returns kind = SB_RETURNS_OTHER;
  uint8_t results = 0;
  bool through_memory = false;  // the caller passes an address for it, before all arguments
  bool partial = false;

  bool operator==(const Returned&) const = default;
};

struct ReturnedType {
  std::string_view type;  // "Tensor", "Tensor[]", "int"
  bool reference = false;
};

ReturnedType TypeOf(std::string_view part) {
  constexpr std::string_view kTensor = "Tensor";
  if (!part.starts_with(kTensor)) return {part.substr(0, part.find(' '))};
  const bool annotated = part.size() > kTensor.size() && part[kTensor.size()] == '(';
  const size_t end = annotated ? part.find(')') + 1 : kTensor.size();
  const std::string_view rest = part.substr(std::min(end, part.size()));
  return {rest.starts_with("[]")  ? "Tensor[]"
          : rest.starts_with("?") ? "Tensor?"
                                  : kTensor,
          annotated && part.substr(0, end).find('!') != std::string_view::npos};
}

std::optional<Returned> OneReturned(const ReturnedType& one) {
  const auto is = [&](std::initializer_list<std::string_view> types) {
    return std::ranges::find(types, one.type) != types.end();
  };
  if (is({"Tensor"})) return Returned{SB_RETURNS_TENSOR, 1, !one.reference};
  if (is({"Tensor[]"}) && !one.reference) return Returned{SB_RETURNS_VECTOR, 0, true};
  if (is({"int", "bool", "float", "ScalarType"})) return Returned{};
  if (is({"Scalar", "SymInt"})) return Returned{.through_memory = true};
  return std::nullopt;
}

std::optional<Returned> ReturnedBy(std::string_view schema) {
  std::string_view text = schema.substr(schema.find(kArrow) + kArrow.size());
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::vector<ReturnedType> types;
  for (std::string_view part : Split(text)) types.push_back(TypeOf(part));
  if (types.empty()) return Returned{};
  if (types.size() == 1) return OneReturned(types.front());
  // References in a std::tuple: how that is returned depends on the C++ library.
  if (types.size() > kMostResults || std::ranges::any_of(types, &ReturnedType::reference))
    return std::nullopt;
  const bool tensors =
      std::ranges::all_of(types, [](const ReturnedType& one) { return one.type == "Tensor"; });
  if (!tensors) return Returned{.through_memory = true, .partial = true};
  return Returned{SB_RETURNS_TUPLE, static_cast<uint8_t>(types.size()), true};
}

// ---- Where arguments are ----

struct Passing {
  int words = 0;    // in general registers, all of them or none
  int vectors = 0;  // in xmm registers
  int memory = 0;   // words on the stack
};

bool IsTensorLike(std::string_view type) {
  return type.find("at::Tensor") != std::string_view::npos;
}

std::string_view WithinOptional(std::string_view type) {
  for (std::string_view prefix : {"c10::optional<", "std::optional<"}) {
    if (type.starts_with(prefix) && type.ends_with('>'))
      return type.substr(prefix.size(), type.size() - prefix.size() - 1);
  }
  return {};
}

bool IsSmall(std::string_view type) {
  for (std::string_view one : {"bool", "c10::ScalarType", "c10::Layout", "c10::MemoryFormat",
                               "c10::Device", "signed char"}) {
    if (type == one) return true;
  }
  return type.starts_with("std::array<bool, ");
}

// Classes with a destructor of their own are passed by address.
bool IsByAddress(std::string_view type) {
  return type.ends_with('&') || type == "c10::SymInt" || type == "c10::Storage" ||
         type == "at::Generator";
}

std::optional<Passing> PassingOf(std::string_view type) {
  if (IsByAddress(type) || IsSmall(type) || type == "long") return Passing{.words = 1};
  if (type == "double") return Passing{.vectors = 1};
  if (type.starts_with("c10::ArrayRef<") || type.starts_with("c10::basic_string_view<") ||
      type.starts_with("std::basic_string_view<")) {
    return Passing{.words = 2};
  }
  const std::string_view within = WithinOptional(type);
  if (within.empty()) return std::nullopt;
  if (IsByAddress(within) || IsSmall(within)) return Passing{.words = 1};
  if (within == "long") return Passing{.words = 2};
  if (within == "double") return Passing{.words = 1, .vectors = 1};
  if (type.starts_with("std::") && within.find("basic_string_view<") != std::string_view::npos)
    return Passing{.memory = 3};
  return std::nullopt;
}

class Places {
 public:
  explicit Places(bool through_memory) : word_(through_memory ? 1 : 0) {}

  // Its first place.
  uint8_t Take(const Passing& passing) {
    const bool fits = word_ + passing.words <= SB_REGISTER_PLACES &&
                      vector_ + passing.vectors <= kVectorRegisters && passing.memory == 0;
    const int place = fits ? word_ : SB_REGISTER_PLACES + on_stack_;
    if (fits) {
      word_ += passing.words;
      vector_ += passing.vectors;
    } else {
      on_stack_ += passing.words + passing.vectors + passing.memory;
    }
    return static_cast<uint8_t>(place);
  }

 private:
  static constexpr int kVectorRegisters = 8;
  int word_;
  int vector_ = 0;
  int on_stack_ = 0;
};

std::optional<sb_argument_kind> KindOf(std::string_view type) {
  if (type == "at::Tensor const&" || type == "at::Tensor&") return SB_ARGUMENT_TENSOR;
  if (type == "std::optional<at::Tensor> const&") return SB_ARGUMENT_OPTIONAL;
  if (type == "c10::optional<at::Tensor> const&") return SB_ARGUMENT_C10_OPTIONAL;
  if (type == "c10::ArrayRef<at::Tensor>") return SB_ARGUMENT_ARRAY;
  if (type == "c10::IListRef<at::Tensor> const&") return SB_ARGUMENT_LIST_REF;
  return std::nullopt;
}

void PlaceArguments(const std::vector<std::string_view>& types, const Returned& returned,
                    sb_operator& call) {
  Places places(returned.through_memory);
  bool lost = false;
  for (std::string_view type : types) {
    const std::optional<Passing> passing = PassingOf(type);
    const std::optional<sb_argument_kind> kind = KindOf(type);
    lost |= !passing;
    if (lost || (!kind && IsTensorLike(type)) || call.arguments == SB_OPERATOR_ARGUMENTS) {
      call.partial |= IsTensorLike(type) ? 1 : 0;
      if (lost) continue;
    }
    const uint8_t place = places.Take(*passing);
    if (kind && call.arguments < SB_OPERATOR_ARGUMENTS)
      call.argument[call.arguments++] = {.kind = static_cast<uint8_t>(*kind), .place = place};
  }
}

// Of a parameter in both languages: whether it is one tensor, several, or something else, and
// whether it may be absent.
struct Shape {
  bool tensor = false, several = false, optional = false;

  bool operator==(const Shape&) const = default;
};

Shape ShapeInSchema(std::string_view parameter) {
  const std::string_view before_name = parameter.substr(0, parameter.rfind(' '));
  const std::string_view default_cut = before_name.substr(0, before_name.find('='));
  Shape shape{.tensor = parameter.starts_with("Tensor")};
  shape.several = shape.tensor && default_cut.find('[') != std::string_view::npos;
  shape.optional = default_cut.find('?') != std::string_view::npos && !shape.several;
  return shape;
}

Shape ShapeInCpp(std::string_view type) {
  Shape shape{.tensor = IsTensorLike(type)};
  shape.several =
      shape.tensor && (type.starts_with("c10::ArrayRef<") || type.starts_with("c10::IListRef<") ||
                       type.starts_with("c10::List<"));
  shape.optional = !shape.several && (type.find("ptional<") != std::string_view::npos ||
                                      type.starts_with("c10::OptionalArrayRef<"));
  return shape;
}

bool Agree(std::string_view schema, const std::vector<std::string_view>& types) {
  const size_t open = schema.find('(') + 1;
  std::vector<std::string_view> parameters = Split(schema.substr(open, schema.find(kArrow) - open));
  std::erase(parameters, "*");
  return std::ranges::equal(parameters, types, [](std::string_view one, std::string_view type) {
    return ShapeInSchema(one) == ShapeInCpp(type);
  });
}

}  // namespace

bool OperatorSignature::operator==(const OperatorSignature& other) const {
  return name == other.name && std::memcmp(&call, &other.call, sizeof(call)) == 0;
}

std::string_view SchemaName(std::string_view schema) {
  constexpr std::string_view kNamespace = "aten::";
  if (schema.starts_with(kNamespace)) schema.remove_prefix(kNamespace.size());
  return schema.substr(0, schema.find('('));
}

absl::StatusOr<OperatorSignature> SignatureOf(std::string_view demangled,
                                              const std::vector<std::string_view>& schemas) {
  const size_t open = demangled.find('(');
  if (open == std::string_view::npos || !demangled.ends_with(')'))
    return absl::UnimplementedError(StrCat(demangled, " is not a function"));
  const auto types = Split(demangled.substr(open + 1, demangled.size() - open - 2));
  std::optional<Returned> returned;
  std::string_view name;
  for (std::string_view schema : schemas) {
    if (schema.find(kArrow) == std::string_view::npos || !Agree(schema, types)) continue;
    const std::optional<Returned> one = ReturnedBy(schema);
    if (!one || (returned && *returned != *one))
      return absl::UnimplementedError(
          StrCat("how it returns what it returns is not known: ", schema));
    returned = one;
    name = SchemaName(schema);
  }
  if (!returned) return absl::UnimplementedError("no schema has its parameters");
  OperatorSignature signature{.name = std::string(name)};
  signature.call.returns = static_cast<uint8_t>(returned->kind);
  signature.call.results = returned->results;
  signature.call.partial = returned->partial ? 1 : 0;
  PlaceArguments(types, *returned, signature.call);
  return signature;
}

}  // namespace sbump
