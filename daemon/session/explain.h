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
  NamesToExplain() = default;
  NamesToExplain(const NamesToExplain&) = delete;
  NamesToExplain& operator=(const NamesToExplain&) = delete;

  void Add(const CodeName& name);
  size_t size() const { return names_.size(); }
  Explanations Explain(const TargetList& targets, const std::vector<size_t>& patterns) const;

 private:
  // Once each: a file may have many code objects, and a long name of its own.
  using Files = std::unordered_map<std::string, std::vector<std::string>>;  // and their modules
  struct Name {
    const Files::value_type* file;
    std::string qualname;
  };

  Files files_;
  std::vector<Name> names_;
};

// At once, from all that is known.
Explanations ExplainUnmatched(const Inventory& inventory);

}  // namespace sbump
