#include <limits>

#include "client/commands/command.h"
#include "client/help_text.h"
#include "client/limits.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {

CLI::App* AddCommand(CLI::App* root, const std::string& name) {
  CLI::App* app = root->add_subcommand(name, std::string(TextOf(name).summary));
  return app->fallthrough();
}

CLI::Option* AddRepeated(CLI::App* app, const std::string& names, std::vector<std::string>* values,
                         const std::string& text) {
  return app->add_option(names, *values, text)->allow_extra_args(false);
}

CLI::Option* AddDuration(CLI::App* app, const std::string& names, std::optional<uint64_t>* ns,
                         const std::string& text) {
  const auto parse = [names, ns](const std::string& value) {
    const absl::StatusOr<uint64_t> parsed = ParseDuration(value);
    if (!parsed.ok()) {
      throw CLI::ValidationError(names.substr(names.find("--")),
                                 std::string(ToStd(parsed.status().message())));
    }
    *ns = *parsed;
  };
  return app->add_option_function<std::string>(names, parse, text)->type_name("DURATION");
}

std::string WithoutPercentSign(std::string value) {
  if (value.ends_with('%')) value.pop_back();
  return value;
}

CLI::Option* AddEvery(CLI::App* app, std::optional<uint64_t>* every) {
  const auto store = [every](const uint64_t& value) {
    if (value < 1 || value > kMaxEvery) {
      throw CLI::ValidationError("--every", StrCat("write a whole number from 1 to ", kMaxEvery));
    }
    *every = value;
  };
  return app
      ->add_option_function<uint64_t>("--every", store, "delay each Nth call only (default: 1)")
      ->type_name("N");
}

CLI::Option* AddPid(CLI::App* app, int32_t* pid) {
  return app->add_option("-p,--pid,PID", *pid, "the process, by its decimal id")
      ->type_name("PID")
      ->check(CLI::Range(1, std::numeric_limits<int32_t>::max()).description(""));
}

void AddFormat(CLI::App* app, bool* json, const std::string& for_people) {
  const auto store = [json, for_people](const std::string& value) {
    if (value != for_people && value != "json") {
      throw CLI::ValidationError("--format",
                                 StrCat("\"", value, "\": write ", for_people, " or json"));
    }
    *json = value == "json";
  };
  app->add_option_function<std::string>(
         "-f,--format", store,
         StrCat(for_people, " for people, json for programs: one protobuf JSON message a line ",
                "(default: ", for_people, ")"))
      ->type_name(for_people + "|json");
}

void AddOutput(CLI::App* app, std::string* path) {
  app->add_option("-o,--output", *path, "write there instead of to standard output")
      ->type_name("FILE");
}

void AddSelectionFlags(CLI::App* app, SelectionFlags* flags) {
  app->add_option("--targets", flags->targets_file,
                  "a targets file, one pattern a line; - for standard input")
      ->type_name("FILE");
  AddRepeated(app, "--target", &flags->targets,
              "a pattern, `module:qualname`; repeatable; before those of --targets")
      ->type_name("PATTERN");
  AddRepeated(app, "--exclude", &flags->excludes, "a pattern that subtracts; repeatable")
      ->type_name("PATTERN");
  AddRepeated(app, "--native", &flags->natives,
              "a function outside Python, `file:symbol` or `file+0xoffset`; repeatable")
      ->type_name("TARGET");
  app->add_flag("--paths-only", flags->paths_only,
                "match modules by file name only, never by dotted name");
}

void AddModuleFlags(CLI::App* app, SelectionFlags* flags) {
  AddRepeated(app, "--module", &flags->modules,
              "modules of a PyTorch model, each instance by itself: a glob over paths "
              "(`top.layers.3.*`), `re:REGEX` or `type:GLOB`, as `sbumpctl modules` takes it; "
              "repeatable")
      ->type_name("PATTERN");
  AddRepeated(app, "--module-exclude", &flags->module_excludes,
              "a pattern that subtracts from --module; repeatable")
      ->type_name("PATTERN");
  app->add_option("--module-root", flags->module_root,
                  "the class whose instances --module is about (default: torch.nn.Module)")
      ->type_name("PACKAGE.MODULE.CLASS");
  app->add_option("--module-prefix", flags->module_prefix,
                  "the path of the model itself (default: top)")
      ->type_name("NAME");
  AddCallableFlags(app, &flags->callables);
}

void AddCallableFlags(CLI::App* app, CallableFlags* flags) {
  AddRepeated(app, "--callable", &flags->types,
              "a class whose instances are taken for modules, though they are none: a glob over "
              "its name or its full name; beside vLLM's CUDAGraphWrapper and PiecewiseBackend; "
              "repeatable")
      ->type_name("TYPE");
  app->add_flag("--no-default-callables", flags->no_defaults,
                "do not take CUDAGraphWrapper and PiecewiseBackend for modules");
}

void AddTreeStop(CLI::App* app, std::optional<uint64_t>* max_stop_ns) {
  AddDuration(app, "--max-stop", max_stop_ns,
              "longest time that the process may be stopped where its objects keep changing while "
              "they are read (default: never)");
}

}  // namespace sbump
