#include "daemon/session/explain.h"

#include "daemon/match/near_miss.h"

namespace sbump {
namespace {

constexpr size_t kMostExplained = 20;

}  // namespace

std::vector<size_t> Unmatched(const Inventory& inventory) {
  std::vector<size_t> patterns;
  for (size_t i = 0; i < inventory.targets().patterns().size(); ++i) {
    if (inventory.rows_matched_by(i) == 0) patterns.push_back(i);
    if (patterns.size() == kMostExplained) break;
  }
  return patterns;
}

void NamesToExplain::Add(const CodeName& name) {
  const auto file = files_.try_emplace(std::string(name.filename), name.module_names.begin(),
                                       name.module_names.end());
  names_.push_back({&*file.first, std::string(name.qualname)});
}

Explanations NamesToExplain::Explain(const TargetList& targets,
                                     const std::vector<size_t>& patterns) const {
  std::vector<CodeName> views;
  for (const Name& name : names_)
    views.push_back({name.file->first, name.file->second, name.qualname});
  Explanations explanations;
  for (size_t i : patterns) {
    const NearMissReport report =
        ExplainNoMatch(targets.patterns()[i], views, targets.paths_only());
    std::vector<NearMissText>& texts = explanations[i];
    for (const NearMiss& miss : report.suggestions) texts.push_back({miss.Text(), miss.reason});
    if (texts.empty()) texts.push_back({"", report.why});
  }
  return explanations;
}

Explanations ExplainUnmatched(const Inventory& inventory) {
  const std::vector<size_t> patterns = Unmatched(inventory);
  if (patterns.empty()) return {};
  NamesToExplain names;
  for (const auto& [addr, code] : inventory.codes()) {
    if (names.size() == kMaxNearMissInventory) break;
    names.Add(inventory.NameOf(code));
  }
  return names.Explain(inventory.targets(), patterns);
}

}  // namespace sbump
