// Which groups to test next, and which to open.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "client/rank/group_tree.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

class DrillDown {
 public:
  struct Candidate {
    GroupNode group;
    std::string part_of;  // the group that was opened; empty: it is an outermost one
  };

  // An experiment has at most `most_groups` (2 or more).
  DrillDown(std::vector<GroupNode> outermost, size_t most_groups);

  bool is_done() const { return waiting_.empty(); }
  // Of the next experiment: the parts of one opened group or of several, the most critical group's
  // first. Empty: it is done.
  std::vector<Candidate> Next() const;
  // There is no time for so many groups at once. False: it cannot be fewer.
  bool TakeFewer();
  // What was said of Next(). Groups with an effect are opened, whatever its size: of a large group
  // a small one may be a large one of a part.
  void Take(const v1::ExperimentResult& result);
  // Next() cannot be tested: its groups are not opened.
  void Skip();
  // How many experiments there may still be, where something of each is opened, up to the deepest.
  size_t StagesToCome() const;
  // Groups that were not opened, and of whose parts nothing is known. A sentence for each.
  const std::vector<std::string>& Unspoken() const { return unspoken_; }

 private:
  // Parts that are tested together.
  struct Family {
    std::string parent;
    std::vector<GroupNode> parts;
    double criticality = 0;  // of the parent
  };

  size_t FamiliesFrom(size_t first) const;  // that are tested together
  size_t FamiliesOfNext() const { return FamiliesFrom(0); }
  // `all`: what all of a unit comes to, as far as that is known.
  void Judge(const GroupNode& group, const v1::GroupResult& result, double all);

  size_t most_groups_;
  std::deque<Family> waiting_;  // the most critical parent first
  std::vector<std::string> unspoken_;
};

}  // namespace sbump
