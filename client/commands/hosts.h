// Which daemons a command is about, and asking several of them at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/context_file.h"
#include "client/exit_code.h"
#include "daemon/base/str_cat.h"

namespace sbump {

struct CommandContext;

// By --endpoint, else --context or --all-contexts, else SBUMP_ENDPOINT, else the file's current
// context, else the local daemon. Never empty.
absl::StatusOr<std::vector<Host>> HostsOf(const CommandContext& context);

template <typename Reply>
struct Answered {
  Host host;
  absl::StatusOr<Reply> reply;
};

// Calls `ask(number)` for each number below `count`, each on a thread of its own.
void AtOnce(size_t count, const std::function<void(size_t number)>& ask);

// Connects to all of them at once, and asks each.
template <typename Reply>
std::vector<Answered<Reply>> AskAll(
    const std::vector<Host>& hosts,
    const std::function<absl::StatusOr<Reply>(ControlClient& client)>& ask) {
  std::vector<Answered<Reply>> answers;
  for (const Host& host : hosts) answers.push_back({host, absl::UnknownError("not asked")});
  AtOnce(hosts.size(), [&](size_t i) {
    auto client = ControlClient::Connect(hosts[i].endpoint, hosts[i].tls);
    if (client.ok()) {
      answers[i].reply = ask(**client);
    } else {
      answers[i].reply = client.status();
    }
  });
  return answers;
}

// Says on standard error who failed and why. kOk where nobody did, kPartial where somebody
// answered, else what the first failure was.
ExitCode ReportFailures(const std::vector<std::pair<std::string, absl::Status>>& answers,
                        Subject subject);

template <typename Reply>
ExitCode ReportFailures(const std::vector<Answered<Reply>>& answers, Subject subject) {
  std::vector<std::pair<std::string, absl::Status>> states;
  for (const auto& answer : answers) states.emplace_back(answer.host.name, answer.reply.status());
  return ReportFailures(states, subject);
}

// {"host": NAME, ...the fields of `json`}, a line.
std::string WithHost(const std::string& name, const std::string& json);
// {"host": NAME, "error": WORDS}
std::string ErrorLine(const std::string& name, const absl::Status& status);

}  // namespace sbump
