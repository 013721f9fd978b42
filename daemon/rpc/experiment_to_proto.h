// What an experiment tells, as messages.
#pragma once

#include "daemon/experiment/experiment.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

v1::ExperimentProgress ToProto(const ExperimentProgress& progress);
v1::ExperimentPlan ToProto(const ExperimentPlan& plan);
v1::RecordedWindow ToProto(ExperimentPhase phase, const Window& window);
v1::ExperimentResult ToProto(const ExperimentAnswer& answer);

}  // namespace sbump
