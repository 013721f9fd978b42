#include <boost/json.hpp>
#include <ctime>

#include "absl/strings/escaping.h"
#include "daemon/audit/audit_log.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

namespace json = boost::json;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kMaxTextBytes = 4096;  // of one value: a command line can have megabytes
constexpr size_t kMaxRules = 1000;

// Names come from hostile processes: what is not UTF-8 is escaped, what is long is cut.
json::string Text(std::string_view text) {
  std::string kept(text.substr(0, kMaxTextBytes));
  if (!IsStrictUtf8(kept)) kept = absl::Utf8SafeCHexEscape(kept);
  if (!IsStrictUtf8(kept)) kept = absl::CHexEscape(kept);
  if (text.size() > kMaxTextBytes) kept += "...";
  return json::string(kept);
}

std::string TimeOfDay(uint64_t unix_ns) {
  const time_t seconds = static_cast<time_t>(unix_ns / kNsPerSecond);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const size_t size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + size, sizeof(text) - size, ".%06uZ",
           static_cast<unsigned>(unix_ns % kNsPerSecond / 1000));
  return text;
}

json::object CallerOf(const Caller& caller) {
  json::object object;
  if (caller.IsLocal()) {
    object["uid"] = caller.uid;
    object["pid"] = caller.pid;
  } else {
    json::array names;
    for (const std::string& name : caller.names) names.push_back(Text(name));
    object["certificate"] = std::move(names);
    object["address"] = Text(caller.address);
  }
  return object;
}

json::object TargetOf(const TargetFacts& target) {
  json::array uids;
  for (const uid_t uid : target.uids) uids.push_back(json::value(uid));
  return {{"pid", target.pid},
          {"start_ticks", target.start_ticks},
          {"exe", Text(target.exe)},
          {"uids", std::move(uids)},
          {"cgroup", Text(target.cgroup)},
          {"cmdline", Text(target.cmdline)}};
}

json::array RulesOf(const std::vector<AuditRule>& rules) {
  json::array array;
  for (const AuditRule& rule : rules) {
    if (array.size() == kMaxRules) {
      array.push_back(json::object{{"more", rules.size() - kMaxRules}});
      break;
    }
    array.push_back(json::object{
        {"pattern", Text(rule.pattern)}, {"delay_ns", rule.delay_ns}, {"every", rule.every}});
  }
  return array;
}

json::array ExcludesOf(const std::vector<std::string>& patterns) {
  json::array array;
  for (size_t i = 0; i < patterns.size() && i < kMaxRules; ++i) array.push_back(Text(patterns[i]));
  return array;
}

}  // namespace

std::string ToJsonLine(const AuditRecord& record, uint64_t unix_ns) {
  json::object object;
  object["time"] = TimeOfDay(unix_ns);
  object["event"] = record.event;
  object["caller"] = CallerOf(record.caller);
  if (!record.action.empty()) object["action"] = Text(record.action);
  if (!record.session.empty()) object["session"] = Text(record.session);
  if (record.target) object["target"] = TargetOf(*record.target);
  if (!record.rules.empty()) object["rules"] = RulesOf(record.rules);
  if (!record.exclude.empty()) object["exclude"] = ExcludesOf(record.exclude);
  if (record.delay_ns) object["delay_ns"] = *record.delay_ns;
  if (!record.mode.empty()) object["mode"] = record.mode;
  if (!record.on.empty()) object["on"] = record.on;
  if (record.children) object["children"] = *record.children;
  if (record.ttl_ns != 0) object["ttl_ns"] = record.ttl_ns;
  if (!record.reason.empty()) object["reason"] = Text(record.reason);
  if (record.totals) {
    object["totals"] = {{"calls", record.totals->calls},
                        {"delayed_calls", record.totals->delayed_calls},
                        {"requested_delay_ns", record.totals->requested_delay_ns},
                        {"injected_delay_ns", record.totals->injected_delay_ns}};
  }
  if (record.clean) object["clean"] = *record.clean;
  return json::serialize(object) + "\n";
}

}  // namespace sbump
