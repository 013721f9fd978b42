#include "daemon/session/operator_probes.h"

#include <algorithm>
#include <iterator>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint8_t kBreakpoint = 0xCC;
constexpr size_t kMostNamed = 5;
constexpr uint64_t kLongestStudyNs = 10'000'000'000;

absl::Status NotSeen(pid_t pid, absl::string_view why) {
  return absl::UnimplementedError(StrCat("pid ", pid, ": operators cannot be seen: ", why));
}

absl::StatusOr<MappedCode> LibraryOf(const TargetProcess& process) {
  SB_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadMaps(process));
  for (MappedCode& file : GroupByFile(mappings)) {
    const size_t slash = file.path.rfind('/');
    if (slash != std::string::npos &&
        std::string_view(file.path).substr(slash + 1).starts_with("libtorch_cpu.so")) {
      return std::move(file);
    }
  }
  return NotSeen(process.pid(), "it has not mapped a libtorch_cpu.so");
}

// "12 operators are not seen: a, b, c and others".
std::string LeftOutText(size_t all, const std::vector<std::string>& left_out) {
  std::string text = StrCat(left_out.size(), " of ", all, " operators are not seen: ");
  for (size_t i = 0; i < std::min(left_out.size(), kMostNamed); ++i)
    text += StrCat(i == 0 ? "" : ", ", left_out[i].substr(0, left_out[i].find(':')));
  return text + (left_out.size() > kMostNamed ? " and others" : "");
}

sb_operator CallOf(const OperatorSite& site) {
  sb_operator call = site.signature.call;
  call.frame = static_cast<uint8_t>(site.end.frame);
  call.frame_offset = static_cast<int32_t>(site.end.frame_offset);
  call.result = static_cast<uint8_t>(site.end.result);
  call.loaded = site.end.result_offset ? 1 : 0;
  call.result_offset = static_cast<int32_t>(site.end.result_offset.value_or(0));
  return call;
}

std::vector<uint64_t> OffsetsOf(const auto& places) {
  std::vector<uint64_t> offsets;
  for (const auto& place : places) offsets.push_back(place.file_offset);
  return offsets;
}

}  // namespace

absl::Status ProbeNotShown(pid_t pid, const std::string& path) {
  return absl::FailedPreconditionError(
      StrCat("pid ", pid, ": a probe on ", path,
             " was accepted but does not show in the running process: the file was replaced or "
             "copied under it (an overlay file system?); restart the process, then attach"));
}

absl::Status OperatorProbes::Find() {
  if (found()) return absl::OkStatus();
  if (!UprobeMultiWorks())
    return NotSeen(process_.pid(), "this kernel has no uprobe_multi (Linux 6.10 on)");
  SB_ASSIGN_OR_RETURN(const MappedCode file, LibraryOf(process_));
  SB_ASSIGN_OR_RETURN(const OpenedCode code, OpenCode(process_, file));
  const absl::StatusOr<OperatorSites> found =
      FindOperators(code.elf, MonotonicNs() + kLongestStudyNs);
  if (!found.ok()) return NotSeen(process_.pid(), found.status().message());
  if (found->sites.empty())
    return NotSeen(process_.pid(), StrCat("of none is known where its tensors are (",
                                          found->left_out.front(), ")"));
  SB_RETURN_IF_ERROR(TakePlaces(code, found->sites));
  probe_path_ = code.probe_path;
  device_ = file.mappings.front().device;
  inode_ = file.mappings.front().inode;
  Names names;
  for (const OperatorSite& site : found->sites) {
    operators_.push_back(CallOf(site));
    names.push_back(std::make_shared<const std::string>(site.signature.name));
  }
  names_ = std::make_shared<const Names>(std::move(names));
  warnings_ = {StrCat("with operators a process that pid ", process_.pid(),
                      " forks meanwhile pays for their probes too, until the end")};
  if (!found->left_out.empty()) {
    warnings_.push_back(LeftOutText(found->sites.size() + found->left_out.size(), found->left_out));
  }
  return absl::OkStatus();
}

// All or none.
absl::Status OperatorProbes::TakePlaces(const OpenedCode& code,
                                        const std::vector<OperatorSite>& sites) {
  const auto place_at = [&](uint64_t vaddr) -> absl::StatusOr<Place> {
    SB_ASSIGN_OR_RETURN(const uint64_t file_offset, code.elf.FileOffset(vaddr));
    SB_ASSIGN_OR_RETURN(const auto bytes, code.elf.BytesAt(vaddr, 1));
    return Place{file_offset, RemoteAddr{code.load_bias + vaddr},
                 std::to_integer<uint8_t>(bytes.front())};
  };
  std::vector<Place> begins, ends;
  for (const OperatorSite& site : sites) {
    SB_ASSIGN_OR_RETURN(const Place begin, place_at(site.begin_vaddr));
    SB_ASSIGN_OR_RETURN(const Place end, place_at(site.end.vaddr));
    begins.push_back(begin);
    ends.push_back(end);
  }
  begins_ = std::move(begins);
  ends_ = std::move(ends);
  return absl::OkStatus();
}

std::vector<PlacedProbe> OperatorProbes::Placed() const {
  std::vector<PlacedProbe> placed;
  for (const auto* places : {&begins_, &ends_}) {
    for (const Place& place : *places)
      placed.push_back({place.address, device_, inode_, place.file_offset});
  }
  return placed;
}

absl::Status OperatorProbes::CheckPlaced() const {
  for (const auto* places : {&begins_, &ends_}) {
    for (const Place& place : *places) {
      SB_ASSIGN_OR_RETURN(const uint8_t byte, memory_.ReadValue<uint8_t>(place.address));
      if (byte != kBreakpoint) return ProbeNotShown(process_.pid(), probe_path_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> OperatorProbes::Open(Programs& programs, LinkKeeper& keeper,
                                                           Journal& journal) const {
  SB_RETURN_IF_ERROR(programs.SetOperators(operators_));
  SB_RETURN_IF_ERROR(journal.WillProbe(Placed()));
  // Side by side: nothing is told before the probes of modules are there, which come later.
  SB_ASSIGN_OR_RETURN(std::vector<uint64_t> links,
                      programs.OpenLinks({{.kind = ProgramKind::kOperatorEnd,
                                           .path = probe_path_,
                                           .many_offsets = OffsetsOf(ends_)},
                                          {.kind = ProgramKind::kOperatorBegin,
                                           .path = probe_path_,
                                           .many_offsets = OffsetsOf(begins_)}},
                                         process_.pid(), keeper));
  if (const absl::Status placed = CheckPlaced(); !placed.ok()) {
    programs.CloseLinks(links);
    return placed;
  }
  return links;
}

bool OperatorProbes::IsUnmapped() const {
  const absl::StatusOr<std::vector<Mapping>> mappings = ReadMaps(process_);
  return mappings.ok() && std::ranges::none_of(*mappings, [&](const Mapping& mapping) {
           return mapping.device == device_ && mapping.inode == inode_;
         });
}

// What cannot be read counts, unless the library is gone.
uint32_t OperatorProbes::CountTextBytesChanged() const {
  if (!found() || IsUnmapped()) return 0;
  uint32_t changed = 0;
  for (const auto* places : {&begins_, &ends_}) {
    for (const Place& place : *places) {
      const absl::StatusOr<uint8_t> byte = memory_.ReadValue<uint8_t>(place.address);
      if (!byte.ok() || *byte != place.byte) ++changed;
    }
  }
  return changed;
}

}  // namespace sbump
