#include "client/experiment/recompute.h"

#include <vector>

#include "daemon/estimate/estimate_to_proto.h"

namespace sbump {

Recomputed Recompute(const RunStage& stage) {
  std::vector<const v1::RecordedWindow*> windows;
  windows.reserve(stage.windows.size());
  for (const v1::RecordedWindow& window : stage.windows) windows.push_back(&window);
  Recomputed made;
  made.recording = RecordingOf(*stage.plan, windows);
  if (stage.experiment.margin() != 0) made.options.margin = stage.experiment.margin();
  made.options.seed = stage.plan->seed();
  made.estimate = Estimate(made.recording, made.options);
  made.result = ToProto(made.estimate, stage.told ? stage.told->partial() : true);
  made.result.set_phase(IsConfirmation(stage) ? v1::CONFIRMATION : v1::MAIN);
  return made;
}

}  // namespace sbump
