#include "daemon/match/glob.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Where the bracket that opens just before `pos` closes, or npos. A `]` that comes first, or first
// after `!`, does not close it.
size_t ClosingBracket(std::u32string_view pattern, size_t pos) {
  if (pos < pattern.size() && pattern[pos] == U'!') ++pos;
  if (pos < pattern.size() && pattern[pos] == U']') ++pos;
  return pattern.find(U']', pos);
}

// The first place of `wanted` in text at or after `pos`, or npos. memmem because glibc's is linear
// in the worst case, and string_view::find is not.
size_t FindPlain(std::string_view text, size_t pos, std::string_view wanted) {
  if (wanted.empty()) return pos;
  const void* hit = memmem(text.data() + pos, text.size() - pos, wanted.data(), wanted.size());
  if (hit == nullptr) return kNone;
  return static_cast<size_t>(static_cast<const char*>(hit) - text.data());
}

const std::string kEmpty;

}  // namespace

const std::string* Glob::Segment::Plain() const {
  if (items.empty()) return &kEmpty;
  return items.size() == 1 ? std::get_if<std::string>(&items.front()) : nullptr;
}

void Glob::Segment::Add(char32_t value) {
  if (items.empty() || !std::holds_alternative<std::string>(items.back())) {
    items.emplace_back(std::string());
  }
  AppendCodePoint(value, &std::get<std::string>(items.back()));
  ++code_points;
}

void Glob::Segment::Add(CharSet set) {
  items.emplace_back(std::move(set));
  ++code_points;
}

absl::StatusOr<Glob> Glob::Compile(std::string_view pattern) {
  const std::optional<std::u32string> decoded = DecodeAll(pattern);
  if (!decoded.has_value()) return absl::InvalidArgumentError("the pattern is not UTF-8");
  const std::u32string_view text = *decoded;

  Glob glob;
  glob.pattern_ = std::string(pattern);
  glob.segments_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    Segment& segment = glob.segments_.back();
    if (text[i] == U'*') {
      const bool after_star = glob.segments_.size() > 1 && segment.code_points == 0;
      if (!after_star) glob.segments_.emplace_back();
    } else if (text[i] == U'?') {
      segment.Add(CharSet::Any());
    } else if (size_t end; text[i] == U'[' && (end = ClosingBracket(text, i + 1)) != kNone) {
      segment.Add(CharSet::FromBracket(text.substr(i + 1, end - i - 1)));
      i = end;
    } else {
      segment.Add(text[i]);
    }
  }
  return glob;
}

bool Glob::MatchesEverything() const {
  return segments_.size() == 2 && segments_[0].items.empty() && segments_[1].items.empty();
}

bool Glob::IsLiteral() const {
  return segments_.size() == 1 && segments_.front().Plain() != nullptr;
}

// Where `segment` ends when it is laid on the text at `pos`; npos where it does not fit.
size_t Glob::MatchAt(const Segment& segment, std::string_view text, size_t pos) {
  for (const Item& item : segment.items) {
    if (const std::string* plain = std::get_if<std::string>(&item)) {
      if (text.compare(pos, plain->size(), *plain) != 0) return kNone;
      pos += plain->size();
    } else {
      if (pos >= text.size()) return kNone;
      const CodePoint next = DecodeAt(text, pos);
      if (!std::get<CharSet>(item).Contains(next.value)) return kNone;
      pos += next.bytes;
    }
  }
  return pos;
}

// Where the leftmost fit at or after `pos` ends. Leftmost is enough: what follows a star can only
// gain by more room, so no earlier choice is ever taken back.
size_t Glob::FindAfter(const Segment& segment, std::string_view text, size_t pos) {
  if (const std::string* plain = segment.Plain()) {
    const size_t at = FindPlain(text, pos, *plain);
    return at == kNone ? kNone : at + plain->size();
  }
  const std::string* head = std::get_if<std::string>(&segment.items.front());
  while (pos < text.size()) {
    if (head != nullptr && (pos = FindPlain(text, pos, *head)) == kNone) return kNone;
    if (const size_t end = MatchAt(segment, text, pos); end != kNone) return end;
    pos += DecodeAt(text, pos).bytes;
  }
  return kNone;
}

// Where the last segment has to start so that it ends where the text ends.
size_t Glob::TailStart(const Segment& segment, std::string_view text) {
  if (const std::string* plain = segment.Plain()) {
    return plain->size() <= text.size() ? text.size() - plain->size() : kNone;
  }
  size_t pos = text.size();
  for (size_t i = 0; i < segment.code_points; ++i) {
    if (pos == 0) return kNone;
    pos = PreviousStart(text, pos);
  }
  return pos;
}

bool Glob::Matches(std::string_view text) const {
  size_t pos = MatchAt(segments_.front(), text, 0);
  if (pos == kNone) return false;
  if (segments_.size() == 1) return pos == text.size();

  const size_t tail = TailStart(segments_.back(), text);
  if (tail == kNone || tail < pos) return false;
  if (MatchAt(segments_.back(), text, tail) != text.size()) return false;

  const std::string_view middle = text.substr(0, tail);
  for (size_t i = 1; i + 1 < segments_.size(); ++i) {
    pos = FindAfter(segments_[i], middle, pos);
    if (pos == kNone) return false;
  }
  return true;
}

}  // namespace sbump
