#include "daemon/match/target_list.h"

#include <algorithm>
#include <utility>

namespace sbump {

TargetList::TargetList(std::vector<Pattern> patterns, std::vector<Pattern> excludes,
                       bool paths_only)
    : patterns_(std::move(patterns)),
      excludes_(std::move(excludes)),
      paths_only_(paths_only),
      patterns_index_(patterns_, paths_only),
      excludes_index_(excludes_, paths_only) {}

std::optional<size_t> TargetList::FirstMatch(const CodeName& name) const {
  const std::optional<size_t> first = patterns_index_.FirstMatch(name);
  // Excludes last: most code objects match no pattern, and need no second look.
  if (!first || !Excluded(name)) return first;
  const std::vector<size_t> exempt = AllMatches(name);
  if (exempt.empty()) return std::nullopt;
  return exempt.front();
}

std::vector<size_t> TargetList::AllMatches(const CodeName& name) const {
  std::vector<size_t> matches = patterns_index_.AllMatches(name);
  if (!matches.empty() && Excluded(name))
    std::erase_if(matches, [&](size_t i) { return !patterns_[i].is_exempt; });
  return matches;
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

}  // namespace sbump
