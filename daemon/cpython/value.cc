#include "daemon/cpython/value.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/tuple.h"
#include "daemon/cpython/unicode.h"
#include "daemon/process/elf_file.h"

namespace sbump {
namespace {

constexpr int32_t kDigits = 24;      // PyLongObject.ob_digit
constexpr int32_t kFloatValue = 16;  // PyFloatObject.ob_fval
constexpr int kBitsPerDigit = 30;
constexpr int64_t kMostDigits = 3;
// What a tensor's shape is.
constexpr char kTorchSize[] = "torch.Size";

// repr() of a float: the shortest digits that read back as the same number, with an exponent below
// 1e-4 and from 1e16 on (Python/pystrtod.c, format_float_short).
std::string ReprOfFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto end =
      std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t digits_of_exponent = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + digits_of_exponent, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  const auto fixed = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed);
  std::string plain(buffer.data(), fixed.ptr);
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

std::string Joined(const std::vector<Value>& items) {
  std::string text;
  for (const Value& item : items) {
    if (!text.empty()) text += ", ";
    text += Repr(item);
  }
  return text;
}

}  // namespace

bool Value::operator==(const Value& other) const {
  return kind == other.kind && boolean == other.boolean && integer == other.integer &&
         std::bit_cast<uint64_t>(floating) == std::bit_cast<uint64_t>(other.floating) &&
         text == other.text && items == other.items;
}

Value IntValue(int64_t value) { return {.kind = Value::Kind::kInt, .integer = value}; }

std::string ReprOfStr(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out += quote;
}

std::string Repr(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNone:
      return "None";
    case Value::Kind::kBool:
      return value.boolean ? "True" : "False";
    case Value::Kind::kInt:
      return StrCat(value.integer);
    case Value::Kind::kFloat:
      return ReprOfFloat(value.floating);
    case Value::Kind::kStr:
      return ReprOfStr(value.text);
    case Value::Kind::kTuple:
      if (!value.text.empty()) return value.text + "([" + Joined(value.items) + "])";
      return "(" + Joined(value.items) + (value.items.size() == 1 ? ",)" : ")");
    case Value::Kind::kList:
      return "[" + Joined(value.items) + "]";
  }
  return "";
}

absl::StatusOr<ValueReader> ValueReader::Make(const MemoryReader& memory,
                                              const Interpreter& interpreter, Types& types) {
  ValueReader reader(memory, interpreter, types);
  const struct {
    std::string_view symbol;
    RemoteAddr& addr;
  } all[] = {{"PyFloat_Type", reader.float_type_},
             {"PyBool_Type", reader.bool_type_},
             {"_Py_NoneStruct", reader.none_}};
  for (const auto& one : all) {
    const std::optional<ElfSymbol> symbol = interpreter.file->elf->FindSymbol(one.symbol);
    if (!symbol) {
      return absl::UnimplementedError(StrCat(interpreter.path, " does not say where it has ",
                                             one.symbol, ": it exports no such symbol"));
    }
    one.addr = RemoteAddr{symbol->vaddr + interpreter.load_bias};
  }
  return reader;
}

// Up to 3.11 the sign is that of the number of digits; from 3.12 on it is in the low bits of a word
// whose others count them (Include/cpython/longintrepr.h).
absl::StatusOr<Value> ValueReader::ReadInt(RemoteAddr object) const {
  SB_ASSIGN_OR_RETURN(int64_t word,
                      memory_->ReadValue<int64_t>(object + kVarSize + layout_->head_shift));
  const bool tagged = layout_->minor >= 12;
  const int64_t count = tagged ? word >> 3 : word < 0 ? -std::max(word, -INT64_MAX) : word;
  const bool negative = tagged ? (word & 3) == 2 : word < 0;
  if (count < 0 || count > kMostDigits)
    return absl::UnimplementedError(StrCat("an int of ", count, " digits"));
  std::array<uint32_t, kMostDigits> digits{};
  const auto bytes = std::as_writable_bytes(std::span(digits).first(static_cast<size_t>(count)));
  if (count > 0) SB_RETURN_IF_ERROR(memory_->Read(object + kDigits + layout_->head_shift, bytes));
  if (digits[2] > 7) return absl::UnimplementedError("an int of more than 63 bits");
  uint64_t magnitude = 0;
  for (size_t i = kMostDigits; i-- > 0;) magnitude = magnitude << kBitsPerDigit | digits[i];
  const auto value = static_cast<int64_t>(magnitude);
  return IntValue(negative ? -value : value);
}

absl::StatusOr<Value> ValueReader::ReadStr(RemoteAddr object) const {
  SB_ASSIGN_OR_RETURN(std::string text, ReadUnicode(*memory_, *layout_, object));
  if (text.size() > kLongestStr) return absl::ResourceExhaustedError("a long str");
  return Value{.kind = Value::Kind::kStr, .text = std::move(text)};
}

absl::StatusOr<Value> ValueReader::ReadSequence(RemoteAddr object, Value::Kind kind,
                                                Left& left) const {
  if (left.depth == 0) return absl::ResourceExhaustedError("tuples in tuples");
  Value value{.kind = kind};
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> items,
                      kind == Value::Kind::kTuple
                          ? ReadTuple(*memory_, *layout_, object, left.items)
                          : ReadList(*memory_, *layout_, object, left.items));
  left.items -= items.size();
  --left.depth;
  for (RemoteAddr item : items) {
    SB_ASSIGN_OR_RETURN(Value one, ReadWithin(item, left));
    value.items.push_back(std::move(one));
  }
  ++left.depth;
  return value;
}

absl::StatusOr<Value> ValueReader::Read(RemoteAddr object) const {
  Left left;
  return ReadWithin(object, left);
}

absl::StatusOr<Value> ValueReader::ReadWithin(RemoteAddr object, Left& left) const {
  if (object == none_) return Value{};
  SB_ASSIGN_OR_RETURN(const TypeObject* type, types_->Of(object));
  if (type->addr == bool_type_) {
    SB_ASSIGN_OR_RETURN(Value value, ReadInt(object));
    return Value{.kind = Value::Kind::kBool, .boolean = value.integer != 0};
  }
  if (type->Is(kTypeIsInt)) return ReadInt(object);
  if (type->Is(kTypeIsStr)) return ReadStr(object);
  if (type->Is(kTypeIsTuple)) {
    SB_ASSIGN_OR_RETURN(Value value, ReadSequence(object, Value::Kind::kTuple, left));
    if (type->full_name() == kTorchSize) value.text = kTorchSize;
    return value;
  }
  if (type->Is(kTypeIsList)) return ReadSequence(object, Value::Kind::kList, left);
  if (type->IsA(float_type_)) {
    SB_ASSIGN_OR_RETURN(double value,
                        memory_->ReadValue<double>(object + kFloatValue + layout_->head_shift));
    return Value{.kind = Value::Kind::kFloat, .floating = value};
  }
  return absl::UnimplementedError(StrCat("a value of type ", type->full_name()));
}

}  // namespace sbump
