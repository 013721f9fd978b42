#include <algorithm>
#include <map>

#include "client/printable.h"
#include "client/spans/span_writer.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

class Folded : public SpanWriter {
 public:
  explicit Folded(OutputFile* file) : file_(file) {}
  void Write(const SpanNode& tree) override { Add(tree, ""); }
  void Finish(uint64_t) override {
    std::string text;
    for (const auto& [stack, ns] : self_ns_) text += StrCat(stack, " ", ns, "\n");
    file_->Write(text);
  }

 private:
  void Add(const SpanNode& node, const std::string& above) {
    const std::string stack = StrCat(above, above.empty() ? "" : ";", Name(node));
    self_ns_[stack] += node.span.self_ns();
    for (const SpanNode& child : node.children) Add(child, stack);
  }
  // A semicolon ends a name of a stack.
  static std::string Name(const SpanNode& node) {
    std::string name = Printable(node.module.path());
    std::ranges::replace(name, ';', ':');
    return name;
  }

  OutputFile* file_;
  std::map<std::string, uint64_t> self_ns_;
};

}  // namespace

std::unique_ptr<SpanWriter> FoldedStacks(OutputFile* file) {
  return std::make_unique<Folded>(file);
}

}  // namespace sbump
