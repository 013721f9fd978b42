// One place of a glob that takes one character: `?`, or what stands between `[` and `]`.
//
// The bracket's meaning is that of fnmatch.translate() in CPython 3.10 to 3.13, which turns it into
// a regular expression's set; see char_set.cc for the steps. What that means in practice:
//   - `!` first negates; `^` and `\` are ordinary characters; so are `&`, `~`, `|` and `[`.
//   - `a-z` is a range by code point. A hyphen first, last, or right after a range is itself.
//   - An empty range such as `z-a` is dropped, with both its ends. A set left with nothing takes no
//     character; a negated one takes any. CPython 3.8 and 3.9 raise re.error for it instead.
#pragma once

#include <string_view>
#include <vector>

namespace sbump {

class CharSet {
 public:
  // `?`: any character, newline and `/` as well.
  static CharSet Any();
  // `between` is what stands between the brackets; not empty.
  static CharSet FromBracket(std::u32string_view between);

  bool Contains(char32_t value) const;

 private:
  struct Range {
    char32_t first;
    char32_t last;  // inclusive
  };

  CharSet(bool negated, std::vector<Range> ranges);

  bool negated_;
  std::vector<Range> ranges_;  // sorted, apart from each other
};

}  // namespace sbump
