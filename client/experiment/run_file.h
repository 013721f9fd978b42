// A run in a file (.sbump): a header, then of each experiment what was asked and all that was
// answered, a line of JSON each. docs/sbump-file.md is the format. Whatever is said about the run
// is computed again from it.
//
// A file may come from anybody: its size, lines, windows and numbers are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/output_file.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

inline constexpr uint32_t kRunFileVersion = 1;
inline constexpr size_t kMostRunFileBytes = size_t{256} << 20;
inline constexpr size_t kMostRunLineBytes = size_t{4} << 20;
// Experiments; and windows in all of them.
inline constexpr size_t kMostRunStages = 64;
inline constexpr size_t kMostRunWindows = 200'000;
// Of groups, in all windows together.
inline constexpr size_t kMostRunFigures = 8'000'000;
// Processes, arms, results, warnings and the like: of each in one message.
inline constexpr int kMostRunItems = 2'048;

// One experiment: from its `begin` to the next one's.
struct RunStage {
  v1::Experiment experiment;
  std::vector<v1::RecordedWindow> pilot;
  std::optional<v1::ExperimentPlan> plan;    // none where it ended before
  std::vector<v1::RecordedWindow> windows;   // of the plan, in the order of the file
  std::optional<v1::ExperimentResult> told;  // as the daemon answered; none where it was cut off
  // The latest that tells of processes, as far as they are told in one piece; and how the session
  // ended.
  v1::SessionUpdate session;
  std::optional<v1::SessionEnd> end;
};

// The best finding once more, alone.
inline bool IsConfirmation(const RunStage& stage) {
  return stage.experiment.phase() == v1::CONFIRMATION;
}

struct RunFile {
  v1::RunFileHeader header;
  std::vector<RunStage> stages;  // at least one
  // What was told of all of them; none where they were no ranking, or it was cut off.
  std::optional<v1::Ranking> ranking;
  // What of the file could not be read, and is missing above; empty: nothing.
  std::vector<std::string> gaps;
};

// `name` is for messages. kInvalidArgument, "FILE:LINE: why": no .sbump file, one of another major
// version, a line that is none of the format, a number that is not finite, more than one plan of an
// experiment, a window before its plan. kResourceExhausted: beyond the bounds. A last line that is
// not whole, as a crash or a full disk leaves it, is left out and said in `gaps`.
absl::StatusOr<RunFile> ParseRunFile(const std::string& name, std::string_view text);

// As above; "-" is standard input. Also errors of reading.
absl::StatusOr<RunFile> ReadRunFile(const std::string& path);

// Writes line by line, so that a run that is cut off keeps what it has; what was asked first
// with the first answer to it.
class RunFileWriter {
 public:
  // A file that is there keeps what it holds until something is answered: a run that was refused
  // takes no other's place.
  static absl::StatusOr<RunFileWriter> Create(const std::string& path,
                                              const v1::RunFileHeader& header,
                                              const v1::RunRequest& begin);
  // Of the experiment that was begun last.
  void Write(const v1::RunReply& reply);
  // A further experiment's `begin`.
  void Write(const v1::RunRequest& begin);
  // The last line.
  void Write(const v1::RankingLine& ranking);
  bool failed() const { return file_.failed(); }
  // "run.sbump: No space left on device".
  std::string Trouble() const { return file_.Trouble(); }

 private:
  explicit RunFileWriter(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  std::string asked_;  // the first lines, until there is an answer
};

}  // namespace sbump
