#include "client/target_selection.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "client/bounded_file.h"
#include "client/limits.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"
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

absl::Status CheckDelay(const Pattern& pattern) {
  if (!pattern.delay_ns || *pattern.delay_ns <= kMaxDelayNs) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("@delay=", FormatDuration(*pattern.delay_ns),
                                           ": the longest delay is ", FormatDuration(kMaxDelayNs)));
}

void AddPattern(const Pattern& pattern, v1::TargetSelection* selection) {
  v1::TargetPattern* added = selection->add_patterns();
  added->set_pattern(pattern.text);
  if (pattern.delay_ns) added->set_delay_ns(*pattern.delay_ns);
  if (pattern.every) added->set_every(*pattern.every);
}

void AddFlagPattern(const std::string& text, v1::TargetSelection* selection, Mistakes* mistakes) {
  const absl::StatusOr<Pattern> pattern = ParsePattern(text);
  const absl::Status status = pattern.ok() ? CheckDelay(*pattern) : pattern.status();
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

void AddFile(const std::string& path, v1::TargetSelection* selection, Mistakes* mistakes) {
  const absl::StatusOr<std::string> text = ReadBoundedFile(path, kMaxTargetFileBytes);
  if (!text.ok()) return Collect(Annotate(text.status(), "targets file"), mistakes);
  const std::string name = path == "-" ? "standard input" : path;
  TargetFileResult result = ParseTargetFile(name, *text);
  for (size_t i = 0; i < result.patterns.size(); ++i) {
    const Pattern& pattern = result.patterns[i];
    if (const absl::Status status = CheckDelay(pattern); !status.ok()) {
      result.errors.push_back(
          {result.lines[i], Printable(pattern.text), std::string(ToStd(status.message()))});
    }
  }
  if (!result.errors.empty()) return Collect(TargetFileStatus(result), mistakes);
  for (const Pattern& pattern : result.patterns) AddPattern(pattern, selection);
}

}  // namespace

absl::StatusOr<v1::TargetSelection> BuildSelection(const SelectionFlags& flags) {
  v1::TargetSelection selection;
  Mistakes mistakes;
  for (const std::string& text : flags.targets) AddFlagPattern(text, &selection, &mistakes);
  if (!flags.targets_file.empty()) AddFile(flags.targets_file, &selection, &mistakes);
  for (const std::string& text : flags.excludes) AddExclude(text, &selection, &mistakes);
  selection.set_paths_only(flags.paths_only);
  if (!mistakes.empty()) return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
  return selection;
}

}  // namespace sbump
