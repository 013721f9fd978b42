// One line per event on standard error: time level event key=value ...
//
//   Log(LogLevel::kInfo, "session_active", {{"pid", pid}, {"targets", n}});
//
// ERROR means that someone must act. Safe to call from any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "daemon/base/str_cat.h"

namespace sbump {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <typename Number>
  LogField(std::string_view k, Number v) : key(k), value(StrCat(v)) {}
};

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

// Lines below `level` are dropped. Default: kInfo.
void SetLogLevel(LogLevel level);

// `value` as it stands in a key=value line: quoted and escaped when it has to be.
std::string QuoteLogValue(std::string_view value);

}  // namespace sbump
