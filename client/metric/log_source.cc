#include <re2/re2.h>

#include <cmath>

#include "client/metric/log_tail.h"
#include "client/metric/sources.h"
#include "client/metric/timed_source.h"
#include "client/printable.h"
#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Where a running total's number is looked for that was written before.
constexpr size_t kTextBefore = 1024 * 1024;

re2::RE2::Options Quiet() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

class LogSource : public TimedSource {
 public:
  LogSource(std::string text, const LogMetric& metric, LogTail tail)
      : TimedSource(std::move(text)),
        total_(metric.total),
        regex_(metric.regex, Quiet()),
        tail_(std::move(tail)) {}

  // The last number that the log holds already.
  absl::Status Init() {
    if (total_ != LogTotal::kLast) return absl::OkStatus();
    SB_ASSIGN_OR_RETURN(const std::string before, tail_.TextBefore(kTextBefore));
    std::string_view rest = before;
    while (rest.find('\n') != rest.npos) {
      Look(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(rest.find('\n') + 1);
    }
    failed_ = absl::OkStatus();
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Reading> Take() override;
  void Look(std::string_view line);
  void Add(double number);

  const LogTotal total_;
  const re2::RE2 regex_;
  LogTail tail_;
  double value_ = 0;
  bool has_matched_ = false;
  absl::Status failed_;  // the first line of this read that was no good
};

void LogSource::Add(double number) {
  if (total_ == LogTotal::kSum) {
    value_ += number;
    return;
  }
  if (has_matched_ && number < value_) {
    failed_.Update(absl::AbortedError(
        StrCat("the number in the log fell from ", NumberText(value_), " to ", NumberText(number),
               "; its process began again, or this is no running total (sum: adds numbers up)")));
  }
  value_ = number;
  has_matched_ = true;
}

void LogSource::Look(std::string_view line) {
  if (total_ == LogTotal::kLines) {
    if (re2::RE2::PartialMatch({line.data(), line.size()}, regex_)) value_ += 1;
    return;
  }
  re2::StringPiece captured;
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, regex_, &captured)) return;
  const std::string_view word(captured.data(), captured.size());
  // A sum would never be a number again.
  const auto number = NumberFrom(word);
  if (number && std::isfinite(*number)) return Add(*number);
  failed_.Update(absl::DataLossError(StrCat("what the group captured is not a number: \"",
                                            Printable(word.substr(0, 40)), "\" in the line \"",
                                            Printable(line.substr(0, 120)), "\"")));
}

absl::StatusOr<Reading> LogSource::Take() {
  failed_ = absl::OkStatus();
  SB_RETURN_IF_ERROR(tail_.ReadLines([this](std::string_view line) { Look(line); }));
  SB_RETURN_IF_ERROR(failed_);
  if (total_ == LogTotal::kLast && !has_matched_)
    return absl::NotFoundError("no line of the log matches yet");
  return Reading{.value = value_, .totals = {{"", value_}}};
}

}  // namespace

OpenedSource OpenLogMetric(const std::string& text, const LogMetric& metric) {
  absl::StatusOr<LogTail> tail = LogTail::Open(metric.file);
  if (!tail.ok()) return Annotate(tail.status(), Printable(text));
  auto source = std::make_unique<LogSource>(text, metric, *std::move(tail));
  SB_RETURN_IF_ERROR(source->Init());
  return std::unique_ptr<MetricSource>(std::move(source));
}

}  // namespace sbump
