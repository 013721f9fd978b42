#include "daemon/match/pattern_index.h"

#include <algorithm>
#include <string>

namespace sbump {
namespace {

// It takes its own text and nothing else.
bool IsPlain(const Glob& glob) { return glob.pattern().find_first_of("*?[") == std::string::npos; }

}  // namespace

PatternIndex::PatternIndex(const std::vector<Pattern>& patterns, bool paths_only)
    : patterns_(patterns), paths_only_(paths_only) {
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    const std::string& module = pattern.module.pattern();
    Group& group = IsPlain(pattern.module) ? plain_groups_[module] : glob_groups_[module].group;
    if (!IsPlain(pattern.module)) glob_groups_[module].module = &pattern.module;
    if (IsPlain(pattern.qualname)) {
      group.by_qualname[pattern.qualname.pattern()].push_back(i);
    } else {
      group.others.push_back(i);
    }
  }
}

std::vector<const PatternIndex::Group*> PatternIndex::GroupsOf(const CodeName& name) const {
  std::vector<std::string_view> modules = {name.filename};
  if (!paths_only_) {
    modules.insert(modules.end(), name.module_names.begin(), name.module_names.end());
  }
  std::vector<const Group*> groups;
  for (std::string_view module : modules) {
    const auto found = plain_groups_.find(module);
    if (found != plain_groups_.end()) groups.push_back(&found->second);
  }
  for (const auto& [text, entry] : glob_groups_) {
    const Glob& glob = *entry.module;
    if (std::any_of(modules.begin(), modules.end(),
                    [&](std::string_view module) { return glob.Matches(module); })) {
      groups.push_back(&entry.group);
    }
  }
  return groups;
}

std::optional<size_t> PatternIndex::FirstMatch(const CodeName& name) const {
  std::optional<size_t> first;
  const auto take = [&](size_t i) {
    if (!first || i < *first) first = i;
  };
  for (const Group* group : GroupsOf(name)) {
    if (const auto found = group->by_qualname.find(name.qualname);
        found != group->by_qualname.end()) {
      take(found->second.front());
    }
    for (size_t i : group->others) {
      if (first && *first < i) break;
      if (patterns_[i].qualname.Matches(name.qualname)) take(i);
    }
  }
  return first;
}

std::vector<size_t> PatternIndex::AllMatches(const CodeName& name) const {
  std::vector<size_t> matches;
  for (const Group* group : GroupsOf(name)) {
    if (const auto found = group->by_qualname.find(name.qualname);
        found != group->by_qualname.end()) {
      matches.insert(matches.end(), found->second.begin(), found->second.end());
    }
    for (size_t i : group->others) {
      if (patterns_[i].qualname.Matches(name.qualname)) matches.push_back(i);
    }
  }
  // A file and its dotted name may lead to the same group.
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  return matches;
}

}  // namespace sbump
