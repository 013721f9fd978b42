// Two runs beside each other: before and after a change, say.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/experiment/report_model.h"
#include "client/terminal.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

// Tested groups of all experiments of a run, those that are confirmed apart. Groups are the same
// where their names are. kInvalidArgument where nothing can be compared, with
// the reason: other metrics, no group that both have, a run that is invalid. What is doubtful is
// said in `warnings`.
absl::StatusOr<v1::RunComparison> CompareRuns(const Report& first, const Report& second);

std::vector<std::string> ComparisonLines(const v1::RunComparison& comparison,
                                         const Palette& palette, size_t width);

}  // namespace sbump
