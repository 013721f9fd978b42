// What a scripted daemon says of an experiment, and how a user asks for one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "proto/sbump/v1/experiments.pb.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {

// ---- What a daemon says ----

inline v1::RunReply Plan() {
  v1::RunReply reply;
  v1::ExperimentPlan& plan = *reply.mutable_plan();
  v1::ExperimentPlan::Group& group = *plan.add_groups();
  group.set_name("targets");
  group.set_role(v1::TESTED);
  group.set_hits_per_unit(2);
  plan.add_arms()->set_kind(v1::SHAM);
  plan.mutable_arms(0)->add_delay_ns(0);
  plan.add_arms()->set_kind(v1::DOSE);
  plan.mutable_arms(1)->add_delay_ns(50'000);
  plan.set_blocks(12);
  plan.set_window_ns(kSecondNs);
  plan.set_duration_ns(30 * kSecondNs);
  plan.set_unit_ns(1e6);
  return reply;
}

inline v1::RunReply Window(v1::ExperimentPhase phase) {
  v1::RunReply reply;
  reply.mutable_window()->set_phase(phase);
  reply.mutable_window()->set_units(10);
  return reply;
}

inline v1::RunReply Answer(const std::string& name, v1::Verdict verdict, bool partial = false) {
  v1::RunReply reply;
  v1::GroupResult& result = *reply.mutable_result()->add_results();
  result.set_name(name);
  result.set_role(v1::TESTED);
  result.set_verdict(verdict);
  result.set_criticality(verdict == v1::MATTERS ? 1 : 0);
  result.set_ci_low(result.criticality() - 0.01);
  result.set_ci_high(result.criticality() + 0.01);
  result.set_hits_per_unit(2);
  result.set_blocks(12);
  result.set_p_familywise(verdict == v1::MATTERS ? 0.001 : 1);
  reply.mutable_result()->set_partial(partial);
  return reply;
}

inline v1::RunReply Over() {
  v1::RunReply reply;
  *reply.mutable_session() = Ended(5, 100, "stopped by its client");
  return reply;
}

// Until it is stopped, then what it knows.
inline ExperimentScript UntilStopped(const std::string& name) {
  return {.first = {Plan(), Window(v1::MAIN)},
          .wait_for_stop = true,
          .last = {Answer(name, v1::MATTERS, true), Over()}};
}

inline ExperimentScript Whole(const std::string& name, v1::Verdict verdict) {
  return {.first = {Plan(), Window(v1::MAIN)}, .last = {Answer(name, verdict), Over()}};
}

// ---- What a user does ----

inline std::vector<std::string> Sweep(const FakeControl& daemon, std::vector<std::string> more) {
  std::vector<std::string> words = {SbumpctlPath(), "--endpoint",  daemon.endpoint(), "sweep",
                                    "--pid",        "4242",        "--target",        "*:parse",
                                    "--metric",     "calls:*:step"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::vector<std::string> SweepWithoutAsking(const FakeControl& daemon) {
  return Sweep(daemon, {"--yes", "--format", "json"});
}

inline FakeControl OneExperiment(ExperimentScript experiment) {
  Script script;
  script.experiments = {std::move(experiment)};
  return FakeControl(std::move(script));
}

}  // namespace sbump::test
