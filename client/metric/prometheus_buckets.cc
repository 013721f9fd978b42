#include "client/metric/prometheus_buckets.h"

#include <cmath>
#include <map>
#include <set>

#include "client/printable.h"
#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct Sum {
  double count = 0;
  size_t histograms = 0;
};

absl::StatusOr<double> BoundOf(const Series& series) {
  const auto le = series.name.labels.find("le");
  if (le == series.name.labels.end())
    return absl::DataLossError(StrCat(Printable(series.name.Text()), " has no label le"));
  const auto bound = NumberFrom(le->second);
  if (bound && *bound > -HUGE_VAL) return *bound;  // which NaN is not either
  return absl::DataLossError(
      StrCat(Printable(series.name.Text()), ": the label le is not a number above -Inf"));
}

}  // namespace

absl::StatusOr<SummedBuckets> SumBuckets(const std::vector<Series>& series) {
  std::map<double, Sum> sums;
  std::set<std::string> histograms;
  for (const Series& bucket : series) {
    SB_ASSIGN_OR_RETURN(const double bound, BoundOf(bucket));
    sums[bound].count += bucket.value;
    sums[bound].histograms++;
    SeriesName histogram = bucket.name;
    histogram.labels.erase("le");
    histograms.insert(histogram.Text());
  }
  if (sums.empty() || !std::isinf(sums.rbegin()->first))
    return absl::DataLossError("the histogram has no bucket with le=\"+Inf\"");
  SummedBuckets summed;
  summed.histograms = histograms.size();
  for (const auto& [bound, sum] : sums) {
    if (sum.histograms != histograms.size()) {
      return absl::DataLossError(StrCat("the ", histograms.size(),
                                        " histograms that match have different buckets and ",
                                        "cannot be added up; name one by its labels"));
    }
    summed.buckets.push_back({bound, sum.count});
  }
  return summed;
}

}  // namespace sbump
