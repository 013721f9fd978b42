#include "client/metric/json_path.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>

#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

namespace json = boost::json;

constexpr size_t kShownKeys = 8;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("JSON path \"", Printable(text.substr(0, 256)), "\": ",
                                           why, "; write for example stats.tokens[0].total"));
}

// Behind the opening quote up to behind the closing one. False: there is none.
bool TakeQuoted(std::string_view& rest, std::string& key) {
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\' && !rest.empty()) {
      key += rest.front();
      rest.remove_prefix(1);
    } else {
      key += c;
    }
  }
  return false;
}

// `rest` is behind the opening bracket, then behind the closing one. Empty: it was understood.
std::string_view TakeBracket(std::string_view& rest, JsonPath& path) {
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    std::string key;
    if (!TakeQuoted(rest, key)) return "a quote that is not closed";
    path.steps.emplace_back(std::move(key));
  } else {
    size_t index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (error != std::errc()) return "brackets hold an index from 0, or a key in double quotes";
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    path.steps.emplace_back(index);
  }
  if (!rest.starts_with(']')) return "a bracket that is not closed";
  rest.remove_prefix(1);
  return "";
}

}  // namespace

absl::StatusOr<JsonPath> ParseJsonPath(std::string_view text) {
  JsonPath path{.text = std::string(text), .steps = {}};
  std::string_view rest = text;
  while (!rest.empty()) {
    if (path.steps.size() == kDeepestJson)
      return Bad(text, StrCat("more than ", kDeepestJson, " steps"));
    if (rest.front() == '[') {
      rest.remove_prefix(1);
      if (const std::string_view why = TakeBracket(rest, path); !why.empty()) return Bad(text, why);
      continue;
    }
    if (!path.steps.empty()) {
      if (rest.front() != '.') return Bad(text, "a dot or a bracket follows a bracket");
      rest.remove_prefix(1);
    }
    const std::string_view key = rest.substr(0, rest.find_first_of(".["));
    if (key.empty()) return Bad(text, "an empty key");
    if (key.find_first_of("]\"") != key.npos)
      return Bad(text, "a key with a bracket or a quote in it is written [\"so\"]");
    path.steps.emplace_back(std::string(key));
    rest.remove_prefix(key.size());
  }
  if (path.steps.empty()) return Bad(text, "empty");
  return path;
}

namespace {

std::string KeysOf(const json::object& object) {
  std::string text;
  size_t shown = 0;
  for (const auto& item : object) {
    if (shown++ == kShownKeys) return text + ", ...";
    text +=
        StrCat(shown == 1 ? "" : ", ", Printable(ToStd({item.key().data(), item.key().size()})));
  }
  return text.empty() ? "none" : text;
}

std::string What(const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      return StrCat("an object (keys: ", KeysOf(value.get_object()), ")");
    case json::kind::array:
      return StrCat("an array of ", value.get_array().size());
    case json::kind::string:
      return "a string";
    case json::kind::bool_:
      return "true or false";
    case json::kind::null:
      return "null";
    default:
      return "a number";
  }
}

std::string TextOf(const std::variant<std::string, size_t>& step) {
  if (const auto* index = std::get_if<size_t>(&step)) return StrCat("[", *index, "]");
  return StrCat("\"", Printable(std::get<std::string>(step)), "\"");
}

// nullptr: there is none.
const json::value* Step(const json::value& value, const std::variant<std::string, size_t>& step) {
  if (const auto* index = std::get_if<size_t>(&step)) {
    const json::array* array = value.if_array();
    return array == nullptr || *index >= array->size() ? nullptr : &(*array)[*index];
  }
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(std::get<std::string>(step));
}

absl::StatusOr<json::value> Parse(std::string_view document) {
  json::parse_options options;
  options.max_depth = kDeepestJson;
  json::error_code failed;
  json::value value = json::parse({document.data(), document.size()}, failed, {}, options);
  if (!failed) return value;
  return absl::DataLossError(StrCat("the reply is not JSON (", failed.message(), "): it begins \"",
                                    Printable(document.substr(0, 60)), "\""));
}

}  // namespace

absl::StatusOr<double> NumberAt(const JsonPath& path, std::string_view document) {
  SB_ASSIGN_OR_RETURN(const json::value root, Parse(document));
  const json::value* at = &root;
  for (const auto& step : path.steps) {
    const json::value* next = Step(*at, step);
    if (next == nullptr) {
      return absl::NotFoundError(
          StrCat("the reply has no ", path.text, ": no ", TextOf(step), " in ", What(*at)));
    }
    at = next;
  }
  if (at->is_int64()) return static_cast<double>(at->get_int64());
  if (at->is_uint64()) return static_cast<double>(at->get_uint64());
  if (at->is_double()) {
    if (std::isfinite(at->get_double())) return at->get_double();
    return absl::DataLossError(StrCat(path.text, " is not a finite number"));
  }
  return absl::DataLossError(StrCat(path.text, " is ", What(*at), ", not a number"));
}

}  // namespace sbump
