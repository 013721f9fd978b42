// Experiments from what is asked to what is answered, one after the other, as the user sees them.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "client/commands/command.h"
#include "client/commands/experiment_flags.h"
#include "client/experiment/ranking.h"
#include "client/experiment/run_file.h"
#include "client/interrupt.h"
#include "client/output_file.h"
#include "client/session_outcome.h"
#include "client/stopper.h"
#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

struct ExperimentEnd {
  std::optional<v1::ExperimentPlan> plan;
  std::optional<v1::ExperimentResult> result;  // also one of what there was when it ended badly
  // kOk: it came to its end.
  Outcome outcome;
  absl::Status status;  // of the call
  bool has_pilot = false;
  bool declined = false;
  uint64_t asked_ns = 0;  // the user took to answer
};

// Of one that has a result. All of it outlives what is returned.
MadeExperiment MadeOf(const v1::Experiment& asked, const ExperimentEnd& end);

class ExperimentSession {
 public:
  // Before any other thread starts. `flags` and `context` outlive it.
  ExperimentSession(const CommandContext& context, const ExperimentFlags& flags);

  // kOk, or says why not.
  ExitCode Connect();

  // Tells plan and progress, with JSON also windows; keeps all of it in the file of --output. Where
  // that cannot be written it is stopped. `before_asking`: said where the plan is asked about.
  ExperimentEnd Run(const v1::Experiment& experiment, std::string before_asking = "");

  // Into the file of --output, after the last one.
  void Keep(const v1::Ranking& ranking);

  ControlClient& client() { return *client_; }
  Stopper& stopper() { return *stopper_; }
  OutputFile& standard_output() { return file_; }
  // Of what was written to standard output and the file of --output.
  ExitCode CheckWritten();

 private:
  absl::Status Keep(const v1::RunRequest& begin);
  bool has_written() const { return !file_.failed() && !(kept_ && kept_->failed()); }
  std::string TroubleOfWriting() const;

  const CommandContext& context_;
  const ExperimentFlags& flags_;
  Interrupt interrupt_;
  OutputFile file_ = OutputFile::StandardOutput();
  std::optional<RunFileWriter> kept_;
  std::unique_ptr<ControlClient> client_;
  std::optional<Stopper> stopper_;
};

// kInvalid where it proves nothing.
ExitCode ExitOf(const v1::ExperimentResult& result);
ExitCode ExitOf(const v1::Ranking& ranking);

// To standard output: for people, or a line of JSON; what is told last is what a script reads.
void Tell(const CommandContext& context, bool json, const v1::ExperimentResult& result,
          OutputFile* file);
void Tell(const CommandContext& context, bool json, const v1::Ranking& ranking, OutputFile* file);

}  // namespace sbump
