#include "daemon/match/target_list.h"

#include <algorithm>
#include <utility>

namespace sbump {
namespace {

// It takes its own text and nothing else.
bool IsPlain(const Glob& glob) { return glob.pattern().find_first_of("*?[") == std::string::npos; }

}  // namespace

TargetList::TargetList(std::vector<Pattern> patterns, std::vector<Pattern> excludes,
                       bool paths_only)
    : patterns_(std::move(patterns)), excludes_(std::move(excludes)), paths_only_(paths_only) {
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

std::vector<const TargetList::Group*> TargetList::GroupsOf(const CodeName& name) const {
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

std::optional<size_t> TargetList::FirstMatch(const CodeName& name) const {
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
  // Excludes last: most code objects match no pattern, and need no second look.
  if (!first || !Excluded(name)) return first;
  const std::vector<size_t> exempt = AllMatches(name);
  if (exempt.empty()) return std::nullopt;
  return exempt.front();
}

std::vector<size_t> TargetList::AllMatches(const CodeName& name) const {
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
  if (!matches.empty() && Excluded(name))
    std::erase_if(matches, [&](size_t i) { return !patterns_[i].is_exempt; });
  return matches;
}

bool TargetList::AnyTakesModule(const CodeName& name) const { return !GroupsOf(name).empty(); }

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
