#include "daemon/cpython/code_object.h"

#include <array>
#include <vector>

#include "bpf/shared/verdict.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr size_t kLargestCodeHead = 256;

template <typename T>
T Field(std::span<const std::byte> object, int32_t offset) {
  T value{};
  if (offset != kAbsent) std::memcpy(&value, object.data() + offset, sizeof(value));
  return value;
}

// Constants are read in chunks, so that a forged size cannot make us allocate.
constexpr int64_t kConstsPerRead = 512;

}  // namespace

std::string_view ToString(QualnameSource source) {
  switch (source) {
    case QualnameSource::kCoQualname:
      return "co_qualname";
    case QualnameSource::kEnclosingCode:
      return "enclosing code";
    case QualnameSource::kFunctionQualname:
      return "__qualname__";
    case QualnameSource::kCoName:
      return "co_name (guess)";
  }
  return "unknown";
}

absl::StatusOr<CodeHead> ReadCodeHead(const MemoryReader& memory, const Layout& layout,
                                      RemoteAddr code_type, RemoteAddr addr) {
  if (!addr.Plausible() || addr.value % 8 != 0) {
    return absl::DataLossError(StrCat("no code object can be at ", ToString(addr)));
  }
  std::array<std::byte, kLargestCodeHead> buffer;
  const std::span object = std::span(buffer).first(static_cast<size_t>(layout.code.size));
  SB_RETURN_IF_ERROR(memory.Read(addr, object));
  if (Field<RemoteAddr>(object, kObType + layout.head_shift) != code_type) {
    return absl::DataLossError(StrCat("the object at ", ToString(addr), " is no code object"));
  }
  CodeHead head{.addr = addr,
                .flags = Field<uint32_t>(object, layout.code.co_flags),
                .first_line = Field<uint32_t>(object, layout.code.co_firstlineno),
                .consts = Field<RemoteAddr>(object, layout.code.co_consts),
                .filename = Field<RemoteAddr>(object, layout.code.co_filename),
                .name = Field<RemoteAddr>(object, layout.code.co_name),
                .qualname = Field<RemoteAddr>(object, layout.code.co_qualname)};
  head.fingerprint = sb_fingerprint(
      Field<std::array<__u64, SB_FINGERPRINT_BYTES / 8>>(object, layout.code.fingerprint).data());
  if (layout.code.co_firsttraceable != kAbsent) {
    const int32_t index = Field<int32_t>(object, layout.code.co_firsttraceable);
    // The prologue before RESUME is a few units long; a negative or huge index is no code object of
    // ours.
    if (index < 0 || index > 1'000'000) {
      return absl::DataLossError(
          StrCat("code object ", ToString(addr), ": _co_firsttraceable is ", index));
    }
    head.unit = addr + layout.code.co_code_adaptive + 2 * int64_t{index};
  }
  return head;
}

absl::StatusOr<CodeObject> ReadCodeObject(const MemoryReader& memory, const Layout& layout,
                                          RemoteAddr code_type, RemoteAddr addr) {
  CodeObject code;
  SB_ASSIGN_OR_RETURN(code.head, ReadCodeHead(memory, layout, code_type, addr));
  SB_ASSIGN_OR_RETURN(code.filename, ReadUnicode(memory, layout, code.head.filename));
  SB_ASSIGN_OR_RETURN(code.name, ReadUnicode(memory, layout, code.head.name));
  if (layout.code.co_qualname == kAbsent) {
    code.qualname = code.name;
    return code;
  }
  SB_ASSIGN_OR_RETURN(code.qualname, ReadUnicode(memory, layout, code.head.qualname));
  code.qualname_source = QualnameSource::kCoQualname;
  return code;
}

absl::StatusOr<std::vector<RemoteAddr>> ReadNestedCode(const MemoryReader& memory,
                                                       const Layout& layout, RemoteAddr code_type,
                                                       RemoteAddr tuple_type, RemoteAddr consts) {
  std::vector<RemoteAddr> nested;
  if (!consts.Plausible()) return absl::DataLossError(StrCat("no constants at ", ToString(consts)));
  std::array<std::byte, kVarSize + 16 + sizeof(int64_t)> head;  // with the longest PyObject
  SB_RETURN_IF_ERROR(memory.Read(consts, head));
  if (Field<RemoteAddr>(head, kObType + layout.head_shift) != tuple_type) {
    return absl::DataLossError(StrCat("the constants at ", ToString(consts), " are no tuple"));
  }
  const int64_t size = Field<int64_t>(head, kVarSize + layout.head_shift);
  if (size < 0 || size > kMaxConsts) {
    return absl::ResourceExhaustedError(StrCat("a code object has ", size, " constants"));
  }
  std::array<RemoteAddr, kConstsPerRead> items;
  for (int64_t first = 0; first < size; first += kConstsPerRead) {
    const auto chunk =
        std::span(items).first(static_cast<size_t>(std::min(kConstsPerRead, size - first)));
    SB_RETURN_IF_ERROR(
        memory.Read(consts + layout.tuple.items + 8 * first, std::as_writable_bytes(chunk)));
    for (RemoteAddr item : chunk) {
      if (!item.Plausible()) continue;
      absl::StatusOr<RemoteAddr> type = memory.ReadPointer(item + kObType + layout.head_shift);
      if (type.ok() && *type == code_type) nested.push_back(item);
    }
  }
  return nested;
}

}  // namespace sbump
