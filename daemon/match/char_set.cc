#include "daemon/match/char_set.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sbump {
namespace {

using Chunks = std::vector<std::u32string>;

// One character of the regular expression's set that fnmatch would write.
struct SetToken {
  char32_t value;
  bool range_hyphen;  // the one hyphen that fnmatch leaves unescaped
};

// Cuts at each hyphen that makes a range: "a-cx-z" gives "a", "cx", "z". The first chunk has at
// least one character (two after `!`), a middle one at least two, the last at least one.
Chunks CutAtRanges(std::u32string_view between) {
  Chunks chunks;
  size_t begin = 0;
  size_t from = between[0] == U'!' ? 2 : 1;
  for (size_t hyphen; (hyphen = between.find(U'-', from)) != between.npos; from = hyphen + 3) {
    chunks.emplace_back(between.substr(begin, hyphen - begin));
    begin = hyphen + 1;
  }
  if (begin < between.size()) {
    chunks.emplace_back(between.substr(begin));
  } else {
    chunks.back() += U'-';  // a last hyphen is itself
  }
  return chunks;
}

// From the end, as CPython does it: where the range between two chunks is empty, its two ends go
// and the chunks become one.
void DropEmptyRanges(Chunks* chunks) {
  for (size_t i = chunks->size() - 1; i > 0; --i) {
    std::u32string& left = (*chunks)[i - 1];
    const std::u32string& right = (*chunks)[i];
    if (left.back() <= right.front()) continue;
    left.pop_back();
    left += right.substr(1);
    chunks->erase(chunks->begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<SetToken> Join(const Chunks& chunks) {
  std::vector<SetToken> tokens;
  for (const std::u32string& chunk : chunks) {
    if (&chunk != &chunks.front()) tokens.push_back({U'-', true});
    for (char32_t value : chunk) tokens.push_back({value, false});
  }
  return tokens;
}

}  // namespace

CharSet CharSet::Any() { return CharSet(true, {}); }

CharSet CharSet::FromBracket(std::u32string_view between) {
  Chunks chunks = CutAtRanges(between);
  DropEmptyRanges(&chunks);
  const std::vector<SetToken> tokens = Join(chunks);

  // From here on as CPython's re reads a set. Negation is decided only now, so in `[z-a!b]` the `!`
  // negates, and in `[z-a!-b]` the hyphen after it is itself.
  size_t i = 0;
  const bool negated = !tokens.empty() && tokens[0].value == U'!';
  if (negated) ++i;
  std::vector<Range> ranges;
  while (i < tokens.size()) {
    const char32_t first = tokens[i].value;
    if (i + 2 < tokens.size() && tokens[i + 1].range_hyphen) {
      ranges.push_back({first, tokens[i + 2].value});
      i += 3;
    } else {
      ranges.push_back({first, first});
      i += 1;
    }
  }
  return CharSet(negated, std::move(ranges));
}

CharSet::CharSet(bool negated, std::vector<Range> ranges) : negated_(negated) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool CharSet::Contains(char32_t value) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), value,
                       [](char32_t wanted, const Range& range) { return wanted < range.first; });
  const bool in = after != ranges_.begin() && value <= std::prev(after)->last;
  return in != negated_;
}

}  // namespace sbump
