#include "daemon/session/module_probes.h"

#include <algorithm>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// `path` and nothing else, as a native pattern has it.
absl::StatusOr<NativePattern> PatternOf(const std::string& path, uint64_t file_offset) {
  std::string glob = path;
  for (char& c : glob) {
    if (c == '*' || c == '[' || c == ']' || c == '?') c = '?';
  }
  SB_ASSIGN_OR_RETURN(Glob compiled, Glob::Compile(glob));
  return NativePattern{.text = StrCat(path, "+0x", absl::Hex(file_offset)),
                       .path = std::move(compiled),
                       .file_offset = file_offset};
}

absl::Status NotSeen(std::string_view root, absl::string_view why) {
  return absl::UnimplementedError(
      StrCat("calls of the instances of ", root, " cannot be seen: ", why));
}

}  // namespace

// ---- Finding ----

// All at once: the file is read once.
absl::StatusOr<std::vector<ModuleProbes::Probe>> ModuleProbes::ProbesAt(
    const Interpreter& interpreter, const ModuleQuery& query,
    std::span<const uint64_t> vaddrs) const {
  std::vector<NativePattern> patterns;
  for (const uint64_t vaddr : vaddrs) {
    SB_ASSIGN_OR_RETURN(const uint64_t file_offset, interpreter.file->elf->FileOffset(vaddr));
    SB_ASSIGN_OR_RETURN(NativePattern pattern, PatternOf(interpreter.path, file_offset));
    patterns.push_back(std::move(pattern));
  }
  SB_ASSIGN_OR_RETURN(NativeResolution found, ResolveNative(process_, memory_, patterns));
  std::vector<Probe> probes(vaddrs.size());
  for (NativeTarget& target : found.targets) {
    const size_t i = target.patterns.front();
    probes[i].target = std::move(target);
  }
  const auto missing =
      std::ranges::find_if(probes, [](const Probe& probe) { return probe.target.text.empty(); });
  if (missing == probes.end() && found.targets.size() == probes.size()) return probes;
  const size_t which = missing == probes.end() ? 0 : static_cast<size_t>(missing - probes.begin());
  const absl::Status& refused = found.answers[which].refused;
  return NotSeen(
      query.root_type,
      StrCat("no probe can be placed at ", patterns[which].text, " (",
             refused.ok() ? "it is not where the process has it" : refused.message(), ")"));
}

// Where calls begin: a place in the interpreter's own text at which rdi is still the object. And,
// for spans, where they end.
absl::StatusOr<std::vector<ModuleProbes::Probe>> ModuleProbes::FindAll(
    const Interpreter& interpreter, const ModuleQuery& query, uint64_t vaddr) {
  const ElfFile& elf = *interpreter.file->elf;
  CallSites sites;
  if (spec_.spans) {
    absl::StatusOr<CallSites> found = FindCallSites(elf, vaddr);
    if (!found.ok()) return NotSeen(query.root_type, found.status().message());
    sites = *std::move(found);
    saved_ = sites.saved;
  } else {
    SB_ASSIGN_OR_RETURN(sites.begin, FindArgumentSite(elf, vaddr));
  }
  std::vector<uint64_t> vaddrs;
  for (const ReturnSite& end : sites.ends) vaddrs.push_back(end.vaddr);
  vaddrs.push_back(sites.begin);
  SB_ASSIGN_OR_RETURN(std::vector<Probe> probes, ProbesAt(interpreter, query, vaddrs));
  for (size_t i = 0; i < sites.ends.size(); ++i) {
    probes[i].end = {.stack_bytes = static_cast<uint32_t>(sites.ends[i].stack_bytes),
                     .result = static_cast<uint32_t>(sites.ends[i].result)};
  }
  return probes;
}

absl::Status ModuleProbes::Find(const Interpreter& interpreter, const ModuleQuery& query) {
  if (found()) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(call_, FindModuleCall(memory_, interpreter, query));
  if (!call_) return NotSeen(query.root_type, "it has no __call__");
  const uint64_t vaddr = call_.value - interpreter.load_bias;
  if (!interpreter.file->elf->IsExecutable(vaddr)) {
    return NotSeen(query.root_type, StrCat("its __call__ is not the interpreter's (tp_call is ",
                                           ToString(call_), ", outside ", interpreter.path, ")"));
  }
  SB_ASSIGN_OR_RETURN(std::vector<Probe> probes, FindAll(interpreter, query, vaddr));
  if (spec_.spans && spec_.spans->operators) SB_RETURN_IF_ERROR(operators_.Find());
  probes_ = std::move(probes);
  root_type_ = query.root_type;
  return absl::OkStatus();
}

// ---- Placing ----

// One where calls begin, and the ends, which are one or two.
size_t ModuleProbes::most_links() const { return found() ? probes_.size() : spec_.spans ? 3 : 1; }

ProgramKind ModuleProbes::ProgramOf(const Probe& probe, const Programs& programs) const {
  const bool multi = programs.closes_quickly() && UprobeMultiWorks();
  if (probe.end) return multi ? ProgramKind::kSpanEndMulti : ProgramKind::kSpanEnd;
  if (spec_.spans) return multi ? ProgramKind::kSpanBeginMulti : ProgramKind::kSpanBegin;
  return multi ? ProgramKind::kModuleHitMulti : ProgramKind::kModuleHit;
}

absl::Status ModuleProbes::OpenOne(const Probe& probe, Programs& programs, LinkKeeper& keeper) {
  const NativeSite& site = probe.target.site;
  SB_ASSIGN_OR_RETURN(
      const std::vector<uint64_t> links,
      programs.OpenLinks({{ProgramOf(probe, programs), site.probe_path, site.file_offset}},
                         process_.pid(), keeper));
  links_.push_back(links.front());
  SB_ASSIGN_OR_RETURN(const TextState state, LookAtText(process_, memory_, probe.target));
  if (state == TextState::kProbed) return absl::OkStatus();
  return ProbeNotShown(process_.pid(), site.probe_path);
}

absl::Status ModuleProbes::Open(Programs& programs, LinkKeeper& keeper, Journal& journal) {
  std::vector<PlacedProbe> placed;
  for (const Probe& probe : probes_) {
    const NativeTarget& target = probe.target;
    placed.push_back({target.site.address, target.device, target.inode, target.site.file_offset});
    if (probe.end) SB_RETURN_IF_ERROR(programs.SetSpanSite(target.site.address, *probe.end));
  }
  SB_RETURN_IF_ERROR(journal.WillProbe(placed));
  if (operators_.found()) {
    SB_ASSIGN_OR_RETURN(const std::vector<uint64_t> links,
                        operators_.Open(programs, keeper, journal));
    links_.insert(links_.end(), links.begin(), links.end());
  }
  // One after the other, ends first: no call is seen to begin that is not seen to end.
  for (const Probe& probe : probes_) SB_RETURN_IF_ERROR(OpenOne(probe, programs, keeper));
  return absl::OkStatus();
}

void ModuleProbes::Close(Programs& programs) {
  if (links_.empty()) return;
  programs.CloseLinks(links_);
  links_.clear();
}

uint32_t ModuleProbes::CountTextBytesChanged() const {
  const auto is_changed = [&](const Probe& probe) {
    const absl::StatusOr<TextState> state = LookAtText(process_, memory_, probe.target);
    return !state.ok() || *state == TextState::kProbed || *state == TextState::kChanged;
  };
  return static_cast<uint32_t>(std::ranges::count_if(probes_, is_changed)) +
         operators_.CountTextBytesChanged();
}

}  // namespace sbump
