// What may be said of a group, of four things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/estimate/signed_rank.h"

namespace sbump {

enum class Verdict { kMatters, kDoesNotMatter, kUndecided, kInvalid };

// "MATTERS", "DOES NOT MATTER", "UNDECIDED", "INVALID".
std::string VerdictWords(Verdict verdict);

struct VerdictInput {
  // Why the experiment proves nothing: a control failed, for instance. Empty: none.
  std::string invalid;
  uint64_t hits = 0;
  // Of the criticality, at 95 % and at 90 %.
  SignedRankEstimate estimate;
  SignedRankEstimate equivalence;
  // Criticalities of at most this, on both sides, do not matter.
  double margin = 0.05;
  // What each unit passes, and is not felt either: nothing is shown not to matter then.
  std::string unfelt_control;
  // How many windows in which it was delayed are missing, perhaps because they were slow
  // (lost_windows.h). Empty: no more than without.
  std::string lost_windows;
  // What is known to be felt of a function that matters, at most 1: to be shown not to matter takes
  // as small a share of the margin. 0: nothing is shown not to matter.
  double felt = 1;
  // Of no effect; and adjusted for the other groups of the experiment, nothing where it has no
  // others.
  double p = 1;
  std::optional<double> adjusted_p;
};

struct Judgement {
  Verdict verdict = Verdict::kInvalid;
  std::string why;  // a sentence or two
  // Of an undecided one, about: in all, so that with this spread it would be decided with a power
  // of kPlannedPower; at most kMostBlocks. Of others: nothing.
  std::optional<size_t> blocks_needed;
};

// MATTERS: the 95 % interval is beyond the margin. DOES NOT MATTER: two one-sided tests at 5 %
// (TOST), that is, the 90 % interval is within the margin, times `felt`, on both sides. A
// criticality that is not zero, but may be less than the margin, is UNDECIDED.
Judgement Judge(const VerdictInput& input);

}  // namespace sbump
