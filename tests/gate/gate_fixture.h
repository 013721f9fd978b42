// The gate with a policy and a log, and no daemon around it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/gate/gate.h"
#include "tests/process/child.h"

namespace sbump {

inline constexpr char kPolicy[] =
    "callers:\n"
    "  - {user: 1, role: operator, limits: {max_sessions: 2, max_delay: 1ms, max_duty: 10%}}\n"
    "  - {user: 2, role: viewer}\n";

inline Caller Local(uid_t uid) { return {.uid = uid, .pid = 7}; }

inline AttachSpec Spec(uint64_t delay_ns = 0) {
  AttachSpec spec;
  spec.pid = getpid();
  spec.interval_ns = 10'000'000'000;
  std::vector<Pattern> patterns;
  patterns.push_back(*ParsePattern("*:f"));
  spec.rules.targets =
      std::make_shared<const TargetList>(std::move(patterns), std::vector<Pattern>(), false);
  spec.rules.dose.delay_ns = delay_ns;
  return spec;
}

class GateTest : public testing::Test {
 protected:
  GateTest() {
    unlink(audit_.c_str());
    Write(kPolicy);
    gate_ = Open();
  }
  std::unique_ptr<Gate> Open() {
    return *Gate::Open({.policy_file = policy_, .audit_file = audit_}, meters_);
  }
  void Write(const std::string& text) {
    std::ofstream(policy_) << text;
    chmod(policy_.c_str(), 0600);
  }
  // Refusals are written by a thread of their own.
  std::string LogWith(const std::string& words) const {
    for (int i = 0; i < 1000 && Log().find(words) == std::string::npos; ++i) usleep(10'000);
    return Log();
  }
  TargetProcess OpenSomeProcess() {
    child_.emplace([] { pause(); });
    return *TargetProcess::Open(child_->pid());
  }
  std::string Log() const {
    std::stringstream text;
    text << std::ifstream(audit_).rdbuf();
    return text.str();
  }
  const std::string policy_ = testing::TempDir() + "/policy.yaml";
  const std::string audit_ = testing::TempDir() + "/audit.jsonl";
  Meters meters_;
  std::optional<Child> child_;
  std::unique_ptr<Gate> gate_;
};

}  // namespace sbump
