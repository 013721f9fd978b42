#include "daemon/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/metrics/exporter.h"

namespace sbump {
namespace {

constexpr char kDefaultConfig[] = "/etc/sbump/sbumpd.conf";
constexpr char kDefaultEndpoint[] = "unix:/run/sbumpd/sbumpd.sock";
constexpr char kDefaultStateDir[] = "/run/sbumpd";
constexpr int kBadArguments = 2;

// Endpoints that are none, and options that need each other. Empty: nothing is wrong.
std::string Mistake(const DaemonOptions& options) {
  const FrontDoorOptions& front = options.front;
  for (const std::string& endpoint : front.listen) {
    if (const absl::Status status = CheckListen(endpoint); !status.ok())
      return std::string(status.message());
  }
  const bool tcp = std::any_of(front.listen.begin(), front.listen.end(),
                               [](const std::string& one) { return one.starts_with("tcp:"); });
  if (!front.socket_group.empty() && options.gate.policy_file.empty())
    return "--socket-group needs --policy: without one, root alone is served";
  if (tcp && options.gate.policy_file.empty())
    return "--listen tcp: needs --policy: without one, root on the local socket alone is served";
  if (tcp && !front.tls.complete())
    return "--listen tcp: needs --tls-ca, --tls-cert and --tls-key: nothing is served in plain "
           "text";
  if (!options.metrics.empty()) {
    const absl::Status status = CheckMetricsAddress(options.metrics, options.metrics_any);
    if (!status.ok()) return std::string(status.message());
  }
  if (!tcp && front.tls.any()) return "--tls-ca, --tls-cert and --tls-key need --listen tcp:...";
  return "";
}

// The flags, which are also the names in the file.
void Declare(CLI::App& app, DaemonOptions& options) {
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option(
      "--listen", options.front.listen,
      std::string("unix:/path.sock (root only, 0600) or tcp:HOST:PORT (TLS 1.3 with client "
                  "certificates; needs --policy and the three --tls files) to serve on; "
                  "repeatable; default ") +
          kDefaultEndpoint);
  app.add_flag("--listen-any", options.front.listen_any,
               "allow a tcp listener on every interface (0.0.0.0, ::)");
  app.add_option("--tls-ca", options.front.tls.ca,
                 "file (PEM) with the CAs whose client certificates are accepted; this and the "
                 "other TLS files are taken anew on SIGHUP");
  app.add_option("--tls-cert", options.front.tls.cert,
                 "file (PEM) with the daemon's certificate and its chain");
  app.add_option("--tls-key", options.front.tls.key,
                 "file (PEM) with its key, which nobody else may read");
  app.add_option(
      "--state-dir", options.state_dir,
      std::string(
          "directory (0700, created if absent) for the journals of armed fields; keep it over "
          "restarts of the daemon; default ") +
          kDefaultStateDir);
  app.add_option("--socket-group", options.front.socket_group,
                 "group that may connect to the Unix sockets too (0660); needs --policy");
  app.add_option(
      "--policy", options.gate.policy_file,
      "file (YAML) that says who may do what; taken anew on SIGHUP; default: root alone");
  app.add_option("--audit-log", options.gate.audit_file,
                 "file to append a JSON line to for each attach, change, end and refusal; opened "
                 "anew on SIGHUP; without a record nothing is attached; default: none");
  app.add_option("--metrics", options.metrics,
                 "ADDRESS:PORT for Prometheus to scrape, on loopback; default: none");
  app.add_flag("--metrics-any", options.metrics_any,
               "allow --metrics on other addresses, where anybody can read it");
  const std::map<std::string, LogLevel> levels = {{"debug", LogLevel::kDebug},
                                                  {"info", LogLevel::kInfo},
                                                  {"warning", LogLevel::kWarning},
                                                  {"error", LogLevel::kError}};
  app.add_option("--log-level", options.log_level, "debug, info, warning or error; default info")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
}

// "FILE:LINE: what", by reading each line alone: CLI11 does not say where. Empty: no line of it is
// wrong by itself.
std::string MistakeInFile(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    CLI::App app;
    DaemonOptions unused;
    Declare(app, unused);
    std::istringstream alone(line);
    try {
      app.parse_from_stream(alone);
    } catch (const CLI::ParseError& error) {
      return StrCat(path, ":", number, ": ", error.what());
    }
  }
  return "";
}

int Explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) {
    for (const std::string& path : app["--config"]->as<std::vector<std::string>>()) {
      if (const std::string mistake = MistakeInFile(path); !mistake.empty()) {
        std::cerr << mistake << "\n";
        return kBadArguments;
      }
    }
  }
  return app.exit(error) == 0 ? 0 : kBadArguments;
}

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
  Declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Explain(app, error);
  }
  if (const std::string mistake = Mistake(options); !mistake.empty()) {
    std::cerr << mistake << "\n";
    return kBadArguments;
  }
  if (options.front.listen.empty()) options.front.listen = {kDefaultEndpoint};
  if (options.state_dir.empty()) options.state_dir = kDefaultStateDir;
  return -1;
}

}  // namespace sbump
