#include "daemon/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>

#include "daemon/base/version.h"

namespace sbump {
namespace {

constexpr char kDefaultConfig[] = "/etc/sbump/sbumpd.conf";
constexpr char kDefaultEndpoint[] = "unix:/run/sbumpd/sbumpd.sock";
constexpr char kDefaultStateDir[] = "/run/sbumpd";
constexpr int kBadArguments = 2;

}  // namespace

int ParseDaemonOptions(int argc, char** argv, DaemonOptions& options) {
  CLI::App app(
      "sbumpd: attaches to running CPython processes for sbumpctl and other clients of "
      "sbump.v1.Control");
  app.set_version_flag("--version", std::string("sbumpd ") + kVersion);
  const bool has_default = access(kDefaultConfig, R_OK) == 0;
  app.set_config("--config", has_default ? kDefaultConfig : "",
                 std::string("file with these flags as name = value lines; default ") +
                     kDefaultConfig + " if present");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option(
      "--listen", options.listen,
      std::string("unix:/path.sock to serve on, root only (0600); repeatable; default ") +
          kDefaultEndpoint);
  app.add_option(
      "--state-dir", options.state_dir,
      std::string(
          "directory (0700, created if absent) for the journals of armed fields; keep it over "
          "restarts of the daemon; default ") +
          kDefaultStateDir);
  const std::map<std::string, LogLevel> levels = {{"debug", LogLevel::kDebug},
                                                  {"info", LogLevel::kInfo},
                                                  {"warning", LogLevel::kWarning},
                                                  {"error", LogLevel::kError}};
  app.add_option("--log-level", options.log_level, "debug, info, warning or error; default info")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadArguments;
  }
  if (options.listen.empty()) options.listen = {kDefaultEndpoint};
  if (options.state_dir.empty()) options.state_dir = kDefaultStateDir;
  return -1;
}

}  // namespace sbump
