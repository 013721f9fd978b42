// The table that refreshes in place.
#include <unistd.h>

#include <string>

#include "client/printable.h"
#include "client/session_output.h"
#include "client/summary.h"
#include "client/table_view.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

class Live : public SessionOutput {
 public:
  Live(OutputFile* file, Palette palette, std::string_view hint)
      : file_(file), palette_(palette), hint_(hint) {}

  void Show(const v1::SessionUpdate& update, const SessionModel& model) override {
    if (update.state() == v1::ENDED) return;  // the summary says it
    file_->Write(frame_.Redraw(FrameLines(model, palette_, SizeOf(file_->fd()), hint_)));
  }

  void Finish(const SessionModel& model) override {
    std::string text = frame_.Erase();
    for (const std::string& line : SummaryLines(model, palette_, SizeOf(file_->fd()).columns)) {
      text += line + "\n";
    }
    file_->Write(text);
  }

  // On the one line below the frame and without a newline, so that the next frame covers it.
  void Notice(std::string_view text) override {
    const size_t columns = SizeOf(file_->fd()).columns;
    const std::string line =
        StrCat("\r", ClipTo(Printable(text), columns - 1, Clip::kTail), "\x1b[K");
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  OutputFile* file_;
  Palette palette_;
  std::string_view hint_;
  Frame frame_;
};

}  // namespace

std::unique_ptr<SessionOutput> LiveSessionOutput(OutputFile* file, Palette palette,
                                                 std::string_view hint) {
  return std::make_unique<Live>(file, palette, hint);
}

}  // namespace sbump
