#include "daemon/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/strings/escaping.h"

namespace sbump {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("sbump", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *logger;
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f) return true;
  }
  return false;
}

}  // namespace

std::string QuoteLogValue(std::string_view value) {
  if (!NeedsQuotes(value)) return std::string(value);
  return StrCat("\"", absl::Utf8SafeCEscape(ToAbsl(value)), "\"");
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!Logger().should_log(ToSpdlog(level))) return;
  std::string line = StrCat("event=", event);
  for (const LogField& field : fields) {
    line += StrCat(" ", field.key, "=", QuoteLogValue(field.value));
  }
  Logger().log(ToSpdlog(level), "{}", line);
}

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

}  // namespace sbump
