// A place in a JSON document: `stats.tokens[0].total`, `["a.b"].c`, `[3]`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace sbump {

inline constexpr size_t kDeepestJson = 32;

struct JsonPath {
  std::string text;
  // Keys of objects, indices of arrays; one at least, kDeepestJson at most.
  std::vector<std::variant<std::string, size_t>> steps;
};

// Keys are separated by dots; a key with a dot, a bracket or a quote in it is written in brackets
// and double quotes, with \" and \\ in there. kInvalidArgument.
absl::StatusOr<JsonPath> ParseJsonPath(std::string_view text);

// The number at `path` in `document`. Strings that look like numbers are none.
//   kDataLoss  no JSON, deeper than kDeepestJson, or what is there is no number
//   kNotFound  there is nothing; the message says how far the path leads, and what is there
absl::StatusOr<double> NumberAt(const JsonPath& path, std::string_view document);

}  // namespace sbump
