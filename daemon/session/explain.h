// Why patterns matched nothing, in words: for the first few of them, since each costs a pass over
// names.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/match/target_list.h"
#include "daemon/session/inventory.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

using Explanations = std::unordered_map<size_t, std::vector<NearMissText>>;  // by pattern

// The first patterns, at most 20, that no known code object matches.
std::vector<size_t> Unmatched(const Inventory& inventory);

// Names that outlive what they were taken from: for a thread of its own.
class NamesToExplain {
 public:
  void Add(const CodeName& name) {
    names_.push_back({std::string(name.filename),
                      {name.module_names.begin(), name.module_names.end()},
                      std::string(name.qualname)});
  }
  size_t size() const { return names_.size(); }
  Explanations Explain(const TargetList& targets, const std::vector<size_t>& patterns) const;

 private:
  struct Name {
    std::string filename;
    std::vector<std::string> module_names;
    std::string qualname;
  };
  std::vector<Name> names_;
};

// At once, from all that is known.
Explanations ExplainUnmatched(const Inventory& inventory);

}  // namespace sbump
