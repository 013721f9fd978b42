#include "daemon/native/resolve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/match/edit_distance.h"
#include "daemon/native/function_finder.h"
#include "daemon/native/indirect_function.h"
#include "daemon/native/mapped_files.h"
#include "daemon/text/entry_site.h"

namespace sbump {
namespace {

constexpr size_t kMostFiles = 512;
constexpr size_t kMostFilesOfAPattern = 64;

uint64_t Length(const Instruction& instruction) { return instruction.end() - instruction.vaddr; }

std::string_view Basename(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The files of the process. One is open at a time: together they may be gigabytes.
class Files {
 public:
  Files(const TargetProcess& process, std::vector<MappedCode> files)
      : process_(process), files_(std::move(files)) {}

  const std::vector<MappedCode>& all() const { return files_; }
  absl::StatusOr<OpenedCode> Open(size_t i) const { return OpenCode(process_, files_[i]); }
  void VisitAll(const std::function<void(const OpenedCode&)>& visit) const {
    for (size_t i = 0; i < std::min(files_.size(), kMostFiles); ++i) {
      if (const auto code = Open(i); code.ok()) visit(*code);
    }
  }

 private:
  const TargetProcess& process_;
  const std::vector<MappedCode> files_;
};

class Resolver {
 public:
  Resolver(const TargetProcess& process, const MemoryReader& memory,
           std::span<const NativePattern> patterns, std::vector<MappedCode> files)
      : process_(process),
        memory_(memory),
        patterns_(patterns),
        files_(process, std::move(files)),
        answers_(patterns.size()) {}

  absl::StatusOr<NativeResolution> Run() {
    for (size_t i = 0; i < files_.all().size(); ++i) ResolveIn(i);
    most_found_ = std::max(most_found_, targets_.size());
    if (most_found_ > kMaxNativeTargets) {
      return absl::ResourceExhaustedError(
          StrCat("pid ", process_.pid(), ": the native targets mean ", most_found_,
                 " functions; the most is ", kMaxNativeTargets, ": write narrower ones"));
    }
    for (size_t p = 0; p < patterns_.size(); ++p) Explain(p);
    NativeResolution resolution{.answers = std::move(answers_)};
    for (auto& [address, target] : targets_) resolution.targets.push_back(std::move(target));
    return resolution;
  }

 private:
  struct Wanted {
    size_t pattern;
    FoundFunction function;
  };

  void Refuse(size_t pattern, absl::Status why) {
    if (answers_[pattern].refused.ok())
      answers_[pattern].refused = Annotate(why, StrCat("pid ", process_.pid()));
  }

  void ResolveIn(size_t file) {
    std::vector<size_t> meant_by;
    for (size_t p = 0; p < patterns_.size(); ++p) {
      if (Means(patterns_[p], process_, files_.all()[file])) meant_by.push_back(p);
    }
    if (meant_by.empty()) return;
    for (size_t p : meant_by) {
      answers_[p].mapped = true;
      if (++files_meant_[p] <= kMostFilesOfAPattern) continue;
      return Refuse(p, absl::ResourceExhaustedError(
                           StrCat(patterns_[p].text, " means more than ", kMostFilesOfAPattern,
                                  " files of the process: write a narrower path")));
    }
    const absl::StatusOr<OpenedCode> code = files_.Open(file);
    if (!code.ok()) {
      for (size_t p : meant_by) {
        if (!patterns_[p].path.IsLiteral()) {
          answers_[p].left_out.emplace_back(code.status().message());
        } else {
          Refuse(p, code.status());
        }
      }
      return;
    }
    std::vector<Wanted> wanted;
    for (size_t p : meant_by) Find(p, *code, wanted);
    Place(files_.all()[file], *code, wanted);
  }

  void Find(size_t p, const OpenedCode& code, std::vector<Wanted>& wanted) {
    absl::StatusOr<FoundFunctions> found = FindFunctions(code.elf, patterns_[p]);
    if (!found.ok()) return Refuse(p, found.status());
    if (found->undefined) undefined_in_[p].push_back(code.elf.name());
    most_found_ = std::max(most_found_, found->functions.size());
    if (most_found_ > kMaxNativeTargets) return;
    NativeAnswer& answer = answers_[p];
    answer.left_out.insert(answer.left_out.end(), found->left_out.begin(), found->left_out.end());
    for (FoundFunction& function : found->functions) {
      if (function.indirect) {
        absl::StatusOr<FunctionText> chosen = Chosen(code, function, patterns_[p]);
        if (!chosen.ok()) {
          LeaveOut(p, function.name, chosen.status());
          continue;
        }
        function.text = *chosen;
      }
      wanted.push_back({p, std::move(function)});
    }
  }

  // Of many, one that cannot be had is told of; the only one is refused.
  void LeaveOut(size_t p, const std::string& name, const absl::Status& why) {
    if (patterns_[p].name) {
      answers_[p].left_out.push_back(StrCat(name, ": ", why.message()));
    } else {
      Refuse(p, why);
    }
  }

  absl::StatusOr<FunctionText> Chosen(const OpenedCode& code, const FoundFunction& function,
                                      const NativePattern& pattern) {
    const std::string name = pattern.name ? function.name : pattern.symbol;
    std::set<uint64_t> places;
    code.elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
      if (symbol.defined && symbol.name == name) places.insert(symbol.vaddr);
    });
    const IndirectFunction indirect{.code = code,
                                    .resolver_vaddr = function.text.entry,
                                    .name = name,
                                    .only_one_of_its_name = places.size() == 1};
    return ChosenFunction(indirect, memory_, [this](const auto& visit) { files_.VisitAll(visit); });
  }

