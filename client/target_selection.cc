#include "client/target_selection.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "client/bounded_file.h"
#include "client/limits.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"
#include "daemon/match/module_pattern.h"
#include "daemon/match/native_pattern.h"
#include "daemon/match/pattern.h"
#include "daemon/match/target_file.h"

namespace sbump {
namespace {

using Mistakes = std::vector<std::string>;

void Collect(const absl::Status& status, Mistakes* mistakes) {
  if (!status.ok()) mistakes->push_back(std::string(ToStd(status.message())));
}

std::string FlagMistake(std::string_view flag, std::string_view text, const absl::Status& status) {
  return StrCat(flag, " \"", Printable(text), "\": ", status.message());
}

// Of an override; kLongestSpinNs or kLongestSleepNs is the limit.
absl::Status CheckOverride(std::optional<uint64_t> delay_ns, uint64_t longest_ns) {
  if (!delay_ns) return absl::OkStatus();
  return CheckDelay(StrCat("@delay=", FormatDuration(*delay_ns)), *delay_ns, longest_ns);
}

void AddPattern(const Pattern& pattern, v1::TargetSelection* selection) {
  v1::TargetPattern* added = selection->add_patterns();
  added->set_pattern(pattern.text);
  if (pattern.delay_ns) added->set_delay_ns(*pattern.delay_ns);
  if (pattern.every) added->set_every(*pattern.every);
}

void AddFlagPattern(uint64_t longest_ns, const std::string& text, v1::TargetSelection* selection,
                    Mistakes* mistakes) {
  const absl::StatusOr<Pattern> pattern = ParsePattern(text);
  const absl::Status status =
      pattern.ok() ? CheckOverride(pattern->delay_ns, longest_ns) : pattern.status();
  if (!status.ok()) {
    mistakes->push_back(FlagMistake("--target", text, status));
    return;
  }
  AddPattern(*pattern, selection);
}

void AddExclude(const std::string& text, v1::TargetSelection* selection, Mistakes* mistakes) {
  const absl::StatusOr<Pattern> pattern = ParseExclude(text);
  if (!pattern.ok()) {
    mistakes->push_back(FlagMistake("--exclude", text, pattern.status()));
    return;
  }
  selection->add_exclude(pattern->text);
}

void AddNative(uint64_t longest_ns, const std::string& text, v1::TargetSelection* selection,
               Mistakes* mistakes) {
  const absl::StatusOr<NativePattern> pattern = ParseNativePattern(text);
  const absl::Status status =
      pattern.ok() ? CheckOverride(pattern->overrides.delay_ns, longest_ns) : pattern.status();
  if (!status.ok()) {
    mistakes->push_back(FlagMistake("--native", text, status));
    return;
  }
  v1::NativeTarget* added = selection->add_native();
  added->set_target(pattern->text);
  if (pattern->overrides.delay_ns) added->set_delay_ns(*pattern->overrides.delay_ns);
  if (pattern->overrides.every) added->set_every(*pattern->overrides.every);
}

void AddModule(uint64_t longest_ns, const std::string& text, v1::TargetSelection* selection,
               Mistakes* mistakes) {
  const absl::StatusOr<ModuleTarget> target = ParseModuleTarget(text);
  const absl::Status status =
      target.ok() ? CheckOverride(target->overrides.delay_ns, longest_ns) : target.status();
  if (!status.ok()) {
    mistakes->push_back(FlagMistake("--module", text, status));
    return;
  }
  v1::ModuleTarget* added = selection->add_modules();
  added->set_pattern(target->text);
  if (target->overrides.delay_ns) added->set_delay_ns(*target->overrides.delay_ns);
  if (target->overrides.every) added->set_every(*target->overrides.every);
}

void AddModuleExclude(const std::string& text, v1::TargetSelection* selection, Mistakes* mistakes) {
  const absl::StatusOr<ModulePattern> pattern = ModulePattern::Compile(text);
  if (!pattern.ok())
    return mistakes->push_back(FlagMistake("--module-exclude", text, pattern.status()));
  selection->add_module_exclude(pattern->text());
}

void AddFile(uint64_t longest_ns, const std::string& path, v1::TargetSelection* selection,
             Mistakes* mistakes) {
  const absl::StatusOr<std::string> text = ReadBoundedFile(path, kMaxTargetFileBytes);
  if (!text.ok()) return Collect(Annotate(text.status(), "targets file"), mistakes);
  const std::string name = path == "-" ? "standard input" : path;
  TargetFileResult result = ParseTargetFile(name, *text);
  for (size_t i = 0; i < result.patterns.size(); ++i) {
    const Pattern& pattern = result.patterns[i];
    if (const absl::Status status = CheckOverride(pattern.delay_ns, longest_ns); !status.ok()) {
      result.errors.push_back(
          {result.lines[i], Printable(pattern.text), std::string(ToStd(status.message()))});
    }
  }
  if (!result.errors.empty()) return Collect(TargetFileStatus(result), mistakes);
  for (const Pattern& pattern : result.patterns) AddPattern(pattern, selection);
}

}  // namespace

absl::Status CheckDelay(std::string_view name, uint64_t delay_ns, uint64_t longest_ns) {
  if (delay_ns <= longest_ns) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(name, ": the longest delay is ", FormatDuration(longest_ns), " a call",
             longest_ns < kLongestSleepNs ? "; up to 10s with --mode sleep" : ""));
}

absl::StatusOr<v1::TargetSelection> BuildSelection(const SelectionFlags& flags) {
  v1::TargetSelection selection;
  Mistakes mistakes;
  for (const std::string& text : flags.targets)
    AddFlagPattern(flags.longest_delay_ns, text, &selection, &mistakes);
  if (!flags.targets_file.empty())
    AddFile(flags.longest_delay_ns, flags.targets_file, &selection, &mistakes);
  for (const std::string& text : flags.excludes) AddExclude(text, &selection, &mistakes);
  for (const std::string& text : flags.natives)
    AddNative(flags.longest_delay_ns, text, &selection, &mistakes);
  for (const std::string& text : flags.modules)
    AddModule(flags.longest_delay_ns, text, &selection, &mistakes);
  for (const std::string& text : flags.module_excludes)
    AddModuleExclude(text, &selection, &mistakes);
  if (!flags.module_excludes.empty() && flags.modules.empty())
    mistakes.push_back("--module-exclude subtracts from --module, and there is none");
  if (flags.callables.any() && flags.modules.empty())
    mistakes.push_back("--callable is about --module, and there is none");
  selection.set_module_root(flags.module_root);
  if (flags.module_prefix) selection.set_module_prefix(*flags.module_prefix);
  TakeCallables(flags.callables, &selection);
  selection.set_paths_only(flags.paths_only);
  if (!mistakes.empty()) return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
  return selection;
}

void TakeCallables(const CallableFlags& flags, v1::TargetSelection* selection) {
  for (const std::string& type : flags.types) selection->add_module_callables(type);
  selection->set_no_default_module_callables(flags.no_defaults);
}

v1::ListModulesRequest TreeRequest(int32_t pid, const std::string& root,
                                   const std::optional<std::string>& prefix,
                                   const CallableFlags& callables) {
  v1::ListModulesRequest request;
  request.set_pid(pid);
  request.set_root(root);
  if (prefix) request.set_prefix(*prefix);
  for (const std::string& type : callables.types) request.add_callables(type);
  request.set_no_default_callables(callables.no_defaults);
  return request;
}

}  // namespace sbump
