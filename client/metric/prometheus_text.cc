#include "client/metric/prometheus_text.h"

#include <algorithm>
#include <set>

#include "client/printable.h"
#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/edit_distance.h"

namespace sbump {
namespace {

constexpr size_t kMostLikeNames = 5;
constexpr size_t kMostNamesLooked = 20'000;
constexpr size_t kMostSlips = 3;

bool BeginsName(char c) {
  return c == '_' || c == ':' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsOfName(char c) { return BeginsName(c) || (c >= '0' && c <= '9'); }

std::string_view TakeName(std::string_view& rest) {
  if (rest.empty() || !BeginsName(rest.front())) return {};
  const auto end = std::ranges::find_if_not(rest, IsOfName);
  const std::string_view name = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  rest.remove_prefix(name.size());
  return name;
}

void SkipBlanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
}

// Takes `c` and the blanks behind it.
bool Take(char c, std::string_view& rest) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  SkipBlanks(rest);
  return true;
}

// Behind the opening quote up to behind the closing one. False: there is none.
bool TakeQuoted(std::string_view& rest, std::string& value) {
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\' && !rest.empty() && std::string_view("\\\"n").find(rest.front()) != rest.npos) {
      value += rest.front() == 'n' ? '\n' : rest.front();
      rest.remove_prefix(1);
    } else {
      value += c;
    }
  }
  return false;
}

// Behind the opening brace up to behind the closing one.
absl::Status TakeLabels(std::string_view& rest, std::map<std::string, std::string>& labels) {
  while (!Take('}', rest)) {
    const std::string name(TakeName(rest));
    if (name.empty()) return absl::InvalidArgumentError("a label's name is missing");
    SkipBlanks(rest);
    std::string value;
    if (!Take('=', rest) || !rest.starts_with('"'))
      return absl::InvalidArgumentError(
          StrCat("behind the label ", name, " = and a value in double quotes are missing"));
    rest.remove_prefix(1);
    if (!TakeQuoted(rest, value))
      return absl::InvalidArgumentError(StrCat("the quote of the label ", name, " is not closed"));
    SkipBlanks(rest);
    if (!labels.emplace(name, std::move(value)).second)
      return absl::InvalidArgumentError(StrCat("the label ", name, " stands there twice"));
    if (labels.size() > kMostLabels)
      return absl::InvalidArgumentError(StrCat("more than ", kMostLabels, " labels"));
    if (!Take(',', rest) && !rest.starts_with('}'))
      return absl::InvalidArgumentError("labels are separated by commas and end in a brace }");
  }
  return absl::OkStatus();
}

}  // namespace

std::string SeriesName::Text() const {
  std::string text = name;
  for (const auto& [label, value] : labels) {
    text += StrCat(text.size() == name.size() ? "{" : ",", label, "=\"");
    for (char c : value) {
      if (c == '\\' || c == '"' || c == '\n') text += '\\';
      text += c == '\n' ? 'n' : c;
    }
    text += '"';
  }
  return labels.empty() ? text : text + "}";
}

bool SeriesName::IsTakenBy(const SeriesName& selector) const {
  return name == selector.name && std::ranges::all_of(selector.labels, [&](const auto& label) {
           const auto found = labels.find(label.first);
           return found != labels.end() && found->second == label.second;
         });
}

absl::StatusOr<SeriesName> TakeSeriesName(std::string_view& rest) {
  SeriesName series;
  series.name = TakeName(rest);
  if (series.name.empty())
    return absl::InvalidArgumentError("a metric's name begins with a letter, _ or :");
  std::string_view behind = rest;
  SkipBlanks(behind);
  if (!Take('{', behind)) return series;
  rest = behind;
  SB_RETURN_IF_ERROR(TakeLabels(rest, series.labels));
  return series;
}

namespace {

absl::StatusOr<double> TakeValue(std::string_view rest) {
  SkipBlanks(rest);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
  if (const auto value = NumberFrom(word)) return *value;
  return absl::InvalidArgumentError(
      StrCat("\"", Printable(word.substr(0, 40)), "\" is not a number"));
}

// What is in front of each newline, and behind the last.
std::string_view TakeLine(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

// The type where this line says that of `name`, or of its family in OpenMetrics.
std::string_view TypeFrom(std::string_view line, std::string_view name) {
  constexpr std::string_view kType = "# TYPE ";
  if (!line.starts_with(kType)) return {};
  line.remove_prefix(kType.size());
  const std::string_view family = TakeName(line);
  SkipBlanks(line);
  const bool is_its = family == name || (name.ends_with("_total") && name.starts_with(family) &&
                                         family.size() + 6 == name.size());
  return is_its ? line.substr(0, line.find_first_of(" \t\r")) : std::string_view();
}

absl::StatusOr<Series> ReadSeries(std::string_view line) {
  SB_ASSIGN_OR_RETURN(SeriesName name, TakeSeriesName(line));
  SB_ASSIGN_OR_RETURN(const double value, TakeValue(line));
  return Series{std::move(name), value};
}

}  // namespace

absl::StatusOr<PrometheusText> ReadPrometheusText(std::string_view text, std::string_view name) {
  PrometheusText found;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = TakeLine(text);
    SkipBlanks(line);
    if (const std::string_view type = TypeFrom(line, name); !type.empty()) found.type = type;
    std::string_view behind = line;
    if (TakeName(behind) != name || name.empty()) continue;
    absl::StatusOr<Series> series = ReadSeries(line);
    if (!series.ok())
      return absl::DataLossError(StrCat("line ", number, ": ", series.status().message()));
    if (found.series.size() == kMostSeries)
      return absl::DataLossError(StrCat("more than ", kMostSeries, " series"));
    found.series.push_back(*std::move(series));
  }
  return found;
}

std::vector<std::string> NamesLike(std::string_view name, std::string_view text) {
  std::set<std::string_view> names;
  while (!text.empty() && names.size() < kMostNamesLooked) {
    std::string_view line = TakeLine(text);
    if (const std::string_view other = TakeName(line); !other.empty()) names.insert(other);
  }
  std::vector<std::pair<size_t, std::string_view>> likes;
  for (std::string_view other : names) {
    const bool begins = !name.empty() && (other.starts_with(name) || name.starts_with(other));
    const size_t slips = begins ? 0 : EditDistance(name, other, kMostSlips);
    if (slips <= kMostSlips) likes.emplace_back(slips, other);
  }
  std::ranges::sort(likes);
  std::vector<std::string> best;
  for (const auto& like : likes) {
    if (best.size() < kMostLikeNames) best.emplace_back(like.second);
  }
  return best;
}

}  // namespace sbump
