// A targets file: patterns one a line (pattern.h), comments, blank lines. Text in; who reads the
// file, and from where, is the caller's business.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "daemon/match/pattern.h"

namespace sbump {

inline constexpr size_t kMaxTargetFileBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxTargetPatterns = 100'000;

struct LineError {
  size_t line;       // from 1; 0 where the whole file is meant
  std::string text;  // the line, escaped for a terminal and cut to a readable length
  std::string why;
};

struct TargetFileResult {
  std::string name;               // the file's, as the user gave it
  std::vector<Pattern> patterns;  // in file order; to be used only where `errors` is empty
  std::vector<size_t> lines;      // lines[i]: where patterns[i] stands, from 1
  std::vector<LineError> errors;  // every bad line, in file order
};

// Blank lines and lines whose first character after white space is `#` are skipped. A line ends at
// LF, CRLF or CR, as in Python's text files; one byte order mark at the start is skipped.
//
// Errors: a line that is no pattern, longer than kMaxPatternBytes, with a NUL byte or not UTF-8
// (comments too); a file above the two limits, or without any pattern.
TargetFileResult ParseTargetFile(std::string_view name, std::string_view text);

// OK, or kInvalidArgument with one line per error: `targets.txt:3: "foo": no ':'; write ...`.
absl::Status TargetFileStatus(const TargetFileResult& result);

}  // namespace sbump
