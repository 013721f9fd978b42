// The table that refreshes in place.
#include <unistd.h>

#include <string>

#include "client/session_output.h"
#include "client/summary.h"
#include "client/table_view.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

class Live : public SessionOutput {
 public:
  Live(OutputFile* file, Palette palette) : file_(file), palette_(palette) {}

  void Show(const v1::SessionUpdate& update, const SessionModel& model) override {
    if (update.state() == v1::ENDED) return;  // the summary says it
    file_->Write(frame_.Redraw(FrameLines(model, palette_, SizeOf(file_->fd()))));
  }

  void Finish(const SessionModel& model) override {
    std::string text = frame_.Erase();
    for (const std::string& line : SummaryLines(model, palette_, SizeOf(file_->fd()).columns)) {
      text += line + "\n";
    }
    file_->Write(text);
  }

  // On the line below the frame and without a newline, so that the next frame covers it.
  void Notice(std::string_view text) override {
    const std::string line = StrCat("\r", text, "\x1b[K");
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  OutputFile* file_;
  Palette palette_;
  Frame frame_;
};

}  // namespace

std::unique_ptr<SessionOutput> LiveSessionOutput(OutputFile* file, Palette palette) {
  return std::make_unique<Live>(file, palette);
}

}  // namespace sbump
