// What this kernel has of what the BPF programs need and use: found by trying each by itself, never
// by the version, so that a refusal can name what is missing.
#pragma once

#include <string>
#include <vector>

namespace sbump {

struct KernelFeature {
  enum class Answer { kYes, kNo, kUnknown };  // kUnknown: it could not be tried
  std::string name;
  Answer answer = Answer::kUnknown;
  // Empty: sbump needs it. Else what is done instead, and what that costs.
  std::string instead;
};

// Whether this kernel's BPF programs can call the helper of that number (enum bpf_func_id).
KernelFeature::Answer HasHelper(int helper, bool sleepable);

// Takes some milliseconds.
std::vector<KernelFeature> ExamineKernelFeatures();

// The names of those that are needed and missing, joined by commas.
std::string MissingOf(const std::vector<KernelFeature>& features);

}  // namespace sbump
