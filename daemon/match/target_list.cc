#include "daemon/match/target_list.h"

#include <algorithm>
#include <utility>

namespace sbump {

TargetList::TargetList(std::vector<Pattern> patterns, std::vector<Pattern> excludes,
                       bool paths_only)
    : patterns_(std::move(patterns)), excludes_(std::move(excludes)), paths_only_(paths_only) {}

std::optional<size_t> TargetList::FirstMatch(const CodeName& name) const {
  const auto first = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
    return pattern.Matches(name, paths_only_);
  });
  // Excludes last: most code objects match no pattern, and need no second look.
  if (first == patterns_.end() || Excluded(name)) return std::nullopt;
  return static_cast<size_t>(first - patterns_.begin());
}

std::vector<size_t> TargetList::AllMatches(const CodeName& name) const {
  std::vector<size_t> matches;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].Matches(name, paths_only_)) matches.push_back(i);
  }
  if (!matches.empty() && Excluded(name)) matches.clear();
  return matches;
}

bool TargetList::AnyTakesModule(const CodeName& name) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
    return pattern.MatchesModule(name, paths_only_);
  });
}

bool TargetList::AnyTakesDottedNames() const {
  if (paths_only_) return false;
  // Dotted names hold no slash; in a set, a slash may be one of several characters.
  const auto takes_dotted = [](const Pattern& pattern) {
    const std::string& glob = pattern.module.pattern();
    return glob.find('/') == std::string::npos || glob.find('[') != std::string::npos;
  };
  return std::any_of(patterns_.begin(), patterns_.end(), takes_dotted) ||
         std::any_of(excludes_.begin(), excludes_.end(), takes_dotted);
}

bool TargetList::Excluded(const CodeName& name) const {
  return std::any_of(excludes_.begin(), excludes_.end(),
                     [&](const Pattern& exclude) { return exclude.Matches(name, paths_only_); });
}

}  // namespace sbump
