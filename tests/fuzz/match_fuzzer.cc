// libFuzzer over everything that reads text in daemon/match: globs, durations, target files. Aborts
// where an invariant breaks. The first byte picks what the rest is read as.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/utf8.h"
#include "daemon/match/duration.h"
#include "daemon/match/glob.h"
#include "daemon/match/near_miss.h"
#include "daemon/match/target_file.h"
#include "daemon/match/target_list.h"
#include "tests/fuzz/one_of.h"
#include "tests/fuzz/require.h"

namespace {

using sbump::Glob;
using sbump::Require;

// Pattern and text are parted by the first newline.
void FuzzGlob(std::string_view input) {
  const size_t split = std::min(input.find('\n'), input.size());
  const std::string pattern(input.substr(0, split));
  const std::string text(input.substr(std::min(split + 1, input.size())));
  const absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  Require(glob.ok() == sbump::DecodeAll(pattern).has_value());
  if (!glob.ok()) return;
  const bool matches = glob->Matches(text);
  Require(!glob->MatchesEverything() || matches);
  Require(!glob->IsLiteral() || matches == (pattern == text));
  if (!matches) return;
  Require(Glob::Compile("*" + pattern)->Matches(text));
  Require(Glob::Compile("*" + pattern)->Matches("x" + text));
  // Behind an open bracket a star may end up inside a set.
  if (pattern.find('[') != std::string::npos) return;
  Require(Glob::Compile(pattern + "*")->Matches(text));
  Require(Glob::Compile(pattern + "*")->Matches(text + "\n"));
  Require(Glob::Compile(pattern + "?")->Matches(text + "x"));
}

void FuzzDuration(std::string_view input) {
  const absl::StatusOr<uint64_t> ns = sbump::ParseDuration(input);
  if (ns.ok()) Require(sbump::ParseDuration(sbump::FormatDuration(*ns)).value() == *ns);
  uint64_t number = 0;
  for (const char c : input.substr(0, 8)) number = number << 8 | static_cast<unsigned char>(c);
  Require(sbump::ParseDuration(sbump::FormatDuration(number)).value() == number);
}

void FuzzPatterns(std::vector<sbump::Pattern> patterns, const std::string& text) {
  const std::vector<std::string> modules = {text};
  const sbump::CodeName code{text, modules, text};
  for (const sbump::Pattern& pattern : patterns) {
    const absl::StatusOr<sbump::Pattern> again = sbump::ParsePattern(pattern.text);
    Require(again.ok() && again->text == pattern.text);
    Require(again->module.pattern() == pattern.module.pattern());
    Require(again->qualname.pattern() == pattern.qualname.pattern());
    Require(again->delay_ns == pattern.delay_ns && again->every == pattern.every);
    const sbump::NearMissReport report =
        sbump::ExplainNoMatch(pattern, std::span(&code, 1), false, 2);
    Require(report.suggestions.size() <= 1 && !report.why.empty());
  }
  const sbump::TargetList list(std::move(patterns), {}, false);
  const std::vector<size_t> all = list.AllMatches(code);
  const std::optional<size_t> first = list.FirstMatch(code);
  Require(first.has_value() == !all.empty());
  Require(!first.has_value() || *first == all.front());
}

void FuzzTargetFile(std::string_view input) {
  sbump::TargetFileResult result = sbump::ParseTargetFile("f", input);
  Require(result.patterns.size() == result.lines.size());
  Require(!result.patterns.empty() || !result.errors.empty());
  const absl::Status status = sbump::TargetFileStatus(result);
  Require(status.ok() == result.errors.empty());
  Require(status.ok() ||
          sbump::IsStrictUtf8(std::string_view(status.message().data(), status.message().size())));
  FuzzPatterns(std::move(result.patterns), std::string(input.substr(0, input.size() / 2)));
}

constexpr sbump::Trial kTrials[] = {FuzzGlob, FuzzDuration, FuzzTargetFile};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sbump::TryOneOf(kTrials, data, size);
}
