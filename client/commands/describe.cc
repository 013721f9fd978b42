#include "client/commands/describe.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

bool IsPositionalOnly(const CLI::Option& option) {
  return option.get_snames().empty() && option.get_lnames().empty();
}

OptionDoc DescribeOption(const CLI::Option& option) {
  OptionDoc doc;
  for (const std::string& name : option.get_snames()) doc.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.names.push_back("--" + name);
  if (doc.names.empty()) doc.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) doc.value = option.get_type_name();
  // CLI11 calls a plain positional's value TEXT, which tells nothing.
  if (IsPositionalOnly(option) && doc.value == "TEXT") doc.value.clear();
  doc.text = option.get_description();
  return doc;
}

// A positional that has a flag as well is never required: the flag will do.
std::string PositionalUsage(const CLI::Option& option) {
  const std::string name = option.get_name(true);
  return option.get_required() && IsPositionalOnly(option) ? " " + name : StrCat(" [", name, "]");
}

}  // namespace

CommandDoc Describe(const CLI::App& app) {
  CommandDoc doc;
  const bool is_root = app.get_parent() == nullptr;
  if (!is_root) doc.name = app.get_name();
  doc.hidden = app.get_group().empty();
  doc.usage = is_root ? "sbumpctl [OPTIONS] COMMAND" : StrCat("sbumpctl ", doc.name, " [OPTIONS]");
  for (const CLI::Option* option : app.get_options()) {
    const bool positional_only = IsPositionalOnly(*option);
    (positional_only ? doc.positionals : doc.options).push_back(DescribeOption(*option));
    if (option->get_positional()) doc.usage += PositionalUsage(*option);
  }
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app.get_subcommands(all)) {
    doc.commands.push_back(Describe(*command));
  }
  return doc;
}

}  // namespace sbump
