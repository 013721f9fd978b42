// Rows of targets and of patterns as tables: shared by the live view, the summary and `match`.
#pragma once

#include <string>
#include <vector>

#include "client/session_model.h"
#include "client/terminal.h"
#include "client/text_table.h"

namespace sbump {

enum class RateKind { kLastInterval, kMean };

// QUALNAME WHERE CALLS/S CALLS DELAYED INJECTED OVER-P50 OVER-P99, PID where the
// session has several processes, MISSED where a row has some.
TextTable TargetTable(const SessionModel& model, const std::vector<const TargetRow*>& rows,
                      RateKind rate);

// PATTERN FILE LINE QUALNAME SOURCE, in the order given; what `match` prints.
TextTable MatchTable(const google::protobuf::RepeatedPtrField<v1::TargetStats>& targets);

// Of the native ones among them: PATTERN FILE SYMBOL PROBED-AT INSTRUCTION COST.
TextTable NativeMatchTable(const google::protobuf::RepeatedPtrField<v1::TargetStats>& targets);

// "NO MATCH", and how bad that is.
std::string StatusText(v1::PatternStatus status);
Tone StatusTone(v1::PatternStatus status);

struct PatternLinesOptions {
  bool with_counters = true;
  bool with_near_misses = true;
  bool troubled_only = false;  // leaves MATCHED ones out
  size_t limit = 200;
  size_t max_width = kUnlimitedWidth;
};

// One line a pattern below a heading, near misses indented below theirs; empty without patterns.
std::vector<std::string> PatternLines(
    const google::protobuf::RepeatedPtrField<v1::PatternStats>& patterns, const Palette& palette,
    const PatternLinesOptions& options);

}  // namespace sbump
