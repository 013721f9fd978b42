#include "client/commands/hosts.h"

#include <thread>

#include "client/commands/command.h"
#include "client/json_output.h"
#include "daemon/base/status.h"
#include "google/protobuf/struct.pb.h"

namespace sbump {
namespace {

constexpr size_t kMostAtOnce = 64;

absl::StatusOr<Host> HostAt(const std::string& endpoint, const TlsPaths& tls) {
  SB_ASSIGN_OR_RETURN(Endpoint parsed, ParseEndpoint(endpoint));
  std::string name = parsed.ToString();
  return Host{std::move(name), std::move(parsed), tls};
}

// Flags win over the file.
Host Complete(Host host, const TlsPaths& flags) {
  const auto take = [](std::string& to, const std::string& from) {
    if (!from.empty()) to = from;
  };
  take(host.tls.ca, flags.ca);
  take(host.tls.cert, flags.cert);
  take(host.tls.key, flags.key);
  return host;
}

absl::StatusOr<std::vector<Host>> FromContexts(const CommandContext& context) {
  SB_ASSIGN_OR_RETURN(const ContextFile file, LoadContextFile(context.environment));
  std::vector<Host> hosts;
  if (context.all_contexts) {
    if (file.contexts.empty())
      return absl::InvalidArgumentError(StrCat("--all-contexts: ", file.path, " names none"));
    for (const Host& host : file.contexts) hosts.push_back(Complete(host, context.tls));
    return hosts;
  }
  for (const std::string& name : context.contexts) {
    const Host* host = file.Find(name);
    if (host == nullptr) {
      return absl::InvalidArgumentError(StrCat("--context ", name, ": there is no such context in ",
                                               file.path, " (sbumpctl contexts shows them)"));
    }
    hosts.push_back(Complete(*host, context.tls));
  }
  return hosts;
}

absl::StatusOr<std::vector<Host>> Default(const CommandContext& context) {
  const char* named = context.environment("SBUMP_ENDPOINT");
  if (named == nullptr || *named == '\0') {
    SB_ASSIGN_OR_RETURN(const ContextFile file, LoadContextFile(context.environment));
    if (!file.current.empty()) return std::vector{Complete(*file.Find(file.current), context.tls)};
    named = kDefaultEndpoint.data();
  }
  SB_ASSIGN_OR_RETURN(Host host, HostAt(named, context.tls));
  return std::vector{std::move(host)};
}

}  // namespace

absl::StatusOr<std::vector<Host>> HostsOf(const CommandContext& context) {
  if (!context.endpoints.empty()) {
    std::vector<Host> hosts;
    for (const std::string& endpoint : context.endpoints) {
      SB_ASSIGN_OR_RETURN(Host host, HostAt(endpoint, context.tls));
      hosts.push_back(std::move(host));
    }
    return hosts;
  }
  if (!context.contexts.empty() || context.all_contexts) return FromContexts(context);
  return Default(context);
}

void AtOnce(size_t count, const std::function<void(size_t number)>& ask) {
  for (size_t first = 0; first < count; first += kMostAtOnce) {
    std::vector<std::thread> threads;
    for (size_t i = first; i < std::min(count, first + kMostAtOnce); ++i)
      threads.emplace_back(ask, i);
    for (std::thread& thread : threads) thread.join();
  }
}

ExitCode ReportFailures(const std::vector<std::pair<std::string, absl::Status>>& answers,
                        Subject subject) {
  ExitCode first = ExitCode::kOk;
  size_t failed = 0;
  for (const auto& [name, status] : answers) {
    if (status.ok()) continue;
    const ExitCode code =
        Fail(absl::Status(status.code(), StrCat(name, ": ", status.message())), subject);
    if (++failed == 1) first = code;
  }
  return failed == 0 || failed == answers.size() ? first : ExitCode::kPartial;
}

std::string WithHost(const std::string& name, const std::string& json) {
  google::protobuf::Value host;
  host.set_string_value(name);
  std::string text = JsonLine(host);  // a quoted string
  text.pop_back();
  return StrCat("{\"host\":", text, json.starts_with("{}") ? "" : ",", json.substr(1));
}

std::string ErrorLine(const std::string& name, const absl::Status& status) {
  google::protobuf::Struct object;
  (*object.mutable_fields())["error"].set_string_value(std::string(status.message()));
  return WithHost(name, JsonLine(object));
}

}  // namespace sbump