  void Place(const MappedCode& file, const OpenedCode& code, const std::vector<Wanted>& wanted) {
    std::vector<FunctionText> functions;
    for (const Wanted& one : wanted) {
      if (!one.function.is_instruction) functions.push_back(one.function.text);
    }
    const std::vector<absl::StatusOr<EntrySite>> sites = FindEntrySites(code.elf, functions);
    size_t next = 0;
    for (const Wanted& one : wanted) {
      const absl::StatusOr<EntrySite> site =
          one.function.is_instruction ? InstructionSite(code.elf, one.function) : sites[next++];
      const absl::Status placed =
          site.ok() ? AddTarget(file, code, one, *site) : absl::Status(site.status());
      if (!placed.ok()) LeaveOut(one.pattern, one.function.name, placed);
    }
  }

  static absl::StatusOr<EntrySite> InstructionSite(const ElfFile& elf,
                                                   const FoundFunction& function) {
    const std::optional<Instruction> instruction = Decode(elf, function.text.entry);
    const auto why = instruction ? WhyNoProbe(*instruction) : "there is no instruction";
    if (why) return absl::FailedPreconditionError(StrCat(elf.name(), ": ", *why));
    return EntrySite{*instruction, EmulatedByKernel(*instruction)};
  }

  absl::Status AddTarget(const MappedCode& file, const OpenedCode& code, const Wanted& wanted,
                         const EntrySite& site) {
    const uint64_t vaddr = site.instruction.vaddr;
    const RemoteAddr address{vaddr + code.load_bias};
    NativeAnswer& answer = answers_[wanted.pattern];
    ++answer.targets;
    if (const auto known = targets_.find(address.value); known != targets_.end()) {
      known->second.patterns.push_back(wanted.pattern);
      std::ranges::sort(known->second.patterns);
      return absl::OkStatus();
    }
    const NativePattern& pattern = patterns_[wanted.pattern];
    NativeTarget target{.filename = pattern.NamesOnePath() ? pattern.path.pattern() : file.path,
                        .name = wanted.function.name,
                        .patterns = {wanted.pattern},
                        .site = {.address = address,
                                 .probe_path = code.probe_path,
                                 .vaddr = vaddr,
                                 .entry_vaddr = wanted.function.text.entry,
                                 .instruction = Text(site.instruction),
                                 .emulated = site.emulated},
                        .device = file.mappings.front().device,
                        .inode = file.mappings.front().inode};
    SB_ASSIGN_OR_RETURN(target.site.file_offset, code.elf.FileOffset(vaddr));
    // No more: the next instruction may be another probe's.
    SB_ASSIGN_OR_RETURN(const auto text, code.elf.BytesAt(vaddr, Length(site.instruction)));
    target.text.assign(text.begin(), text.end());
    SB_ASSIGN_OR_RETURN(const TextState state, LookAtText(process_, memory_, target));
    if (state == TextState::kChanged || state == TextState::kUnmapped) {
      --answer.targets;
      return absl::FailedPreconditionError(
          StrCat(file.path, ": the code at ", ToString(address),
                 " is not that of the file: somebody has changed it in this process"));
    }
    targets_.emplace(address.value, std::move(target));
    return absl::OkStatus();
  }

  // ---- Why a pattern found nothing ----

