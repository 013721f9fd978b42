// JSON and append-only text.
#include <string>
#include <utility>

#include "client/human_units.h"
#include "client/json_output.h"
#include "client/new_warnings.h"
#include "client/printable.h"
#include "client/session_output.h"
#include "client/summary.h"
#include "client/target_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kRowsEachInterval = 20;

class Json : public SessionOutput {
 public:
  explicit Json(OutputFile* file) : file_(file) {}
  void Show(const v1::SessionUpdate& update, const SessionModel&) override {
    file_->Write(JsonLine(update));
  }
  void Finish(const SessionModel&) override {}

 private:
  OutputFile* file_;
};

class Plain : public SessionOutput {
 public:
  Plain(OutputFile* file, Palette palette) : file_(file), palette_(palette) {}

  void Show(const v1::SessionUpdate& update, const SessionModel& model) override {
    TellNew(update, model.head());
    if (update.state() != v1::ACTIVE) return;
    if (!std::exchange(announced_, true)) {
      file_->Write(HeadingLine(model, palette_) + "\n");
      TellTroubledPatterns(model);
      return;
    }
    WriteInterval(model);
  }

  void Finish(const SessionModel& model) override {
    std::string text = announced_ ? "\n" : "";
    for (const std::string& line : SummaryLines(model, palette_)) text += line + "\n";
    file_->Write(text);
  }

 private:
  // Progress and warnings are talk. A warning is told once, however often it is sent.
  void TellNew(const v1::SessionUpdate& update, const v1::SessionUpdate& head) {
    if (!update.progress().empty() && update.progress() != last_progress_) {
      last_progress_ = update.progress();
      Say(Printable(last_progress_));
    }
    for (const std::string& warning : warnings_.Take(head)) Say(warning);
  }

  void TellTroubledPatterns(const SessionModel& model) {
    PatternLinesOptions options;
    options.with_counters = false;
    options.troubled_only = true;
    options.limit = kRowsEachInterval;
    for (const v1::PatternStats& pattern : model.head().patterns()) {
      if (pattern.status() != v1::NO_MATCH && pattern.status() != v1::AMBIGUOUS) continue;
      for (const std::string& line : PatternLines(model.head().patterns(), Palette(false), options))
        Say(line);
      return;
    }
  }

  void WriteInterval(const SessionModel& model) {
    std::string text =
        StrCat("\n", HumanTime(model.head().unix_ns()), "  ", HumanNs(model.active_ns()), " active",
               model.head().inexact() ? "  INEXACT" : "");
    const auto rows = model.TopRecentRows(kRowsEachInterval + 1);
    if (rows.empty()) {
      file_->Write(text + "  no calls\n");
      return;
    }
    text += "\n";
    const std::vector<const TargetRow*> shown(
        rows.begin(), rows.begin() + std::min(rows.size(), kRowsEachInterval));
    for (const std::string& line :
         TargetTable(model, shown, RateKind::kLastInterval).Lines(palette_)) {
      text += line + "\n";
    }
    if (shown.size() < rows.size()) text += "... and more\n";
    file_->Write(text);
  }

  OutputFile* file_;
  Palette palette_;
  bool announced_ = false;
  NewWarnings warnings_;
  std::string last_progress_;
};

}  // namespace

std::unique_ptr<SessionOutput> JsonSessionOutput(OutputFile* file) {
  return std::make_unique<Json>(file);
}

std::unique_ptr<SessionOutput> PlainSessionOutput(OutputFile* file, Palette palette) {
  return std::make_unique<Plain>(file, palette);
}

}  // namespace sbump
