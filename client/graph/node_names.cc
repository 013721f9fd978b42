// Behaviour: torch/fx/graph.py (pytorch/pytorch), _Namespace.create_name and _snake_case.
#include "client/graph/node_names.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Python's keywords and built-in functions, and names that code of fx uses itself.
constexpr std::string_view kTaken[] = {
    "abs",       "aiter",      "all",         "and",        "anext",        "any",
    "as",        "ascii",      "assert",      "async",      "await",        "bin",
    "bool",      "break",      "breakpoint",  "bytearray",  "bytes",        "callable",
    "chr",       "class",      "classmethod", "compile",    "complex",      "continue",
    "copyright", "credits",    "def",         "del",        "delattr",      "device",
    "dict",      "dir",        "divmod",      "elif",       "else",         "enumerate",
    "eval",      "except",     "exec",        "exit",       "filter",       "finally",
    "float",     "for",        "format",      "from",       "frozenset",    "fx_pytree",
    "getattr",   "global",     "globals",     "hasattr",    "hash",         "help",
    "hex",       "id",         "if",          "import",     "in",           "inf",
    "input",     "int",        "is",          "isinstance", "issubclass",   "iter",
    "lambda",    "len",        "license",     "list",       "locals",       "map",
    "max",       "memoryview", "min",         "nan",        "next",         "nonlocal",
    "not",       "object",     "oct",         "open",       "or",           "ord",
    "pass",      "pow",        "print",       "property",   "pytree",       "quit",
    "raise",     "range",      "repr",        "return",     "reversed",     "round",
    "set",       "setattr",    "slice",       "sorted",     "staticmethod", "str",
    "sum",       "super",      "torch",       "try",        "tuple",        "type",
    "vars",      "while",      "with",        "yield",      "zip"};

bool IsTaken(std::string_view name) { return std::ranges::binary_search(kTaken, name); }

std::string SnakeCase(std::string_view text) {
  std::string snake;
  char before = 0;
  for (char c : text) {
    if (IsUpper(c) && IsLower(before)) snake += '_';
    snake += IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return snake;
}

// A run of what no name may have becomes one underscore.
std::string Legal(std::string_view text) {
  std::string name;
  bool in_run = false;
  for (char c : text) {
    const bool legal = IsUpper(c) || IsLower(c) || IsDigit(c) || c == '_';
    if (legal)
      name += c;
    else if (!in_run)
      name += '_';
    in_run = !legal;
  }
  if (name.empty()) return "_unnamed";
  return IsDigit(name.front()) ? "_" + name : name;
}

// "aten.softmax.int" is softmax.
std::string_view OperatorName(std::string_view target) {
  target.remove_prefix(std::min(target.find('.') + 1, target.size()));
  return target.substr(0, target.find('.'));
}

class Names {
 public:
  std::string Unique(const std::string& wanted) {
    const auto [base, number] = Split(wanted);
    std::string name = number ? StrCat(base, "_", *number) : base;
    uint64_t& last = last_[base];
    uint64_t next = number.value_or(0) == 0 ? last : *number;
    while (IsTaken(name) || used_.contains(name)) name = StrCat(base, "_", ++next);
    used_.insert(name);
    last = next;
    return name;
  }

 private:
  // "fc_12" is "fc" and 12.
  static std::pair<std::string, std::optional<uint64_t>> Split(const std::string& name) {
    constexpr size_t kMostDigits = 9;
    size_t at = name.size();
    while (at > 0 && IsDigit(name[at - 1])) --at;
    const size_t digits = name.size() - at;
    if (at == 0 || digits == 0 || digits > kMostDigits || name[at - 1] != '_')
      return {name, std::nullopt};
    return {name.substr(0, at - 1), std::stoul(name.substr(at))};
  }

  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, uint64_t> last_;  // number, by base
};

}  // namespace

void GiveNames(std::vector<GraphNode>& nodes) {
  Names names;
  for (GraphNode& node : nodes) {
    const bool is_function = node.op == NodeOp::kCallFunction;
    const std::string_view wanted = is_function ? OperatorName(node.target) : node.target;
    node.name = names.Unique(Legal(SnakeCase(wanted)));
  }
}

}  // namespace sbump
