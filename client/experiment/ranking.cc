#include "client/experiment/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/estimate_to_proto.h"
#include "daemon/estimate/interval.h"
#include "daemon/estimate/multiplicity.h"
#include "daemon/estimate/stolen_time.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// Of a 95 % interval.
constexpr double kStandardErrors = 2 * 1.96;

// The gap of a whole and its parts that is none, as a share of the whole.
constexpr double kAddsUpWithin = 0.25;

bool HasInterval(const v1::GroupResult& result) {
  return result.has_ci_low() && result.has_ci_high();
}

// ---- Which groups there are ----

struct Tested {
  v1::GroupResult result;
  std::vector<size_t> parts;  // which of those that were tested later; none: it was not opened
};

class Collector {
 public:
  void Take(const MadeExperiment& made) {
    if (made.asked->phase() == v1::CONFIRMATION) return TakeConfirmation(*made.result);
    std::map<std::string, std::string> part_of;
    for (const v1::TargetGroup& group : made.asked->groups())
      part_of[group.name()] = group.part_of();
    const size_t earlier = tested.size();
    for (const v1::GroupResult& result : made.result->results()) {
      if (result.role() != v1::TESTED) continue;
      const auto whole = latest_.find(part_of[result.name()]);
      if (whole != latest_.end()) tested[whole->second].parts.push_back(tested.size());
      tested.push_back({.result = result});
    }
    for (size_t i = earlier; i < tested.size(); ++i) {
      if (!tested[i].result.name().empty()) latest_[tested[i].result.name()] = i;
    }
  }

  std::vector<Tested> tested;
  std::optional<v1::GroupResult> confirmed;

 private:
  void TakeConfirmation(const v1::ExperimentResult& result) {
    for (const v1::GroupResult& group : result.results()) {
      if (group.role() == v1::TESTED) confirmed = group;
    }
  }

  std::map<std::string, size_t> latest_;  // of a name, in earlier experiments
};

// ---- Their order ----

int PlaceOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::MATTERS:
      return 0;
    case v1::UNDECIDED:
      return 1;
    case v1::DOES_NOT_MATTER:
      return 2;
    default:
      return 3;
  }
}

// What has no interval is drawn nowhere.
std::vector<double> Shrunk(const std::vector<v1::GroupResult>& results) {
  std::vector<Measured> measured;
  for (const v1::GroupResult& result : results) {
    if (HasInterval(result))
      measured.push_back(
          {result.criticality(), (result.ci_high() - result.ci_low()) / kStandardErrors});
  }
  const std::vector<double> drawn = Shrink(measured);
  std::vector<double> all;
  size_t next = 0;
  for (const v1::GroupResult& result : results)
    all.push_back(HasInterval(result) ? drawn[next++] : result.criticality());
  return all;
}

std::vector<v1::GroupResult> Ordered(const std::vector<v1::GroupResult>& results) {
  const std::vector<double> shrunk = Shrunk(results);
  std::vector<size_t> order(results.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return std::make_pair(PlaceOf(results[i].verdict()), -shrunk[i]);
  });
  std::vector<v1::GroupResult> ordered;
  for (const size_t i : order) ordered.push_back(results[i]);
  return ordered;
}

// ---- Parts and wholes ----

struct Together {
  double criticality = 0;
  Interval interval;
};

// As each part was delayed by the same at each call in the whole, a part has as much of what was
// injected as it has of the calls. One that is never called has none, and needs no number.
// Of 95 % at least: parts were held against the same windows without delay, so that their errors
// may all be one.
std::optional<Together> Combine(std::vector<const v1::GroupResult*> parts) {
  std::erase_if(parts, [](const v1::GroupResult* part) { return part->hits_per_unit() <= 0; });
  if (parts.empty()) return std::nullopt;
  double hits = 0;
  for (const v1::GroupResult* part : parts) {
    if (!HasInterval(*part) || part->verdict() == v1::INVALID) return std::nullopt;
    hits += part->hits_per_unit();
  }
  Together together;
  for (const v1::GroupResult* part : parts) {
    const double weight = part->hits_per_unit() / hits;
    together.criticality += weight * part->criticality();
    together.interval.low += weight * part->ci_low();
    together.interval.high += weight * part->ci_high();
  }
  return together;
}

// Whole less parts: their intervals, squared and added (as `compare` does).
std::string WordsOf(const v1::GroupResult& whole, const Together& parts) {
  if (!HasInterval(whole)) return "";
  const double gap = whole.criticality() - parts.criticality;
  const double low = gap - std::hypot(whole.criticality() - whole.ci_low(),
                                      parts.interval.high - parts.criticality);
  const double high = gap + std::hypot(whole.ci_high() - whole.criticality(),
                                       parts.criticality - parts.interval.low);
  const std::string sums =
      StrCat("the parts come to ", Fixed(parts.criticality, 2), " ", Words(parts.interval),
             " of the ", Fixed(whole.criticality(), 2), " of the whole");
  if (low > 0)
    return StrCat(sums,
                  ", which is less: parts that wait for each other, or that run side by side ",
                  "with something else, cost more together than one by one");
  if (high < 0)
    return StrCat(sums, ", which is more: parts run side by side, so that a delay of one hides ",
                  "that of another");
  const double near = kAddsUpWithin * std::min(1.0, std::abs(whole.criticality()));
  if (low < -near || high > near)
    return StrCat(sums, ": it takes narrower intervals to say whether they add up");
  return StrCat(sums, ": they add up");
}

