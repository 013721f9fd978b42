#include "daemon/process/frame_table.h"

#include <cstring>
#include <string_view>

namespace sbump {
namespace {

// DW_EH_PE_*: how an address is written (Linux Standard Base, "DWARF Extensions").
constexpr uint8_t kSigned4 = 0x0b, kUnsigned4 = 0x03, kRelativeToPlace = 0x10,
                  kRelativeToTable = 0x30;

// Reads from one place on; after a read beyond the end all is 0 and `good` is false.
class Cursor {
 public:
  Cursor(const ElfImage& image, uint64_t vaddr) : image_(image), at_(vaddr) {}

  template <typename T>
  T Next() {
    const auto bytes = image_.BytesFrom(at_, sizeof(T));
    T value{};
    if (bytes.size() != sizeof(T)) {
      good_ = false;
    } else {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
    at_ += sizeof(T);
    return value;
  }
  uint64_t NextLeb() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Next<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  void Skip(uint64_t bytes) { at_ += bytes; }
  uint64_t at() const { return at_; }
  bool good() const { return good_; }

 private:
  const ElfImage& image_;
  uint64_t at_;
  bool good_ = true;
};

// The 'R' of a CIE's augmentation: how its FDEs write addresses. Augmentations of "zPLRSB" are all
// that compilers emit.
std::optional<uint8_t> AddressEncoding(const ElfImage& image, uint64_t cie) {
  Cursor cursor(image, cie);
  const auto length = cursor.Next<uint32_t>();
  const auto id = cursor.Next<uint32_t>();
  const auto version = cursor.Next<uint8_t>();
  if (length == 0 || length == 0xffffffff || id != 0 || (version != 1 && version != 3))
    return std::nullopt;
  char augmentation[8] = {};
  size_t size = 0;
  for (char c = cursor.Next<char>(); c != '\0'; c = cursor.Next<char>()) {
    if (size == sizeof(augmentation) - 1 || !cursor.good()) return std::nullopt;
    augmentation[size++] = c;
  }
  if (augmentation[0] != 'z') return std::nullopt;
  cursor.NextLeb();  // code alignment
  cursor.NextLeb();  // data alignment
  if (version == 1) {
    cursor.Next<uint8_t>();  // return address register
  } else {
    cursor.NextLeb();
  }
  cursor.NextLeb();  // bytes of augmentation
  for (char c : std::string_view(augmentation + 1)) {
    if (c == 'R') {
      const auto encoding = cursor.Next<uint8_t>();
      return cursor.good() ? std::optional(encoding) : std::nullopt;
    }
    if (c == 'L') {
      cursor.Next<uint8_t>();
    } else if (c == 'P') {
      const auto encoding = cursor.Next<uint8_t>();
      const uint8_t format = encoding & 0x0f;
      if (format == kSigned4 || format == kUnsigned4) {
        cursor.Skip(4);
      } else if (format == 0 || format == 0x0c || format == 0x04) {
        cursor.Skip(8);
      } else {
        return std::nullopt;
      }
    } else if (c != 'S' && c != 'B') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<CodeRange> ReadFde(const ElfImage& image, uint64_t fde) {
  Cursor cursor(image, fde);
  const auto length = cursor.Next<uint32_t>();
  const uint64_t id_at = cursor.at();
  const auto cie_distance = cursor.Next<uint32_t>();
  if (!cursor.good() || length == 0 || length == 0xffffffff || cie_distance == 0)
    return std::nullopt;
  const auto encoding = AddressEncoding(image, id_at - cie_distance);
  if (!encoding) return std::nullopt;
  CodeRange range;
  const uint64_t place = cursor.at();
  if (*encoding == (kSigned4 | kRelativeToPlace)) {
    range.start = place + static_cast<uint64_t>(int64_t{cursor.Next<int32_t>()});
    range.end = range.start + cursor.Next<uint32_t>();
  } else if (*encoding == kUnsigned4) {
    range.start = cursor.Next<uint32_t>();
    range.end = range.start + cursor.Next<uint32_t>();
  } else if (*encoding == 0) {
    range.start = cursor.Next<uint64_t>();
    range.end = range.start + cursor.Next<uint64_t>();
  } else {
    return std::nullopt;
  }
  if (!cursor.good() || range.end <= range.start) return std::nullopt;
  return range;
}

// The binary search table: pairs of where a function begins and where its FDE is, both relative to
// the header.
struct Entry {
  int32_t start;
  int32_t fde;
};

}  // namespace

std::optional<CodeRange> FindFrame(const ElfImage& image, uint64_t header_vaddr, uint64_t vaddr) {
  if (header_vaddr == 0) return std::nullopt;
  Cursor cursor(image, header_vaddr);
  const auto version = cursor.Next<uint8_t>();
  const auto frames_encoding = cursor.Next<uint8_t>();
  const auto count_encoding = cursor.Next<uint8_t>();
  const auto table_encoding = cursor.Next<uint8_t>();
  if (version != 1 || (frames_encoding & 0x0f) != kSigned4 || count_encoding != kUnsigned4 ||
      table_encoding != (kRelativeToTable | kSigned4)) {
    return std::nullopt;
  }
  cursor.Skip(4);
  uint64_t first = 0, last = cursor.Next<uint32_t>();  // the entry is in [first, last)
  const uint64_t table = cursor.at();
  if (!cursor.good() || last == 0) return std::nullopt;
  const auto entry_at = [&](uint64_t index) {
    return Cursor(image, table + index * sizeof(Entry)).Next<Entry>();
  };
  const auto start_of = [&](const Entry& entry) {
    return header_vaddr + static_cast<uint64_t>(int64_t{entry.start});
  };
  while (last - first > 1) {
    const uint64_t middle = first + (last - first) / 2;
    (start_of(entry_at(middle)) <= vaddr ? first : last) = middle;
  }
  const Entry entry = entry_at(first);
  const auto range = ReadFde(image, header_vaddr + static_cast<uint64_t>(int64_t{entry.fde}));
  if (!range || range->start != start_of(entry) || !range->Contains(vaddr)) return std::nullopt;
  return range;
}

}  // namespace sbump
