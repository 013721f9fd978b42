#include "daemon/estimate/verdict.h"

#include <algorithm>
#include <cmath>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/distributions.h"
#include "daemon/estimate/plan_precision.h"
#include "daemon/estimate/schedule.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr double kAlpha = 0.05;

Judgement Invalid(std::string why) { return {.verdict = Verdict::kInvalid, .why = std::move(why)}; }

std::optional<Judgement> JudgeInvalid(const VerdictInput& input) {
  if (!input.invalid.empty()) return Invalid(input.invalid);
  if (input.hits == 0)
    return Invalid("no call was seen in any window: that is no effect measured, but none tried");
  if (input.estimate.values == 0)
    return Invalid(StrCat("no block has a window with the delay and one without it that can be ",
                          "compared", input.lost_windows.empty() ? "" : ": ", input.lost_windows));
  if (!input.estimate.interval || !input.equivalence.interval)
    return Invalid(StrCat(input.estimate.values,
                          " blocks that can be used are too few for any interval at 95 %: it takes "
                          "6, and plans have 8 or more"));
  return std::nullopt;
}

std::string Measured(const VerdictInput& input) {
  const int decimals = DecimalsOf(input.margin * (input.felt > 0 ? input.felt : 1));
  return StrCat("criticality ", Fixed(input.estimate.estimate, decimals), ", 95 % interval ",
                Words(*input.estimate.interval, decimals));
}

std::string MarginText(double margin) { return Fixed(margin, DecimalsOf(margin)); }

Judgement Matters(const VerdictInput& input) {
  const bool faster = input.estimate.estimate < 0;
  return {.verdict = Verdict::kMatters,
          .why = StrCat(Measured(input), ": beyond the margin of ", MarginText(input.margin),
                        faster ? ". Anomaly: slowing it makes the program faster" : "")};
}

// Nothing where that is more than there may be.
std::optional<size_t> TimesTheBlocks(const VerdictInput& input, double ratio) {
  const double blocks = static_cast<double>(input.estimate.values);
  const double needed = std::ceil(blocks * ratio);
  if (!(needed < static_cast<double>(kMostBlocks))) return std::nullopt;
  return static_cast<size_t>(std::max(needed, blocks + 1));
}

// Of both one-sided tests at once, where the truth is `off` from the middle of the margin.
double PowerOfEquivalence(double off, double margin, double standard_error) {
  const double z = NormalQuantile(1 - kAlpha);
  return NormalCdf((margin - off) / standard_error - z) +
         NormalCdf((margin + off) / standard_error - z) - 1;
}

// With which they have the power that is planned for.
double ErrorForEquivalence(double off, double margin) {
  double low = 0, high = margin;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (PowerOfEquivalence(off, margin, middle) >= kPlannedPower ? low : high) = middle;
  }
  return low;
}

// The spread shrinks with the root of the blocks. Which way it would be decided: the way the
// estimate points. An interval that just reaches the margin there decides every other time.
std::optional<size_t> BlocksNeeded(const VerdictInput& input, double margin) {
  const double off = std::abs(input.estimate.estimate);
  const double z = NormalQuantile(1 - kAlpha / 2);
  const double error = input.estimate.interval->half_width() / z;
  const double wanted = off > margin ? (off - margin) / (z + NormalQuantile(kPlannedPower))
                                     : ErrorForEquivalence(off, margin);
  return TimesTheBlocks(input, error * error / (wanted * wanted));
}

// As a normal test would: z grows with the root of the blocks. What p is multiplied by for the
// other groups stays what it is.
std::optional<size_t> BlocksToAdjust(const VerdictInput& input) {
  const double factor = std::max(1.0, *input.adjusted_p / input.p);
  const double z = NormalQuantile(1 - std::min(input.p, 1.0) / 2);
  const double wanted = NormalQuantile(1 - kAlpha / 2 / factor) + NormalQuantile(kPlannedPower);
  return TimesTheBlocks(input, wanted * wanted / (z * z));
}

std::string AboutBlocks(const VerdictInput& input, size_t needed) {
  return StrCat(": with this spread, about ", needed,
                " blocks would decide 4 times out of 5 (there were ", input.estimate.values, ")");
}

