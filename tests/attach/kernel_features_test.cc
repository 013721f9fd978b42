#include "daemon/attach/kernel_features.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

using Answer = KernelFeature::Answer;

TEST(KernelFeaturesTest, NamesWhatIsNeededAndMissing) {
  EXPECT_EQ(MissingOf({{"bpf_loop", Answer::kNo, ""},
                       {"BTF", Answer::kYes, ""},
                       {"sleepable programs", Answer::kNo, ""}}),
            "bpf_loop, sleepable programs");
}

TEST(KernelFeaturesTest, WhatCanBeDoneWithoutOrCannotBeTriedIsNotMissing) {
  EXPECT_EQ(
      MissingOf({{"uprobe_multi", Answer::kNo, "perf events"}, {"bpf_loop", Answer::kUnknown, ""}}),
      "");
}

}  // namespace
}  // namespace sbump
