#include "daemon/match/module_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr std::string_view kRegexPrefix = "re:";
constexpr std::string_view kTypePrefix = "type:";

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("module pattern \"", text, "\": ", why));
}

}  // namespace

bool TakesType(const Glob& glob, std::string_view full_name) {
  const size_t dot = full_name.rfind('.');
  return glob.Matches(full_name) ||
         (dot != full_name.npos && glob.Matches(full_name.substr(dot + 1)));
}

absl::StatusOr<ModulePattern> ModulePattern::CompileRegex(std::string_view text) {
  RE2::Options options;
  options.set_log_errors(false);
  const std::string_view expression = text.substr(kRegexPrefix.size());
  auto regex =
      std::make_shared<const RE2>(re2::StringPiece(expression.data(), expression.size()), options);
  if (!regex->ok()) return Bad(text, StrCat("no regular expression: ", regex->error()));
  return ModulePattern(std::string(text), Regex(std::move(regex)));
}

absl::StatusOr<ModulePattern> ModulePattern::Compile(std::string_view text) {
  if (text.empty()) return Bad(text, "it is empty");
  if (text.size() > kLongestText)
    return Bad(text.substr(0, 40), StrCat("it has more than ", kLongestText, " bytes"));
  if (text.starts_with(kRegexPrefix)) return CompileRegex(text);
  const bool is_type = text.starts_with(kTypePrefix);
  const std::string_view what = is_type ? text.substr(kTypePrefix.size()) : text;
  if (what.empty()) return Bad(text, "the type is missing");
  absl::StatusOr<Glob> glob = Glob::Compile(what);
  if (!glob.ok()) return Bad(text, ToStd(glob.status().message()));
  if (is_type) return ModulePattern(std::string(text), Type{*std::move(glob)});
  return ModulePattern(std::string(text), Path{*std::move(glob)});
}

absl::StatusOr<ModuleTarget> ParseModuleTarget(std::string_view text) {
  SB_RETURN_IF_ERROR(CheckPatternText(text));
  SB_ASSIGN_OR_RETURN(const Overrides overrides, TakeOverrides(&text));
  SB_ASSIGN_OR_RETURN(ModulePattern pattern, ModulePattern::Compile(StripPythonSpace(text)));
  std::string normalised = StrCat(pattern.text(), TextOf(overrides));
  return ModuleTarget{std::move(pattern), overrides, std::move(normalised)};
}

bool ModulePattern::Matches(std::string_view path, const std::vector<std::string>& types) const {
  if (const auto* by_path = std::get_if<Path>(&how_)) return by_path->glob.Matches(path);
  if (const auto* by_type = std::get_if<Type>(&how_)) {
    return std::ranges::any_of(
        types, [&](const std::string& type) { return TakesType(by_type->glob, type); });
  }
  const RE2& regex = *std::get<Regex>(how_);
  return regex.Match(re2::StringPiece(path.data(), path.size()), 0, path.size(), RE2::ANCHOR_START,
                     nullptr, 0);
}

}  // namespace sbump
