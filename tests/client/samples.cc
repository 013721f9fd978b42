#include "tests/client/samples.h"

namespace sbump::test {
namespace {

constexpr uint64_t kBeginUnixNs = 1'700'000'000 * kSecondNs;

v1::SessionUpdate Update(v1::SessionState state, uint64_t seconds) {
  v1::SessionUpdate update;
  update.set_session_id("s-1");
  update.set_state(state);
  update.mutable_process()->set_pid(4242);
  update.mutable_process()->set_python_version("3.11.7");
  update.mutable_process()->set_strategy("armed: RESUME");
  update.set_unix_ns(kBeginUnixNs + seconds * kSecondNs);
  update.set_delay_ns(10'000);
  return update;
}

v1::PatternStats WithCalls(v1::PatternStats pattern, uint64_t calls) {
  pattern.set_targets(1);
  pattern.set_calls(calls);
  pattern.set_delayed_calls(calls);
  pattern.set_injected_delay_ns(calls * 10'000);
  return pattern;
}

void AddRows(uint64_t calls, v1::SessionUpdate* update) {
  *update->add_targets() = Stats("Engine.step", calls, calls * 10'000);
  *update->add_patterns() = WithCalls(Pattern("*:Engine.step", v1::MATCHED), calls);
  v1::PatternStats* missing = update->add_patterns();
  *missing = Pattern("*:engine.stop", v1::NO_MATCH);
  v1::NearMiss* miss = missing->add_near_misses();
  miss->set_suggestion("/srv/app.py:Engine.stop");
  miss->set_reason("differs in case only");
}

}  // namespace

v1::TargetStats Stats(const std::string& qualname, uint64_t calls, uint64_t injected_delay_ns) {
  v1::TargetStats stats;
  stats.set_pattern("*:Engine.step");
  stats.set_filename("/srv/app.py");
  stats.set_qualname(qualname);
  stats.set_first_line(12);
  stats.set_calls(calls);
  stats.set_delayed_calls(injected_delay_ns == 0 ? 0 : calls);
  stats.set_requested_delay_ns(injected_delay_ns);
  stats.set_injected_delay_ns(injected_delay_ns);
  stats.mutable_overshoot()->set_p50_ns(120);
  stats.mutable_overshoot()->set_p99_ns(4'500);
  stats.set_pid(4242);
  return stats;
}

v1::PatternStats Pattern(const std::string& pattern, v1::PatternStatus status) {
  v1::PatternStats stats;
  stats.set_pattern(pattern);
  stats.set_status(status);
  return stats;
}

v1::SessionUpdate Attaching() {
  v1::SessionUpdate update = Update(v1::ATTACHING, 0);
  update.set_progress("walking 7,000 code objects");
  return update;
}

v1::SessionUpdate Active(uint64_t seconds, uint64_t calls) {
  v1::SessionUpdate update = Update(v1::ACTIVE, seconds);
  AddRows(calls, &update);
  update.mutable_times()->set_active_ns(seconds * kSecondNs);
  return update;
}

v1::SessionUpdate Ended(uint64_t seconds, uint64_t calls, const std::string& reason) {
  v1::SessionUpdate update = Update(v1::ENDED, seconds);
  AddRows(calls, &update);
  update.mutable_end()->set_reason(reason);
  update.mutable_end()->mutable_detach_proof()->set_verified(true);
  v1::SessionTimes* times = update.mutable_times();
  times->set_attach_ns(120'000'000);
  times->set_detach_ns(90'000'000);
  times->set_active_ns(seconds * kSecondNs - times->detach_ns());
  times->set_stops(1);
  times->set_stopped_ns(12'300'000);
  times->set_longest_stop_ns(12'300'000);
  return update;
}

}  // namespace sbump::test
