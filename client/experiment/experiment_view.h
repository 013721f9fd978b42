// Plans, progress and answers of experiments as text for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/terminal.h"
#include "client/text_table.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

// "MATTERS", "does not matter", "undecided", "INVALID".
std::string VerdictText(v1::Verdict verdict);
Cell VerdictCell(v1::Verdict verdict);
// Of a group that was tested, another one than INVALID.
bool HasVerdict(const google::protobuf::RepeatedPtrField<v1::GroupResult>& results);

// "the probes themselves cost 1.2% of a unit's time (0.8% to 1.6%)".
std::string IntrusionLine(double share, std::optional<double> low, std::optional<double> high);

// What GAIN AT MOST does not say, where it says anything: for all tables that have it.
void AddGainCaveat(const google::protobuf::RepeatedPtrField<v1::GroupResult>& results,
                   std::vector<std::string>& lines);

// "[0.91, 1.08]"; "-" where there is none.
std::string IntervalText(const v1::GroupResult& result);
// Of what is called so seldom that a group's verdict says nothing of it; empty: there is nothing.
std::string SeldomText(const v1::GroupResult& result);
// "1.31x", or "-".
std::string GainText(const v1::GroupResult& result);

// The delays of a group of the plan: "12us, 25us, 50us", "2.5us, 5us, 10us, at one call of 50".
// Empty: none.
std::string DelayWords(const v1::ExperimentPlan& plan, int group);

// What will be done, how long it takes and what it costs; each a line.
std::vector<std::string> PlanLines(const v1::ExperimentPlan& plan, const Palette& palette,
                                   size_t width);

// One line: a bar where the number of windows is known, and the time that remains.
std::string ProgressLine(const v1::ExperimentProgress& progress, size_t width);

// The same of a result or ranking that has it.
template <typename Result>
std::string IntrusionLineOf(const Result& result) {
  if (!result.has_intrusion_low()) return IntrusionLine(result.intrusion(), {}, {});
  return IntrusionLine(result.intrusion(), result.intrusion_low(), result.intrusion_high());
}

std::vector<std::string> ResultLines(const v1::ExperimentResult& result, const Palette& palette,
                                     size_t width);

}  // namespace sbump
