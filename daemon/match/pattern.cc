#include "daemon/match/pattern.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"
#include "daemon/match/overrides.h"

namespace sbump {
namespace {

std::string NormalText(std::string_view module, std::string_view qualname, const Overrides& over) {
  return StrCat(module, ":", qualname, TextOf(over));
}

absl::Status CheckSides(std::string_view module, std::string_view qualname) {
  if (module.empty()) {
    return absl::InvalidArgumentError("nothing before the ':'; write * there for any module");
  }
  if (qualname.empty()) {
    return absl::InvalidArgumentError("nothing after the ':'; write * there for any function");
  }
  return absl::OkStatus();
}

}  // namespace

bool Pattern::MatchesModule(const CodeName& name, bool paths_only) const {
  if (module.Matches(name.filename)) return true;
  return !paths_only &&
         std::any_of(name.module_names.begin(), name.module_names.end(),
                     [this](const std::string& dotted) { return module.Matches(dotted); });
}

bool Pattern::Matches(const CodeName& name, bool paths_only) const {
  return qualname.Matches(name.qualname) && MatchesModule(name, paths_only);
}

absl::StatusOr<Pattern> ParsePattern(std::string_view line) {
  SB_RETURN_IF_ERROR(CheckPatternText(line));
  const size_t colon = line.find(':');
  if (colon == line.npos) {
    return absl::InvalidArgumentError(
        "no ':'; write MODULE:QUALIFIED_NAME, for example *:ModelRunner.*");
  }
  const std::string_view module = StripPythonSpace(line.substr(0, colon));
  std::string_view qualname = line.substr(colon + 1);
  SB_ASSIGN_OR_RETURN(const Overrides overrides, TakeOverrides(&qualname));
  qualname = StripPythonSpace(qualname);
  SB_RETURN_IF_ERROR(CheckSides(module, qualname));
  SB_ASSIGN_OR_RETURN(Glob module_glob, Glob::Compile(module));
  SB_ASSIGN_OR_RETURN(Glob qualname_glob, Glob::Compile(qualname));
  return Pattern{NormalText(module, qualname, overrides), std::move(module_glob),
                 std::move(qualname_glob), overrides.delay_ns, overrides.every};
}

absl::StatusOr<Pattern> ParseExclude(std::string_view line) {
  SB_ASSIGN_OR_RETURN(Pattern pattern, ParsePattern(line));
  if (pattern.delay_ns.has_value() || pattern.every.has_value()) {
    return absl::InvalidArgumentError("an exclude pattern takes no overrides");
  }
  return pattern;
}

}  // namespace sbump
