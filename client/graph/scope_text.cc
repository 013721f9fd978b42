#include "client/graph/scope_text.h"

#include <algorithm>
#include <vector>

#include "client/graph/model_facts.h"

namespace sbump {

std::string ScopeText(const Scope& scope, ScopeStyle style) {
  if (style == ScopeStyle::kPath) return scope.path;
  std::vector<const Scope*> chain;
  for (const Scope* one = &scope; one != nullptr; one = one->above.get()) chain.push_back(one);
  std::string text = "model";
  for (size_t i = chain.size() - 1; i-- > 0;)
    text += "__" + BelowRoot(chain[i]->path, chain.back()->path);
  return text;
}

}  // namespace sbump
