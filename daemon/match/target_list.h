// What one session slows down: ordered patterns, less the excluded.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/match/code_name.h"
#include "daemon/match/pattern.h"
#include "daemon/match/pattern_index.h"

namespace sbump {

// Immutable once built; safe to use from several threads. Not to be copied: it indexes its own
// patterns.
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

  bool Excluded(const CodeName& name) const { return excludes_index_.FirstMatch(name).has_value(); }

  // False: no pattern takes any code of this file, whatever its qualname.
  bool AnyTakesModule(const CodeName& name) const { return patterns_index_.AnyTakesModule(name); }
  // False: only file names matter, dotted module names do not.
  bool AnyTakesDottedNames() const;

  const std::vector<Pattern>& patterns() const { return patterns_; }
  const std::vector<Pattern>& excludes() const { return excludes_; }
  bool paths_only() const { return paths_only_; }

 private:
  const std::vector<Pattern> patterns_;
  const std::vector<Pattern> excludes_;
  const bool paths_only_;
  const PatternIndex patterns_index_, excludes_index_;
};

}  // namespace sbump
