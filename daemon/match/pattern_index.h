// Which of many patterns take a code object.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/match/code_name.h"
#include "daemon/match/pattern.h"

namespace sbump {

// Immutable once built; safe to use from several threads. Patterns without globs cost one lookup
// together, however many there are.
class PatternIndex {
 public:
  // `patterns` outlive it and stay where they are.
  PatternIndex(const std::vector<Pattern>& patterns, bool paths_only);

  std::optional<size_t> FirstMatch(const CodeName& name) const;
  // In order, each once.
  std::vector<size_t> AllMatches(const CodeName& name) const;
  // False: none takes any code of this file, whatever its qualname.
  bool AnyTakesModule(const CodeName& name) const { return !GroupsOf(name).empty(); }

 private:
  // The patterns with one module part.
  struct Group {
    std::unordered_map<std::string_view, std::vector<size_t>> by_qualname;  // without globs
    std::vector<size_t> others;
  };

  struct GlobGroup {
    const Glob* module = nullptr;
    Group group;
  };

  // Of all patterns whose module part takes it.
  std::vector<const Group*> GroupsOf(const CodeName& name) const;

  const std::vector<Pattern>& patterns_;
  const bool paths_only_;
  // By the text of the module part.
  std::unordered_map<std::string_view, Group> plain_groups_;
  std::unordered_map<std::string_view, GlobGroup> glob_groups_;
};

}  // namespace sbump
