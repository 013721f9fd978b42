// What one session slows down: ordered patterns, less the excluded.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/match/code_name.h"
#include "daemon/match/pattern.h"

namespace sbump {

// Immutable once built; safe to use from several threads. Not to be copied: it indexes its own
// patterns. Patterns without globs cost one lookup together, however many there are.
class TargetList {
 public:
  // With `paths_only`, module parts (of excludes as well) take file names only.
  TargetList(std::vector<Pattern> patterns, std::vector<Pattern> excludes, bool paths_only);
  TargetList(const TargetList&) = delete;
  TargetList& operator=(const TargetList&) = delete;

  // The first pattern that takes the code object: it owns the row, and its overrides count.
  // nullopt where none does. Where an exclude does, only exempt ones count.
  std::optional<size_t> FirstMatch(const CodeName& name) const;

  // Every pattern that takes it, in order: each of them counts as matched. Of what an exclude takes
  // those that are exempt.
  std::vector<size_t> AllMatches(const CodeName& name) const;

  bool Excluded(const CodeName& name) const;

  // False: no pattern takes any code of this file, whatever its qualname.
  bool AnyTakesModule(const CodeName& name) const;
  // False: only file names matter, dotted module names do not.
  bool AnyTakesDottedNames() const;

  const std::vector<Pattern>& patterns() const { return patterns_; }
  const std::vector<Pattern>& excludes() const { return excludes_; }
  bool paths_only() const { return paths_only_; }

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

  const std::vector<Pattern> patterns_;
  const std::vector<Pattern> excludes_;
  const bool paths_only_;
  // By the text of the module part.
  std::unordered_map<std::string_view, Group> plain_groups_;
  std::unordered_map<std::string_view, GlobGroup> glob_groups_;
};

}  // namespace sbump
