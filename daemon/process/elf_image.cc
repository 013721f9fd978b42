#include "daemon/process/elf_image.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/process/read_range.h"

namespace sbump {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;

absl::Status Malformed(const std::string& name, size_t segment, const char* why) {
  return absl::DataLossError(
      absl::StrCat(name, ": not a sound ELF file: segment ", segment, " ", why));
}

absl::Status CheckSegment(const ElfSegment& s, uint64_t file_bytes, const std::string& name,
                          size_t index) {
  if (s.vaddr >= kUserSpaceEnd || s.memory_size > kUserSpaceEnd - s.vaddr) {
    return Malformed(name, index, "lies outside the user half of the address space");
  }
  if (s.file_size > s.memory_size) {
    return Malformed(name, index, "has more bytes in the file than in memory");
  }
  if (s.file_size == 0) return absl::OkStatus();
  if (s.file_offset > file_bytes || s.file_size > file_bytes - s.file_offset) {
    return Malformed(name, index, "reaches past the end of the file (is the file truncated?)");
  }
  if (s.file_offset % kPageBytes != s.vaddr % kPageBytes) {
    return Malformed(name, index, "has an offset and an address that no kernel can map");
  }
  return absl::OkStatus();
}

// The ELF specification wants PT_LOAD entries in ascending order; the kernel and ld.so rely on it.
absl::Status CheckSegments(const std::vector<ElfSegment>& segments, uint64_t file_bytes,
                           const std::string& name) {
  uint64_t previous_end = 0;
  uint64_t total_bytes = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    SB_RETURN_IF_ERROR(CheckSegment(segments[i], file_bytes, name, i));
    if (segments[i].vaddr < previous_end) {
      return Malformed(name, i, "overlaps the one before it, or is out of order");
    }
    previous_end = segments[i].vaddr + segments[i].memory_size;
    total_bytes += segments[i].file_size;
  }
  // Segments of a real file share at most a page; a hostile one could name the same bytes 64 times.
  if (total_bytes > file_bytes + segments.size() * kPageBytes) {
    return absl::DataLossError(absl::StrCat(name, ": not a sound ELF file: its segments hold ",
                                            total_bytes, " bytes, the file only ", file_bytes));
  }
  return absl::OkStatus();
}

uint64_t FileBytesOf(const std::vector<ElfSegment>& segments, bool only_code) {
  uint64_t total = 0;
  for (const ElfSegment& s : segments) total += s.executable || !only_code ? s.file_size : 0;
  return total;
}

}  // namespace

absl::StatusOr<ElfImage> ElfImage::Load(int fd, uint64_t file_bytes,
                                        std::vector<ElfSegment> segments, const std::string& name) {
  if (segments.empty() || segments.size() > kMaxLoadSegments) {
    return absl::DataLossError(absl::StrCat(name, ": not a sound ELF file: ", segments.size(),
                                            " loadable segments, expected 1 to ",
                                            kMaxLoadSegments));
  }
  SB_RETURN_IF_ERROR(CheckSegments(segments, file_bytes, name));
  if (const uint64_t code = FileBytesOf(segments, /*only_code=*/true); code > kMaxWholeBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": has ", code, " bytes of code; sbump ",
                                                     "reads ", kMaxWholeBytes, " at most"));
  }
  ElfImage image;
  const bool all = FileBytesOf(segments, /*only_code=*/false) <= kMaxWholeBytes;
  image.segments_ = std::move(segments);
  SB_RETURN_IF_ERROR(image.Read(fd, all, name));
  return image;
}

absl::Status ElfImage::Read(int fd, bool all, const std::string& name) {
  std::shared_ptr<LargeFile> file;
  memory_ = AnonymousMemory(
      FileBytesOf(segments_, !all) + segments_.size() * AnonymousMemory::kBytesAPiece,
      /*huge=*/true);
  for (const ElfSegment& s : segments_) {
    Bytes& bytes = bytes_.emplace_back();
    if (all || s.executable) {
      const std::span<std::byte> whole = memory_.Take(s.file_size);
      SB_RETURN_IF_ERROR(ReadRange(fd, s.file_offset, whole, name));
      bytes.whole = whole;
    } else if (s.file_size != 0) {
      if (file == nullptr) file = std::make_shared<LargeFile>(Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
      if (!file->fd.valid()) return ErrnoStatus(errno, absl::StrCat(name, ": dup"));
      SB_ASSIGN_OR_RETURN(bytes.large, LargeSegment::Make(file, s.file_offset, s.file_size));
    }
  }
  return absl::OkStatus();
}

std::optional<size_t> ElfImage::FindFileBacked(uint64_t vaddr) const {
  for (size_t i = 0; i < segments_.size(); ++i) {
    const ElfSegment& s = segments_[i];
    if (vaddr >= s.vaddr && vaddr - s.vaddr < s.file_size) return i;
  }
  return std::nullopt;
}

std::span<const std::byte> ElfImage::BytesFrom(uint64_t vaddr, uint64_t max_size) const {
  const auto index = FindFileBacked(vaddr);
  if (!index) return {};
  const ElfSegment& segment = segments_[*index];
  const uint64_t skip = vaddr - segment.vaddr;
  const uint64_t count = std::min(max_size, segment.file_size - skip);
  const Bytes& bytes = bytes_[*index];
  if (bytes.large != nullptr) return bytes.large->Bytes(skip, count);
  return bytes.whole.subspan(skip, count);
}

bool ElfImage::was_unreadable() const {
  return std::ranges::any_of(bytes_, [](const Bytes& bytes) {
    return bytes.large != nullptr && bytes.large->was_unreadable();
  });
}

std::optional<uint64_t> ElfImage::WordAt(uint64_t vaddr) const {
  const auto bytes = BytesFrom(vaddr, sizeof(uint64_t));
  if (bytes.size() != sizeof(uint64_t)) return std::nullopt;
  uint64_t word;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

bool ElfImage::IsExecutable(uint64_t vaddr) const {
  return std::ranges::any_of(segments_, [&](const ElfSegment& s) {
    return s.executable && vaddr >= s.vaddr && vaddr - s.vaddr < s.memory_size;
  });
}

std::optional<uint64_t> ElfImage::FileOffset(uint64_t vaddr) const {
  const auto index = FindFileBacked(vaddr);
  if (!index) return std::nullopt;
  return segments_[*index].file_offset + (vaddr - segments_[*index].vaddr);
}

}  // namespace sbump
