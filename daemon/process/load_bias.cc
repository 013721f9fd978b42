#include "daemon/process/load_bias.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kPageMask = ~uint64_t{4095};

// The file pages that a segment maps, and where they go.
struct FilePages {
  uint64_t first_offset;
  uint64_t end_offset;
  uint64_t vaddr;
};

FilePages PagesOf(const ElfSegment& s) {
  return {.first_offset = s.file_offset & kPageMask,
          .end_offset = (s.file_offset + s.file_size + ~kPageMask) & kPageMask,
          .vaddr = s.vaddr & kPageMask};
}

// A page at a segment's edge may be mapped twice, so one mapping can allow two biases.
void AddCandidates(const Mapping& mapping, std::span<const ElfSegment> segments,
                   std::vector<uint64_t>& candidates) {
  for (const ElfSegment& segment : segments) {
    const FilePages pages = PagesOf(segment);
    if (!segment.executable || mapping.file_offset < pages.first_offset ||
        mapping.file_offset >= pages.end_offset) {
      continue;
    }
    candidates.push_back(mapping.start.value -
                         (pages.vaddr + (mapping.file_offset - pages.first_offset)));
  }
}

bool IsMappedAt(const ElfSegment& segment, uint64_t bias, std::span<const Mapping> mappings) {
  const FilePages pages = PagesOf(segment);
  const RemoteAddr start{pages.vaddr + bias};
  return std::ranges::any_of(mappings, [&](const Mapping& m) {
    return m.Contains(start) &&
           m.file_offset + (start.value - m.start.value) == pages.first_offset &&
           (m.executable || !segment.executable);
  });
}

bool Fits(uint64_t bias, std::span<const ElfSegment> segments, std::span<const Mapping> mappings) {
  return std::ranges::all_of(segments, [&](const ElfSegment& segment) {
    return segment.file_size == 0 || IsMappedAt(segment, bias, mappings);
  });
}

std::vector<uint64_t> Candidates(std::span<const ElfSegment> segments, bool position_independent,
                                 std::span<const Mapping> mappings) {
  if (!position_independent) return {0};
  std::vector<uint64_t> candidates;
  for (const Mapping& mapping : mappings) {
    if (mapping.executable) AddCandidates(mapping, segments, candidates);
  }
  std::ranges::sort(candidates);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

}  // namespace

absl::StatusOr<uint64_t> FindLoadBias(std::span<const ElfSegment> segments,
                                      bool position_independent,
                                      std::span<const Mapping> mappings_of_this_file,
                                      const std::string& name) {
  auto biases = Candidates(segments, position_independent, mappings_of_this_file);
  std::erase_if(biases,
                [&](uint64_t bias) { return !Fits(bias, segments, mappings_of_this_file); });
  if (biases.empty()) {
    return absl::DataLossError(
        absl::StrCat(name, ": its ", mappings_of_this_file.size(),
                     " mappings do not agree with its program headers; the file is not the one "
                     "that was loaded, or something moved its code"));
  }
  if (biases.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": is loaded ", biases.size(), " times; sbump cannot tell which runs"));
  }
  return biases.front();
}

}  // namespace sbump
