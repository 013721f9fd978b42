// What trying says of a kernel that has a feature, and of one that has not: here, of a helper of a
// number that no kernel knows.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "daemon/attach/kernel_features.h"

namespace sbump {
namespace {

using Answer = KernelFeature::Answer;

TEST(KernelFeaturesLiveTest, AHelperThatIsThere) {
  EXPECT_EQ(HasHelper(BPF_FUNC_loop, true), Answer::kYes);
  EXPECT_EQ(HasHelper(BPF_FUNC_copy_from_user_task, true), Answer::kYes);
}

TEST(KernelFeaturesLiveTest, AHelperThatNoKernelHas) {
  for (const bool sleepable : {false, true})
    EXPECT_EQ(HasHelper(1'000'000, sleepable), Answer::kNo);
}

TEST(KernelFeaturesLiveTest, NothingIsMissingWhereTestsRun) {
  EXPECT_EQ(MissingOf(ExamineKernelFeatures()), "");
}

}  // namespace
}  // namespace sbump