  void Explain(size_t p) {
    NativeAnswer& answer = answers_[p];
    if (answer.targets != 0 || !answer.refused.ok()) return;
    if (!answer.mapped) return ExplainFile(p);
    if (const auto undefined = undefined_in_.find(p); undefined != undefined_in_.end())
      return Refuse(p, NotDefinedHere(patterns_[p], undefined->second.front()));
    for (size_t i = 0; i < files_.all().size(); ++i) {
      if (!Means(patterns_[p], process_, files_.all()[i])) continue;
      const absl::StatusOr<OpenedCode> code = files_.Open(i);
      if (!code.ok()) continue;
      for (std::string& name : SimilarNames(code->elf, patterns_[p]))
        answer.hints.push_back({StrCat(code->elf.name(), ":", name), "a similar name"});
    }
    constexpr size_t kMostHints = 3;
    if (answer.hints.size() > kMostHints) answer.hints.resize(kMostHints);
    if (answer.hints.empty()) {
      answer.hints.push_back(
          {"", StrCat("no function of that name is in the symbol tables of ", PathText(p))});
    }
  }

  std::string PathText(size_t p) const { return patterns_[p].path.pattern(); }

  void ExplainFile(size_t p) {
    NativeAnswer& answer = answers_[p];
    const std::string wanted(Basename(PathText(p)));
    for (const MappedCode& file : files_.all()) {
      const std::string_view name = Basename(file.path);
      constexpr size_t kMostEdits = 3;
      const bool similar = name == wanted || (wanted.size() > 3 && name.starts_with(wanted)) ||
                           EditDistance(wanted, name, kMostEdits) <= kMostEdits;
      if (similar && answer.hints.size() < 3)
        answer.hints.push_back(
            {StrCat(file.path, patterns_[p].file_offset ? "" : ":", patterns_[p].What()),
             "a similar file"});
    }
    if (answer.hints.empty())
      answer.hints.push_back(
          {"", StrCat("the process has mapped no file ", PathText(p), " (yet)")});
  }

  absl::Status NotDefinedHere(const NativePattern& pattern, const std::string& file) {
    std::string definer;
    files_.VisitAll([&](const OpenedCode& code) {
      if (!definer.empty()) return;
      code.elf.ForEachSymbol([&](const ElfSymbolEntry& symbol) {
        if (symbol.defined && symbol.function && symbol.name == pattern.symbol)
          definer = code.elf.name();
      });
    });
    return absl::FailedPreconditionError(
        StrCat(file, ": calls ", pattern.symbol, " and does not hold it; ",
               definer.empty() ? std::string("no file of the process does")
                               : StrCat("write ", definer, ":", pattern.What())));
  }

  const TargetProcess& process_;
  const MemoryReader& memory_;
  const std::span<const NativePattern> patterns_;
  const Files files_;
  std::vector<NativeAnswer> answers_;
  std::map<size_t, size_t> files_meant_;  // by pattern
  size_t most_found_ = 0;
  std::map<uint64_t, NativeTarget> targets_;                 // by address
  std::map<size_t, std::vector<std::string>> undefined_in_;  // by pattern
};

}  // namespace

absl::StatusOr<NativeResolution> ResolveNative(const TargetProcess& process,
                                               const MemoryReader& memory,
                                               std::span<const NativePattern> patterns) {
  SB_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadMaps(process));
  return Resolver(process, memory, patterns, GroupByFile(mappings)).Run();
}

absl::StatusOr<bool> IsMapped(const TargetProcess& process, const NativePattern& pattern) {
  SB_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadMaps(process));
  return std::ranges::any_of(GroupByFile(mappings),
                             [&](const MappedCode& file) { return Means(pattern, process, file); });
}

absl::StatusOr<TextState> LookAtText(const TargetProcess& process, const MemoryReader& memory,
                                     const NativeTarget& target) {
  constexpr std::byte kBreakpoint{0xcc};
  std::vector<std::byte> found(target.text.size());
  const absl::Status read = memory.Read(target.site.address, found);
  if (read.ok() && found == target.text) return TextState::kAsInFile;
  SB_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadMaps(process));
  const bool is_there = std::ranges::any_of(mappings, [&](const Mapping& m) {
    return m.Contains(target.site.address) && m.device == target.device && m.inode == target.inode;
  });
  if (!is_there) return TextState::kUnmapped;
  if (!read.ok()) return read;
  const bool only_first = std::equal(found.begin() + 1, found.end(), target.text.begin() + 1);
  return only_first && found[0] == kBreakpoint ? TextState::kProbed : TextState::kChanged;
}

}  // namespace sbump
