#include "client/metric/shell_command.h"
#include "client/metric/sources.h"
#include "client/metric/timed_source.h"
#include "client/printable.h"
#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

class CommandSource : public TimedSource {
 public:
  CommandSource(std::string text, std::string command, uint64_t timeout_ns)
      : TimedSource(std::move(text)), command_(std::move(command)), timeout_ns_(timeout_ns) {}

 private:
  absl::StatusOr<Reading> Take() override {
    SB_ASSIGN_OR_RETURN(const std::string output, OutputOf(command_, timeout_ns_, stop()));
    const std::string_view word = StripPythonSpace(output);
    if (const auto value = NumberFrom(word))
      return Reading{.value = *value, .totals = {{"", *value}}};
    return absl::DataLossError(StrCat("the command has to print one number and nothing else; it ",
                                      "printed \"", Printable(word.substr(0, 80)), "\""));
  }

  const std::string command_;
  const uint64_t timeout_ns_;
};

}  // namespace

OpenedSource OpenCommandMetric(const std::string& text, const CommandMetric& metric,
                               const MetricLimits& limits) {
  return std::make_unique<CommandSource>(text, metric.command, limits.timeout_ns);
}

}  // namespace sbump
