#include "daemon/process/proc_maps.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxMapsBytes = size_t{128} << 20;
constexpr std::string_view kDeletedSuffix = " (deleted)";
constexpr size_t kMaxQuotedBytes = 120;

// Takes one line apart from the left; after the first thing that does not fit, ok() stays false.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : rest_(line) {}

  uint64_t Number(int base) {
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    ok_ = ok_ && error == std::errc();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  void Expect(char wanted) { ok_ = Char() == wanted && ok_; }
  // One permission letter, or '-' for none.
  bool Flag(char letter) {
    const char c = Char();
    ok_ = ok_ && (c == letter || c == '-');
    return c == letter;
  }
  char Char() {
    if (rest_.empty()) {
      ok_ = false;
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  // What is left after the padding.
  std::string_view Tail() const {
    return rest_.substr(std::min(rest_.find_first_not_of(' '), rest_.size()));
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// The kernel writes a newline in a name as \012 and leaves every other byte alone.
std::string Unescape(std::string_view path) {
  std::string text;
  text.reserve(path.size());
  while (!path.empty()) {
    if (path.starts_with("\\012")) {
      text += '\n';
      path.remove_prefix(4);
    } else {
      text += path.front();
      path.remove_prefix(1);
    }
  }
  return text;
}

bool ParseLine(std::string_view line, Mapping& mapping) {
  LineParser parser(line);
  mapping.start.value = parser.Number(16);
  parser.Expect('-');
  mapping.end.value = parser.Number(16);
  parser.Require(mapping.start < mapping.end);
  parser.Expect(' ');
  mapping.readable = parser.Flag('r');
  mapping.writable = parser.Flag('w');
  mapping.executable = parser.Flag('x');
  const char sharing = parser.Char();
  parser.Require(sharing == 'p' || sharing == 's');
  parser.Expect(' ');
  mapping.file_offset = parser.Number(16);
  parser.Expect(' ');
  const uint64_t major = parser.Number(16);
  parser.Expect(':');
  const uint64_t minor = parser.Number(16);
  parser.Require(major <= UINT32_MAX && minor <= UINT32_MAX);
  mapping.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  parser.Expect(' ');
  mapping.inode = parser.Number(10);
  std::string_view path = parser.Tail();
  if (mapping.inode != 0 && path.ends_with(kDeletedSuffix)) {
    path.remove_suffix(kDeletedSuffix.size());
    mapping.deleted = true;
  }
  mapping.path = Unescape(path);
  return parser.ok();
}

absl::Status BadLine(size_t number, std::string_view line) {
  const std::string quoted(line.substr(0, kMaxQuotedBytes));
  return absl::DataLossError(
      absl::StrCat("maps line ", number, " does not parse: \"", absl::CEscape(quoted), "\""));
}

}  // namespace

absl::StatusOr<std::vector<Mapping>> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (mappings.size() == kMaxMappings) {
      return absl::ResourceExhaustedError(
          absl::StrCat("maps has more than ", kMaxMappings, " lines; sbump reads no more"));
    }
    if (Mapping mapping; ParseLine(line, mapping)) {
      mappings.push_back(std::move(mapping));
    } else {
      return BadLine(mappings.size() + 1, line);
    }
  }
  return mappings;
}

absl::StatusOr<std::vector<Mapping>> ReadMaps(const TargetProcess& process) {
  SB_ASSIGN_OR_RETURN(const std::string text, process.ReadProcFile("maps", kMaxMapsBytes));
  auto mappings = ParseMaps(text);
  if (!mappings.ok()) {
    return Annotate(mappings.status(), absl::StrCat("pid ", process.pid()));
  }
  if (mappings->empty()) {
    return absl::NotFoundError(
        absl::StrCat("pid ", process.pid(), ": has no memory (it has ended)"));
  }
  return mappings;
}

}  // namespace sbump
