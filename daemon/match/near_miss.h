// Why a pattern matched nothing, and what the user may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/match/code_name.h"
#include "daemon/match/pattern.h"

namespace sbump {

// The most code objects that are looked at; what comes after them in the inventory is not.
inline constexpr size_t kMaxNearMissInventory = 50'000;

// The texts hold what the target's memory held: control characters and lone surrogates are the
// writer's to escape.
struct NearMiss {
  std::string filename;
  std::string qualname;  // `*` where the pattern's own is `*`: then only the file is meant
  std::string reason;    // "differs in case only", ...
  size_t index;          // in the inventory

  // `filename:qualname`, for "did you mean ...".
  std::string Text() const;
};

struct NearMissReport {
  // One phrase: which part found nothing. "no loaded file matches the module part "*/vlm/*"".
  std::string why;
  // Best first; at most as many as were asked for, without repeats.
  std::vector<NearMiss> suggestions;
  // False where the inventory was longer than kMaxNearMissInventory.
  bool complete = true;
};

// For a `pattern` that has matched none of `inventory` (or only what excludes took away).
//
// Looks for: the same qualified name in another file, or in one whose name differs in case or in
// spelling or lacks only a leading `*`; in the files that do match, a qualified name that differs
// in case or spelling, a method of that name where the pattern names no class, a nested function
// where it lacks `<locals>`; a dotted name that `paths_only` turned off.
//
// Work is one pass: a fixed number of glob matches per code object (module parts once per run of
// objects from one file) and an edit distance bounded by edit_distance.h, only for names of nearly
// equal length. 50,000 objects take some tens of milliseconds per pattern; a caller with many such
// patterns should ask for the first few only.
NearMissReport ExplainNoMatch(const Pattern& pattern, std::span<const CodeName> inventory,
                              bool paths_only, size_t limit = 3);

}  // namespace sbump
