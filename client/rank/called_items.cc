#include "client/rank/called_items.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// ---- Names ----

// "pkg.sub.mod"; of a package's own file "pkg.sub.__init__", as its name is the package's.
std::string ModuleName(const v1::TargetStats& row) {
  if (row.module_names().empty()) return row.filename();
  const std::string& name = row.module_names(0);
  return row.filename().ends_with("/__init__.py") ? name + ".__init__" : name;
}

// The end of a long one, as that is what tells functions apart: the daemon takes no longer names,
// and "7 others of NAME" is one, too.
std::string ShortName(const std::string& name) {
  constexpr size_t kMost = 120;
  if (name.size() <= kMost) return name;
  size_t begin = name.size() - kMost;
  while (begin < name.size() && (name[begin] & 0xC0) == 0x80) ++begin;  // within a UTF-8 character
  return "..." + name.substr(begin);
}

// Each beginning of "a.b.c" that ends before a dot: "a", "a.b".
std::vector<std::string> Prefixes(const std::string& dotted) {
  std::vector<std::string> prefixes;
  for (size_t dot = dotted.find('.'); dot != std::string::npos; dot = dotted.find('.', dot + 1))
    prefixes.push_back(dotted.substr(0, dot));
  return prefixes;
}

// ---- Items ----

// The first colon of a pattern ends its file.
std::string FileGlob(const std::string& filename) {
  std::string glob = LiteralGlob(filename);
  std::ranges::replace(glob, ':', '?');
  return glob;
}

CalledItem CodeItem(const v1::TargetStats& row) {
  CalledItem item;
  const std::string module = ModuleName(row), file = FileGlob(row.filename());
  if (!row.module_names().empty()) {
    for (const std::string& package : Prefixes(module))
      item.steps.push_back({.name = package, .level = GroupLevel::kPackage});
  }
  item.steps.push_back({module, GroupLevel::kModule, {StrCat(file, ":*")}});
  // What is defined within a function is of that function's class.
  for (const std::string& of_class :
       Prefixes(row.qualname().substr(0, row.qualname().find(".<locals>"))))
    item.steps.push_back({StrCat(module, ":", of_class),
                          GroupLevel::kClass,
                          {StrCat(file, ":", LiteralGlob(of_class), ".*")}});
  item.steps.push_back({StrCat(module, ":", row.qualname()),
                        GroupLevel::kFunction,
                        {StrCat(file, ":", LiteralGlob(row.qualname()))}});
  return item;
}

CalledItem ModuleItem(const v1::TargetStats& row, const std::set<std::string>& with_parts) {
  const std::string& path = row.qualname();
  CalledItem item;
  std::vector<std::string> paths = Prefixes(path);
  paths.push_back(path);
  for (const std::string& step : paths) {
    std::vector<std::string> patterns = {LiteralGlob(step)};
    // Of others it would match nothing, which the daemon warns of.
    if (with_parts.contains(step)) patterns.push_back(StrCat(LiteralGlob(step), ".*"));
    item.steps.push_back({step, GroupLevel::kModelModule, std::move(patterns)});
  }
  return item;
}

// By name and file: the same function in several processes, code objects or lines is one.
using Calls = std::map<std::pair<std::string, std::string>, CalledItem>;

void Count(const v1::TargetStats& row, const std::pair<std::string, std::string>& name,
           const std::function<CalledItem(const v1::TargetStats& row)>& make, Calls& calls) {
  const auto [item, is_new] = calls.try_emplace(name);
  if (is_new) {
    item->second = make(row);
    item->second.found_by = row.pattern();
  }
  item->second.calls += row.calls();
}

void Narrow(CalledItem& item) {
  for (size_t i = 0; i + 1 < item.steps.size(); ++i) item.steps[i].patterns.clear();
  item.steps.back().patterns.resize(1);
}

std::vector<CalledItem> Listed(Calls calls, Width width) {
  std::vector<CalledItem> items;
  for (auto& [name, item] : calls) {
    for (ItemStep& step : item.steps) step.name = ShortName(step.name);
    if (width == Width::kCalled) Narrow(item);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::string LiteralGlob(std::string_view text) {
  std::string glob;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[')
      glob += StrCat("[", std::string(1, c), "]");
    else
      glob += c;
  }
  return glob;
}

std::vector<CalledItem> CodeItems(const google::protobuf::RepeatedPtrField<v1::TargetStats>& rows,
                                  Width width) {
  Calls calls;
  for (const v1::TargetStats& row : rows) {
    if (row.calls() == 0 || row.has_native() || !row.module_type().empty()) continue;
    Count(row, {row.filename(), row.qualname()}, CodeItem, calls);
  }
  return Listed(std::move(calls), width);
}

std::vector<CalledItem> ModuleItems(const google::protobuf::RepeatedPtrField<v1::TargetStats>& rows,
                                    Width width) {
  std::set<std::string> with_parts;
  for (const v1::TargetStats& row : rows) {
    if (row.module_type().empty()) continue;
    for (std::string& path : Prefixes(row.qualname())) with_parts.insert(std::move(path));
  }
  const auto make = [&](const v1::TargetStats& row) { return ModuleItem(row, with_parts); };
  Calls calls;
  for (const v1::TargetStats& row : rows) {
    if (row.calls() == 0 || row.module_type().empty()) continue;
    Count(row, {row.qualname(), ""}, make, calls);
  }
  return Listed(std::move(calls), width);
}

std::vector<std::string> PutIntoGroups(const std::vector<NamedGroup>& groups,
                                       std::vector<CalledItem>& items) {
  std::map<std::string_view, const NamedGroup*> by_pattern;
  std::map<std::string, std::set<const NamedGroup*>> users;  // of a name
  for (const NamedGroup& group : groups) {
    for (const std::string& pattern : group.patterns) by_pattern.emplace(pattern, &group);
    users[group.name] = {nullptr, &group};  // its own
  }
  std::set<const NamedGroup*> empty;
  for (const NamedGroup& group : groups) empty.insert(&group);
  for (const CalledItem& item : items) {
    const auto group = by_pattern.find(item.found_by);
    if (group == by_pattern.end()) continue;
    empty.erase(group->second);
    for (const ItemStep& step : item.steps) users[step.name].insert(group->second);
  }
  for (CalledItem& item : items) {
    const auto group = by_pattern.find(item.found_by);
    if (group == by_pattern.end()) continue;
    const std::string& name = group->second->name;
    for (ItemStep& step : item.steps)
      if (users[step.name].size() > 1) step.name = ShortName(StrCat(step.name, " of ", name));
    item.steps.insert(item.steps.begin(),
                      ItemStep{.name = name, .level = GroupLevel::kNamed, .patterns = {}});
  }
  std::vector<std::string> names;
  for (const NamedGroup& group : groups)
    if (empty.contains(&group)) names.push_back(group.name);
  return names;
}

}  // namespace sbump