v1::OpenedGroup Opened(const Collector& all, const Tested& group) {
  v1::OpenedGroup opened;
  *opened.mutable_group() = group.result;
  std::vector<const v1::GroupResult*> parts;
  for (const size_t part : group.parts) {
    opened.add_parts(all.tested[part].result.name());
    parts.push_back(&all.tested[part].result);
  }
  const std::optional<Together> together = Combine(parts);
  if (!together) {
    opened.set_words("not all of its parts have a number");
    return opened;
  }
  opened.set_parts_criticality(together->criticality);
  opened.set_parts_low(together->interval.low);
  opened.set_parts_high(together->interval.high);
  opened.set_words(WordsOf(group.result, *together));
  return opened;
}

// A group whose parts nothing can be said of is what is known.
bool IsOpened(const Collector& all, const Tested& group) {
  return std::ranges::any_of(
      group.parts, [&](size_t part) { return all.tested[part].result.verdict() != v1::INVALID; });
}

// ---- All of it ----

void AddWarning(const std::string& warning, v1::Ranking& ranking) {
  if (std::ranges::count(ranking.warnings(), warning) == 0) ranking.add_warnings(warning);
}

// The most of any experiment.
void TakeIntrusion(const v1::ExperimentResult& result, v1::Ranking& ranking) {
  if (!result.has_intrusion()) return;
  if (ranking.has_intrusion() && ranking.intrusion() >= result.intrusion()) return;
  ranking.set_intrusion(result.intrusion());
  ranking.clear_intrusion_low();
  ranking.clear_intrusion_high();
  if (!result.has_intrusion_low()) return;
  ranking.set_intrusion_low(result.intrusion_low());
  ranking.set_intrusion_high(result.intrusion_high());
}

// Each experiment says how much it was of its own; told is the most, once.
void TakeWarnings(const v1::ExperimentResult& result, v1::Ranking& ranking) {
  const std::string of_steal = StolenWarning(result.steal_share(), kWhileMeasured);
  for (const std::string& warning : result.warnings())
    if (warning != of_steal) AddWarning(warning, ranking);
  ranking.set_steal_share(std::max(ranking.steal_share(), result.steal_share()));
}

const v1::ExperimentPlan::Group* PlannedGroup(const MadeExperiment& made, const std::string& name) {
  if (made.plan == nullptr) return nullptr;
  const auto group = std::ranges::find(made.plan->groups(), name, &v1::ExperimentPlan::Group::name);
  return group == made.plan->groups().end() ? nullptr : &*group;
}

// A group takes what its patterns do, less what groups before it have, of what is loaded by then.
void WarnOfOtherTargets(const std::vector<MadeExperiment>& experiments, v1::Ranking& ranking) {
  if (!ranking.has_confirmed()) return;
  const std::string& name = ranking.confirmed().name();
  const v1::ExperimentPlan::Group *main = nullptr, *again = nullptr;
  for (const MadeExperiment& made : experiments) {
    const v1::ExperimentPlan::Group* group = PlannedGroup(made, name);
    if (group != nullptr) (made.asked->phase() == v1::CONFIRMATION ? again : main) = group;
  }
  if (main == nullptr || again == nullptr || main->targets() == again->targets()) return;
  if (main->targets() == 0 || again->targets() == 0) return;  // as in old files: not known
  ranking.add_warnings(StrCat("the confirmation of ", Printable(name), " took ", again->targets(),
                              again->targets() == 1 ? " function" : " functions",
                              ", and the experiment before ", main->targets(),
                              ": their numbers are about other code"));
}

// Nothing can be concluded where nothing can of any experiment.
void TakeInvalid(const std::vector<MadeExperiment>& experiments, v1::Ranking& ranking) {
  std::string why;
  bool any_valid = false;
  for (const MadeExperiment& made : experiments) {
    const std::string& invalid = made.result->invalid();
    if (!invalid.empty()) AddWarning(StrCat("an experiment says nothing: ", invalid), ranking);
    if (made.asked->phase() == v1::CONFIRMATION) continue;
    any_valid |= invalid.empty();
    if (why.empty()) why = invalid;
  }
  if (!any_valid) ranking.set_invalid(why.empty() ? "nothing was tested" : why);
}

}  // namespace

v1::Ranking RankingOf(const std::vector<MadeExperiment>& experiments, bool complete) {
  Collector all;
  v1::Ranking ranking;
  bool partial = !complete;
  for (const MadeExperiment& made : experiments) {
    all.Take(made);
    partial |= made.result->partial();
    TakeWarnings(*made.result, ranking);
    TakeIntrusion(*made.result, ranking);
  }
  if (std::string warning = StolenWarning(ranking.steal_share(), kWhileMeasured); !warning.empty())
    ranking.add_warnings(std::move(warning));
  std::vector<v1::GroupResult> leaves;
  for (const Tested& group : all.tested) {
    if (IsOpened(all, group))
      *ranking.add_opened() = Opened(all, group);
    else
      leaves.push_back(group.result);
  }
  for (v1::GroupResult& result : Ordered(leaves)) *ranking.add_results() = std::move(result);
  if (all.confirmed) *ranking.mutable_confirmed() = *all.confirmed;
  ranking.set_partial(partial);
  TakeInvalid(experiments, ranking);
  WarnOfOtherTargets(experiments, ranking);
  return ranking;
}

}  // namespace sbump
