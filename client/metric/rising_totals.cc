#include "client/metric/rising_totals.h"

#include <cmath>
#include <utility>

#include "client/printable.h"
#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kWhy =
    "; its process began again, or this is no running total. Windows with this in them do not "
    "count; if it happens again, name a counter";

// "x{...} " or nothing.
std::string Named(const std::string& part) {
  return part.empty() ? "the value " : StrCat(Printable(part), " ");
}

}  // namespace

absl::Status RisingTotals::Compare(const std::map<std::string, double>& totals) const {
  for (const auto& [part, before] : totals_) {
    const auto now = totals.find(part);
    if (now == totals.end())
      return absl::AbortedError(
          StrCat(Named(part), "is gone (it was ", NumberText(before), ")", kWhy));
    if (now->second < before)
      return absl::AbortedError(StrCat(Named(part), "fell from ", NumberText(before), " to ",
                                       NumberText(now->second), kWhy));
  }
  return absl::OkStatus();
}

absl::Status RisingTotals::Admit(std::map<std::string, double> totals) {
  for (const auto& [part, value] : totals) {
    if (!std::isfinite(value))
      return absl::DataLossError(
          StrCat(Named(part), "is ", NumberText(value), ", which is no total"));
  }
  const absl::Status risen = Compare(totals);
  if (!risen.ok()) BeginAgain();
  totals_ = std::move(totals);
  return risen;
}

}  // namespace sbump
