#include "daemon/cpython/tuple.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int32_t kListItems = 24;

absl::StatusOr<std::vector<RemoteAddr>> ReadItems(const MemoryReader& memory, RemoteAddr first,
                                                  int64_t count, size_t most) {
  if (count < 0) return absl::DataLossError(StrCat("a sequence of ", count, " items"));
  if (static_cast<size_t>(count) > most) {
    return absl::ResourceExhaustedError(
        StrCat("a sequence of ", count, " items; at most ", most, " are read"));
  }
  std::vector<RemoteAddr> items(static_cast<size_t>(count));
  if (!items.empty())
    SB_RETURN_IF_ERROR(memory.Read(first, std::as_writable_bytes(std::span(items))));
  return items;
}

absl::StatusOr<int64_t> ReadSize(const MemoryReader& memory, const Layout& layout,
                                 RemoteAddr sequence) {
  if (!sequence.Plausible())
    return absl::DataLossError(StrCat("no sequence at ", ToString(sequence)));
  return memory.ReadValue<int64_t>(sequence + kVarSize + layout.head_shift);
}

}  // namespace

absl::StatusOr<std::vector<RemoteAddr>> ReadTuple(const MemoryReader& memory, const Layout& layout,
                                                  RemoteAddr tuple, size_t most) {
  SB_ASSIGN_OR_RETURN(int64_t count, ReadSize(memory, layout, tuple));
  return ReadItems(memory, tuple + layout.tuple.items, count, most);
}

absl::StatusOr<std::vector<RemoteAddr>> ReadList(const MemoryReader& memory, const Layout& layout,
                                                 RemoteAddr list, size_t most) {
  SB_ASSIGN_OR_RETURN(int64_t count, ReadSize(memory, layout, list));
  SB_ASSIGN_OR_RETURN(RemoteAddr first, memory.ReadPointer(list + kListItems + layout.head_shift));
  return ReadItems(memory, first, count, most);
}

}  // namespace sbump
