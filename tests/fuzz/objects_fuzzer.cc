// Every byte that the readers of objects see belongs to the target. First byte: the version; then
// bytes of a little memory, which repeats: so pointers, sizes and types are easily hit upon.
#include <algorithm>
#include <cstdint>
#include <span>

#include "daemon/cpython/code_object.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/resume_units.h"
#include "daemon/cpython/type_members.h"
#include "daemon/cpython/unicode.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

constexpr RemoteAddr kBase{0x10000};

class RepeatedMemory : public MemoryReader {
 public:
  explicit RepeatedMemory(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override {
    // Some of it is not mapped.
    if (addr < kBase || addr.value + out.size() > kBase.value + kMapped) {
      return absl::DataLossError("not mapped");
    }
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::byte{bytes_[(addr.value - kBase.value + i) % bytes_.size()]};
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kMapped = 1 << 16;
  const std::span<const uint8_t> bytes_;
};

void FollowBytecode(const MemoryReader& memory, const Layout& layout, const CodeHead& head) {
  const auto units = ReadResumeUnits(memory, layout, head);
  if (!units.ok()) return;
  Require(!units->empty() && units->size() <= kMaxResumeUnits);
  Require(std::ranges::is_sorted(*units) && std::ranges::find(*units, head.unit) != units->end());
  for (const RemoteAddr unit : *units)
    Require(MayBeResumeUnit(memory, layout, head, unit).value_or(false) || unit < head.unit);
}

void ReadAll(const MemoryReader& memory, const Layout& layout, RemoteAddr at, RemoteAddr type) {
  if (const auto text = ReadUnicode(memory, layout, at); text.ok()) {
    Require(text->size() <= 4 * kMaxUnicodeLength);
  }
  if (const auto code = ReadCodeObject(memory, layout, type, at); code.ok()) {
    Require(code->head.addr == at && (code->head.unit.value != 0) == (layout.minor >= 11));
    Require(code->head.unit.value == 0 || code->head.unit > at);
    if (code->head.unit.value != 0) FollowBytecode(memory, layout, code->head);
  }
  if (const auto nested = ReadNestedCode(memory, layout, type, type, at); nested.ok()) {
    Require(nested->size() <= static_cast<size_t>(kMaxConsts));
  }
  if (const auto entries = FindDictEntries(memory, layout, type, at); entries.ok()) {
    Require(entries->count >= 0 && (entries->entry_size == 16 || entries->entry_size == 24));
    for (int64_t i = 0; i < std::min<int64_t>(entries->count, 10); ++i)
      (void)ReadDictEntry(memory, *entries, i);
    if (entries->count > 0) (void)ReadDictEntry(memory, *entries, entries->count - 1);
  }
  if (const auto facts = ReadTypeFacts(memory, layout, at); facts.ok()) {
    for (const auto& [member, offset] : facts->offset_by_member)
      Require(offset >= 0 && offset <= facts->basicsize);
  }
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sbump::kBase;
  if (size < 9 || size > 4096) return 0;
  const bool free_threaded = data[0] % 9 == 8;
  const int minor = free_threaded ? 13 : 8 + data[0] % 9;
  const sbump::Layout* layout = sbump::FindLayout({.major = 3, .minor = minor}, free_threaded);
  const sbump::RepeatedMemory memory({data + 1, size - 1});
  // What stands where a type would.
  const auto type = memory.ReadPointer(kBase + sbump::kObType).value_or(sbump::RemoteAddr{});
  for (const int64_t offset : {0, 8, 64}) sbump::ReadAll(memory, *layout, kBase + offset, type);
  return 0;
}
