// A shell glob over a whole string, equal to CPython's fnmatch.fnmatchcase(string, pattern).
//
//   *      any run of characters, also none; newlines, `/` and `.` are characters like others
//   ?      any one character
//   [seq]  one character of a set, [!seq] one outside it: see char_set.h
//
// There is no escape: `[*]` is a literal `*`, and a `[` that no `]` closes is a literal `[`. Case
// counts. Both pattern and string are generalised UTF-8 (utf8.h) and are matched by code point, so
// every str that CPython can hold has its answer.
//
// CPython 3.10 to 3.13 are the definition. 3.8 and 3.9 differ in one thing: they raise re.error on
// a bracket with an empty range (`[b-a]`), where the later ones drop the range.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/match/char_set.h"

namespace sbump {

// Immutable, copyable, safe to use from several threads.
class Glob {
 public:
  // kInvalidArgument only where `pattern` is not generalised UTF-8: any other text is a glob.
  static absl::StatusOr<Glob> Compile(std::string_view pattern);

  // Allocates nothing. Time: at most pattern size times text size, without exponential cases;
  // linear where each part between two stars is plain text.
  bool Matches(std::string_view text) const;

  const std::string& pattern() const { return pattern_; }
  // True for `*` (and `**`): the pattern takes every string.
  bool MatchesEverything() const;
  // True where no `*`, `?` or set is in it: it takes exactly one string.
  bool IsLiteral() const;

 private:
  using Item = std::variant<std::string, CharSet>;  // plain text, or one character of a set

  // What stands between two stars, or before the first, or after the last.
  struct Segment {
    std::vector<Item> items;
    size_t code_points = 0;  // how many it takes

    // The text of a segment that is plain or empty; nullptr where it has sets.
    const std::string* Plain() const;
    void Add(char32_t value);
    void Add(CharSet set);
  };

  Glob() = default;
  static size_t MatchAt(const Segment& segment, std::string_view text, size_t pos);
  static size_t FindAfter(const Segment& segment, std::string_view text, size_t pos);
  static size_t TailStart(const Segment& segment, std::string_view text);

  std::string pattern_;
  std::vector<Segment> segments_;  // one more than there are stars; neighbouring stars are one
};

}  // namespace sbump
