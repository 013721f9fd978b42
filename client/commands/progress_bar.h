// How far an experiment is.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "client/experiment/experiment_view.h"
#include "client/terminal.h"
#include "daemon/base/str_cat.h"

namespace sbump {

// A line on a terminal's standard error that is written over again and again.
class ProgressBar {
 public:
  void Show(const v1::ExperimentProgress& progress) {
    if (!IsTerminal(STDERR_FILENO)) return;
    Write(StrCat("\r", ProgressLine(progress, SizeOf(STDERR_FILENO).columns - 1), "\x1b[K"));
    is_shown_ = true;
  }
  void Erase() {
    if (std::exchange(is_shown_, false)) Write("\r\x1b[K");
  }

 private:
  static void Write(const std::string& text) {
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
  bool is_shown_ = false;
};

}  // namespace sbump
