// Behaviour: vllm/utils/nvtx_pytorch_hooks.py (vllm-project/vllm at f0183d3), PytHooks.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "client/printable.h"
#include "client/spans/span_writer.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// As Python prints a list of ints.
template <typename Dims>
std::string DimsText(const Dims& dims) {
  std::string text;
  for (int64_t dim : dims) text += StrCat(text.empty() ? "" : ", ", dim);
  return StrCat("[", text, "]");
}

using Tensors = google::protobuf::RepeatedPtrField<v1::SpanTensor>;

std::string ListText(const Tensors& tensors, const std::string& keyword) {
  std::string text;
  for (const v1::SpanTensor& tensor : tensors) {
    if (tensor.keyword() == keyword)
      text += StrCat(text.empty() ? "" : ", ", DimsText(tensor.dims()));
  }
  return text.empty() ? "" : StrCat("[", text, "]");
}

// A name, as Python prints it.
std::string Quoted(const std::string& name) {
  const bool has_quote = name.find('\'') != std::string::npos;
  const std::string_view quote = has_quote && name.find('"') == std::string::npos ? "\"" : "'";
  return StrCat(quote, Printable(name), quote);
}

// A dict: a keyword argument may have a name that is a key already.
class Marker {
 public:
  explicit Marker(const std::string& path) { Add("Module", Quoted(path)); }
  void Add(const std::string& key, const std::string& value) {
    if (value.empty()) return;
    const auto known = std::ranges::find(items_, key, &Item::first);
    if (known != items_.end()) {
      known->second = value;
    } else {
      items_.emplace_back(key, value);
    }
  }
  std::string Line() const {
    std::string text;
    for (const auto& [key, value] : items_)
      text += StrCat(text.empty() ? "{" : ", ", Quoted(key), ": ", value);
    return text + "}\n";
  }

 private:
  using Item = std::pair<std::string, std::string>;
  std::vector<Item> items_;
};

class PytHooks : public SpanWriter {
 public:
  PytHooks(OutputFile* file, ReadModules read) : file_(file), read_(std::move(read)) { Read(); }
  void Write(const SpanNode& tree) override {
    LearnNew(tree);
    std::string text;
    Append(tree, text);
    file_->Write(text);
  }
  void Finish(uint64_t) override {
    if (!shapeless_.empty())
      Say(StrCat("of ", shapeless_.size(), shapeless_.size() == 1 ? " module" : " modules",
                 " the parameters' shapes are not known: TrainableParams is left out"));
    if (untold_.empty()) return;
    const std::string_view why =
        failure_.ok() ? "gone before they were read" : ToStd(failure_.message());
    Say(StrCat("of ", untold_.size(), untold_.size() == 1 ? " module" : " modules",
               " not all parameters and settings are told: ", Printable(why)));
  }

 private:
  static constexpr int kMostFailures = 5;
  struct Known {
    std::string type;
    std::string parameters, settings;
  };

  // A model may be replaced by another one, and go by another path here than in the session.
  template <typename AModule>
  static std::string KeyOf(const AModule& module) {
    return module.module_id() == 0 ? module.path() : StrCat("#", module.module_id());
  }

  void Read() {
    const absl::StatusOr<v1::ListModulesReply> modules = read_();
    if (!modules.ok()) {
      failure_ = modules.status();
      ++failures_;
      return;
    }
    failures_ = 0;
    for (const v1::Module& module : modules->modules()) {
      if (!KnowsShapes(module)) shapeless_.insert(KeyOf(module));
      known_[KeyOf(module)] = {.type = module.qualified_type(),
                               .parameters = ParametersText(module),
                               .settings = Printable(module.static_params_text())};
    }
  }

  bool Knows(const v1::SpanModule& module) const {
    const auto known = known_.find(KeyOf(module));
    return known != known_.end() && known->second.type == module.qualified_type();
  }

  // Of modules that came after the last look. What that does not find is not looked for again; a
  // look that failed says nothing of it, and is made again a few times.
  void LearnNew(const SpanNode& tree) {
    bool knows_all = true;
    const auto check = [&](const SpanNode& node) { knows_all &= Knows(node.module); };
    ForEachSpan(tree, check);
    if (knows_all) return;
    Read();
    ForEachSpan(tree, [&](const SpanNode& node) {
      if (Knows(node.module)) return;
      untold_.insert(node.module.path());
      if (failures_ == 0 || failures_ >= kMostFailures)
        known_[KeyOf(node.module)] = {.type = node.module.qualified_type()};
    });
  }

  static bool KnowsShapes(const v1::Module& module) {
    return std::ranges::all_of(module.parameters(),
                               [](const auto& one) { return one.second.known(); });
  }

  // A shape that is not known is not told as that of a scalar.
  static std::string ParametersText(const v1::Module& module) {
    if (!KnowsShapes(module)) return "";
    std::map<uint32_t, std::string> in_order;
    for (const auto& [name, tensor] : module.parameters())
      in_order[tensor.index()] = StrCat(Quoted(name), ": ", DimsText(tensor.dims()));
    std::string text;
    for (const auto& [index, one] : in_order) text += StrCat(text.empty() ? "" : ", ", one);
    return text.empty() ? "" : StrCat("{", text, "}");
  }

  // Its hook after the call does not run where that raised.
  void Append(const SpanNode& node, std::string& text) {
    const Known& known = known_[KeyOf(node.module)];
    Marker input(node.module.path());
    input.Add("TrainableParams", known.parameters);
    input.Add("Inputs", ListText(node.span.inputs(), ""));
    std::vector<std::string> done = {""};
    for (const v1::SpanTensor& tensor : node.span.inputs()) {
      if (std::ranges::find(done, tensor.keyword()) != done.end()) continue;
      done.push_back(tensor.keyword());
      input.Add(tensor.keyword(), ListText(node.span.inputs(), tensor.keyword()));
    }
    input.Add("StaticParams", known.settings);
    text += input.Line();
    for (const SpanNode& child : node.children) Append(child, text);
    if (node.span.raised()) return;
    Marker output(node.module.path());
    output.Add("TrainableParams", known.parameters);
    output.Add("Outputs", ListText(node.span.outputs(), ""));
    output.Add("StaticParams", known.settings);
    text += output.Line();
  }

  OutputFile* file_;
  ReadModules read_;
  absl::Status failure_;                // of the last look that failed
  int failures_ = 0;                    // of looks, one after the other
  std::map<std::string, Known> known_;  // by KeyOf()
  std::set<std::string> shapeless_;     // by KeyOf()
  std::set<std::string> untold_;        // paths of modules of which a look did not tell
};

}  // namespace

std::unique_ptr<SpanWriter> PytHooksTexts(OutputFile* file, ReadModules read) {
  return std::make_unique<PytHooks>(file, std::move(read));
}

}  // namespace sbump
