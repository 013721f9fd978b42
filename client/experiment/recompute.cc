#include "client/experiment/recompute.h"

#include <vector>

#include "daemon/estimate/estimate_to_proto.h"

namespace sbump {

Recomputed Recompute(const v1::Experiment& experiment, const RunPhase& phase) {
  std::vector<const v1::RecordedWindow*> windows;
  windows.reserve(phase.windows.size());
  for (const v1::RecordedWindow& window : phase.windows) windows.push_back(&window);
  Recomputed made;
  made.recording = RecordingOf(phase.plan, windows);
  if (experiment.margin() != 0) made.options.margin = experiment.margin();
  made.options.seed = phase.plan.seed();
  made.estimate = Estimate(made.recording, made.options);
  made.result = ToProto(made.estimate, phase.told ? phase.told->partial() : true);
  made.result.set_phase(phase.plan.phase() == v1::CONFIRMATION ? v1::CONFIRMATION : v1::MAIN);
  return made;
}

}  // namespace sbump
