// Whether a delay makes windows fail to be measured. Those are the slow ones then, and what is left
// tells less than the delay costs.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/estimate/recording.h"

namespace sbump {

struct LostWindows {
  bool largest_only = false;                 // of delayed ones, those of the largest delay
  size_t delayed = 0, delayed_lost = 0;      // in which this group alone was delayed
  size_t undelayed = 0, undelayed_lost = 0;  // without any delay
  // That so many of the delayed ones, or more, are among those that are lost, were it chance
  // (hypergeometric: Fisher's exact test, one-sided).
  double p = 1;
  int looks = 1;  // of which this is one

  // A small number of windows shows little: what may be selected is not taken for all there is.
  bool by_delay() const { return delayed_lost >= 2 && p <= 0.2 / looks; }
};

// The recording is a checked one. Of one arm, and of those that delay one group alone: of all of
// these, or, where only that shows something, of the largest delay, whose windows are the slowest.
LostWindows LostWindowsOfArm(const Recording& recording, size_t arm);
LostWindows LostWindowsOf(const Recording& recording, size_t group);

// "8 of the 30 windows with a delay could not be measured, and 0 of 10 without". Empty where they
// are not lost by the delay.
std::string WordsOf(const LostWindows& lost);

}  // namespace sbump