std::string WhyMoreBlocksAreVain(const VerdictInput& input) {
  constexpr double kNear = 0.2;
  if (std::abs(std::abs(input.estimate.estimate) - input.margin) <= kNear * input.margin)
    return ": the estimate is so near the margin that more blocks hardly decide it";
  return StrCat(": with this spread it would take more than ", kMostBlocks, " blocks");
}

constexpr char kLost[] =
    "more windows were lost with its delay than without: smaller doses may lose fewer";

Judgement Undecided(const VerdictInput& input) {
  // Whatever there are, where windows are lost it is not shown not to matter.
  const bool is_lost =
      !input.lost_windows.empty() && std::abs(input.estimate.estimate) <= input.margin;
  const std::optional<size_t> needed = is_lost ? std::nullopt : BlocksNeeded(input, input.margin);
  const std::string what_it_takes =
      needed ? AboutBlocks(input, *needed) : (is_lost ? "" : WhyMoreBlocksAreVain(input));
  return {.verdict = Verdict::kUndecided,
          .why = StrCat(Measured(input), ", on both sides of a margin of ",
                        MarginText(input.margin), what_it_takes, "; ",
                        input.lost_windows.empty() ? "a greater dose takes fewer" : kLost),
          .blocks_needed = needed};
}

// Within the margin, but not within what would be felt of a function that matters.
Judgement NotFelt(const VerdictInput& input, double margin) {
  Judgement undecided = {.verdict = Verdict::kUndecided};
  undecided.why = StrCat(Measured(input), ": within the margin of ", MarginText(input.margin),
                         ", but without a positive control what would be felt of a function that "
                         "matters is ");
  if (input.felt <= 0) {
    undecided.why += "not known, as no delay was felt";
    return undecided;
  }
  undecided.why +=
      StrCat("only known to be ", Fixed(input.felt, DecimalsOf(input.felt)), " or more");
  if (std::abs(input.estimate.estimate) >= margin) return undecided;
  undecided.blocks_needed = BlocksNeeded(input, margin);
  if (undecided.blocks_needed) undecided.why += AboutBlocks(input, *undecided.blocks_needed);
  return undecided;
}

}  // namespace

std::string VerdictWords(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatters:
      return "MATTERS";
    case Verdict::kDoesNotMatter:
      return "DOES NOT MATTER";
    case Verdict::kUndecided:
      return "UNDECIDED";
    case Verdict::kInvalid:
      break;
  }
  return "INVALID";
}

Judgement Judge(const VerdictInput& input) {
  if (std::optional<Judgement> invalid = JudgeInvalid(input)) return *invalid;
  const Interval& interval = *input.estimate.interval;
  if (interval.low > input.margin || interval.high < -input.margin) {
    if (input.adjusted_p.value_or(0) <= kAlpha) return Matters(input);
    const std::optional<size_t> needed = BlocksToAdjust(input);
    return {
        .verdict = Verdict::kUndecided,
        .why = StrCat(Measured(input),
                      ": beyond the margin, but among so many groups that may "
                      "be chance (adjusted p ",
                      Fixed(*input.adjusted_p, 3), ")", needed ? AboutBlocks(input, *needed) : ""),
        .blocks_needed = needed};
  }
  const Interval& equivalence = *input.equivalence.interval;
  if (!equivalence.IsWithin(-input.margin, input.margin)) return Undecided(input);
  if (!input.lost_windows.empty())  // what is left may be the faster ones
    return {.verdict = Verdict::kUndecided,
            .why = StrCat(Measured(input), ": within the margin, but ", kLost)};
  if (!input.unfelt_control.empty())
    return {
        .verdict = Verdict::kUndecided,
        .why = StrCat(Measured(input), ": within the margin, but delays in ", input.unfelt_control,
                      ", which every unit passes, cannot be told from none either")};
  const double margin = input.margin * input.felt;
  if (!equivalence.IsWithin(-margin, margin)) return NotFelt(input, margin);
  return {.verdict = Verdict::kDoesNotMatter,
          .why = StrCat("criticality ", Fixed(input.estimate.estimate, DecimalsOf(margin)),
                        ", 90 % interval ", Words(equivalence, DecimalsOf(margin)),
                        ": within a margin of ", MarginText(margin),
                        " on both sides (two one-sided tests at 5 %)")};
}

}  // namespace sbump
