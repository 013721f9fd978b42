#include "client/modules_view.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <vector>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/process_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Tensors = google::protobuf::Map<std::string, v1::Tensor>;

std::string DimsText(const v1::Tensor& tensor) {
  if (!tensor.known()) return "[?]";
  std::string text;
  for (int64_t dim : tensor.dims()) text += StrCat(text.empty() ? "" : ", ", dim);
  return StrCat("[", text, "]");
}

std::string TensorsText(const Tensors& tensors) {
  std::map<uint32_t, const Tensors::value_type*> in_order;
  for (const auto& tensor : tensors) in_order[tensor.second.index()] = &tensor;
  std::string text;
  for (const auto& [index, tensor] : in_order)
    text += StrCat(text.empty() ? "" : ", ", tensor->first, " ", DimsText(tensor->second));
  return text;
}

std::string ParametersText(const v1::Module& module) {
  const std::string parameters = TensorsText(module.parameters());
  const std::string buffers = TensorsText(module.buffers());
  if (buffers.empty()) return parameters;
  return StrCat(parameters, parameters.empty() ? "" : "; ", "buffers ", buffers);
}

std::string ValueText(const google::protobuf::Value& value) {
  std::string json;
  // Fails for numbers that JSON has none for.
  if (!google::protobuf::util::MessageToJsonString(value, &json).ok()) return "nan or inf";
  return json;
}

std::string SettingsText(const v1::Module& module) {
  const std::map<std::string, google::protobuf::Value> sorted(
      module.static_params().fields().begin(), module.static_params().fields().end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    const auto exact = module.exact_params().find(name);
    const bool is_exact = exact != module.exact_params().end();
    text +=
        StrCat(text.empty() ? "" : ", ", name, "=", is_exact ? exact->second : ValueText(value));
  }
  return text;
}

// Paths that are above the next one, outermost first.
class Ancestors {
 public:
  // What of `path` is not its parent's, indented as deep as it is.
  std::string Label(const std::string& path) {
    while (!paths_.empty() && !path.starts_with(paths_.back() + ".")) paths_.pop_back();
    const size_t known = paths_.empty() ? 0 : paths_.back().size() + 1;
    const std::string label = std::string(2 * paths_.size(), ' ') + path.substr(known);
    if (!path.empty()) paths_.push_back(path);
    return label;
  }

 private:
  std::vector<std::string> paths_;
};

std::string NotesText(const v1::Module& module) {
  std::string text;
  if (module.skipped()) text += " (skipped)";
  for (const std::string& alias : module.aliases()) text += StrCat(" (also ", alias, ")");
  if (!module.note().empty()) text += " (children not seen)";
  return text;
}

std::string CallablesText(const v1::ListModulesReply& reply) {
  if (reply.callables() == 0) return "";
  return StrCat(", ", HumanCount(reply.callables()),
                reply.callables() == 1 ? " callable" : " callables", " among them,");
}

std::string ClosingLines(const v1::ListModulesReply& reply, const Palette& palette) {
  const std::string stop = reply.stopped_ns() == 0
                               ? " without a stop"
                               : StrCat("; it was stopped for ", HumanNs(reply.stopped_ns()));
  std::string text =
      StrCat(HumanCount(reply.modules_size()), " of ", HumanCount(reply.modules_seen()),
             " modules in ", reply.models(), reply.models() == 1 ? " model" : " models",
             CallablesText(reply), " of pid ", reply.process().pid(), " (python ",
             PythonText(reply.process()), "), read in ", HumanNs(reply.read_ns()), stop, "\n");
  for (const v1::Tie& tie : reply.ties()) {
    text += tie.same_tensor() ? "one tensor:" : "one storage:";
    for (const std::string& name : tie.names()) text += " " + Printable(name);
    text += "\n";
  }
  for (const std::string& warning : reply.warnings())
    text += palette.Paint(Tone::kWarn, StrCat("warning: ", Printable(warning))) + "\n";
  return text;
}

}  // namespace

std::string ModulesText(const v1::ListModulesReply& reply, const Palette& palette,
                        size_t max_width) {
  TextTable table({{.title = "MODULE"},
                   {.title = "TYPE"},
                   {.title = "PARAMETERS", .clip = Clip::kTail},
                   {.title = "SETTINGS", .clip = Clip::kTail}});
  Ancestors ancestors;
  for (const v1::Module& module : reply.modules()) {
    table.AddRow({{Printable(ancestors.Label(module.path()) + NotesText(module)), Tone::kStrong},
                  {Printable(module.type())},
                  {Printable(ParametersText(module))},
                  {Printable(SettingsText(module)), Tone::kFaint}});
  }
  std::string text;
  if (!table.empty()) {
    for (const std::string& line : table.Lines(palette, max_width)) text += line + "\n";
    text += "\n";
  }
  return text + ClosingLines(reply, palette);
}

}  // namespace sbump
