#include "client/graph/subgraph_pattern.h"

#include <algorithm>
#include <utility>

#include "client/graph/model_facts.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kAten = "aten.";
constexpr std::string_view kModule = "module(";
constexpr std::string_view kSpace = " \t\r\n";

// An operator, and the type of the module that does the same.
struct Form {
  std::string_view function, module;
};
constexpr Form kForms[] = {{"embedding", "Embedding"},
                           {"layer_norm", "LayerNorm"},
                           {"dropout", "Dropout"},
                           {"group_norm", "GroupNorm"},
                           {"linear", "Linear"},
                           {"relu", "ReLU"},
                           {"gelu", "GELU"},
                           {"conv1d", "Conv1d"},
                           {"conv2d", "Conv2d"},
                           {"mse_loss", "MSELoss"},
                           {"cross_entropy", "CrossEntropyLoss"},
                           {"cross_entropy_loss", "CrossEntropyLoss"}};

absl::Status Bad(std::string_view why) { return absl::InvalidArgumentError(ToAbsl(why)); }

std::string_view Stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Where the first `>` is that is not within quotes.
size_t EndOfItem(std::string_view text) {
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (quoted && text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      quoted = !quoted;
    else if (!quoted && text[at] == '>')
      return at;
  }
  return text.npos;
}

// "softmax" of "softmax.int".
std::string_view WithoutOverload(std::string_view name) { return name.substr(0, name.find('.')); }

bool IsNameOf(std::string_view name, std::string_view target) {
  if (!target.starts_with(kAten)) return false;
  target.remove_prefix(kAten.size());
  return name == target || name == WithoutOverload(target);
}

bool TakesFunction(std::string_view name, std::string_view target) {
  return IsNameOf(name, target) || std::ranges::any_of(kForms, [&](const Form& form) {
           return (name == form.module || name == form.function) &&
                  std::ranges::any_of(kForms, [&](const Form& other) {
                    return other.module == form.module && IsNameOf(other.function, target);
                  });
         });
}

bool TakesModule(std::string_view name, const Scope& module) {
  return name == module.type || name == module.qualified_type ||
         std::ranges::any_of(kForms, [&](const Form& form) {
           return name == form.function && module.type == form.module;
         });
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  });
}

// REGEX of module("REGEX"); nullopt: it is not written so.
std::optional<std::string> RegexOf(std::string_view text) {
  text = Stripped(text.substr(kModule.size()));
  if (!text.ends_with(')')) return std::nullopt;
  text = Stripped(text.substr(0, text.size() - 1));
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string regex;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') return std::nullopt;
    if (text[at] != '\\') {
      regex += text[at];
      continue;
    }
    if (++at == text.size()) return std::nullopt;
    if (text[at] != '"') regex += '\\';
    regex += text[at];
  }
  return regex;
}

}  // namespace

absl::StatusOr<SubgraphPattern::Item> SubgraphPattern::ParseItem(std::string_view text) {
  if (text.empty()) return Bad("it is empty");
  if (text.starts_with(kModule)) {
    const std::optional<std::string> regex = RegexOf(text);
    if (!regex) return Bad("write module(\"REGEX\")");
    SB_ASSIGN_OR_RETURN(ModulePattern path, ModulePattern::Compile("re:" + *regex));
    return Item{.name = "", .path = std::move(path)};
  }
  if (!IsName(text)) {
    return Bad(
        "write an operator (softmax, softmax.int), a module's type (Linear), or "
        "module(\"REGEX\")");
  }
  if (text.starts_with(kAten)) text.remove_prefix(kAten.size());
  return Item{.name = std::string(text), .path = std::nullopt};
}

absl::StatusOr<SubgraphPattern> SubgraphPattern::Parse(std::string_view text) {
  if (Stripped(text).empty()) return Bad("the pattern is empty");
  if (text.size() > kLongestText)
    return Bad(StrCat("the pattern has more than ", kLongestText, " bytes"));
  SubgraphPattern pattern;
  for (bool more = true; more;) {
    const size_t end = EndOfItem(text);
    const std::string_view written = Stripped(text.substr(0, end));
    const size_t number = pattern.items_.size() + 1;
    if (number > kMostItems) return Bad(StrCat("the pattern has more than ", kMostItems, " items"));
    absl::StatusOr<Item> item = ParseItem(written);
    if (!item.ok())
      return Annotate(item.status(), StrCat("item ", number, " of the pattern, \"", written, "\""));
    pattern.items_.push_back(*std::move(item));
    more = end != text.npos;
    if (more) text.remove_prefix(end + 1);
  }
  return pattern;
}

bool SubgraphPattern::Takes(size_t at, const GraphNode& node) const {
  const Item& item = items_[at];
  if (item.path) {
    return node.op == NodeOp::kCallModule &&
           (item.path->Matches(node.target, {}) ||
            item.path->Matches(BelowRoot(node.scope->path, ParentOf(node)), {}));
  }
  if (node.op == NodeOp::kCallFunction) return TakesFunction(item.name, node.target);
  return node.op == NodeOp::kCallModule && TakesModule(item.name, *node.scope);
}

}  // namespace sbump
