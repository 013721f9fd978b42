#include "daemon/match/near_miss.h"

#include <chrono>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Code {
  std::string filename;
  std::vector<std::string> modules;
  std::string qualname;
};

const std::vector<Code> kLoaded = {
    {"/opt/vllm/worker/model_runner.py", {"vllm.worker.model_runner"}, "ModelRunner.execute_model"},
    {"/opt/vllm/worker/model_runner.py", {"vllm.worker.model_runner"}, "ModelRunner.__init__"},
    {"/opt/vllm/engine/Engine.py", {"vllm.engine.Engine"}, "Engine.step"},
    {"/opt/vllm/engine/Engine.py", {"vllm.engine.Engine"}, "run.<locals>.inner"},
    {"/opt/torch/nn/linear.py", {"torch.nn.linear"}, "Linear.forward"},
    {"/opt/torch/nn/conv.py", {"torch.nn.conv"}, "Conv2d.forward"},
    {"/opt/torch/nn/conv.py", {"torch.nn.conv"}, "Conv1d.forward"},
};

NearMissReport Explain(std::string_view line, bool paths_only = false, size_t limit = 3,
                       const std::vector<Code>& loaded = kLoaded) {
  std::vector<CodeName> inventory;
  for (const Code& code : loaded) inventory.push_back({code.filename, code.modules, code.qualname});
  return ExplainNoMatch(*ParsePattern(line), inventory, paths_only, limit);
}

void ExpectFirst(const NearMissReport& report, std::string_view text, std::string_view reason) {
  ASSERT_FALSE(report.suggestions.empty()) << report.why;
  EXPECT_EQ(report.suggestions[0].Text(), text);
  EXPECT_THAT(report.suggestions[0].reason, HasSubstr(std::string(reason)));
}

TEST(NearMissTest, NameInAnotherCase) {
  const NearMissReport report = Explain("*:modelrunner.Execute_Model");
  ExpectFirst(report, "/opt/vllm/worker/model_runner.py:ModelRunner.execute_model", "case only");
  EXPECT_THAT(report.why, HasSubstr("none has a function \"modelrunner.Execute_Model\""));
}

TEST(NearMissTest, NameMisspelled) {
  ExpectFirst(Explain("*:ModelRuner.execute_model"),
              "/opt/vllm/worker/model_runner.py:ModelRunner.execute_model", "spelled alike");
  ExpectFirst(Explain("*:ModelRuner.*"),
              "/opt/vllm/worker/model_runner.py:ModelRunner.execute_model", "spelled alike");
  EXPECT_THAT(Explain("*:Completely.different").suggestions, IsEmpty());
}

TEST(NearMissTest, ClassLeftOut) {
  const NearMissReport report = Explain("*:forward");
  EXPECT_EQ(report.suggestions.size(), 3u);
  ExpectFirst(report, "/opt/torch/nn/linear.py:Linear.forward", "class or function before it");
}

TEST(NearMissTest, LocalsLeftOut) {
  ExpectFirst(Explain("*:run.inner"), "/opt/vllm/engine/Engine.py:run.<locals>.inner", "<locals>");
}

TEST(NearMissTest, SameNameInAnotherFile) {
  const NearMissReport report = Explain("*/tensorflow/*:Linear.forward");
  ExpectFirst(report, "/opt/torch/nn/linear.py:Linear.forward", "in another file");
  EXPECT_THAT(report.why, HasSubstr("no loaded file matches the module part \"*/tensorflow/*\""));
}

TEST(NearMissTest, AFileOfTheSameNameComesFirst) {
  const std::vector<Code> loaded = {{"/a/x.py", {}, "f"}, {"/a/y.py", {}, "f"}};
  const NearMissReport report = Explain("*/b/y.py:f", false, 3, loaded);
  ASSERT_EQ(report.suggestions.size(), 2u);
  EXPECT_EQ(report.suggestions[0].filename, "/a/y.py");
  EXPECT_EQ(report.suggestions[0].index, 1u);
}

TEST(NearMissTest, FileInAnotherCase) {
  ExpectFirst(Explain("*/engine/engine.py:Engine.step"), "/opt/vllm/engine/Engine.py:Engine.step",
              "file differs in case only");
  ExpectFirst(Explain("vllm.engine.engine:*"), "/opt/vllm/engine/Engine.py:*",
              "file differs in case only");
}

TEST(NearMissTest, FileMisspelled) {
  ExpectFirst(Explain("*/model_runer.py:*"), "/opt/vllm/worker/model_runner.py:*", "spelled alike");
  ExpectFirst(Explain("vllm.worker.model_runer:*"), "/opt/vllm/worker/model_runner.py:*",
              "spelled alike");
}

TEST(NearMissTest, StarLeftOut) {
  ExpectFirst(Explain("worker/model_runner.py:*.execute_model"),
              "/opt/vllm/worker/model_runner.py:ModelRunner.execute_model", "add a *");
  ExpectFirst(Explain("torch:*"), "/opt/torch/nn/linear.py:*", "add a *");
}

TEST(NearMissTest, DottedNamesTurnedOff) {
  const NearMissReport report = Explain("torch.nn.conv:*.forward", true);
  ExpectFirst(report, "/opt/torch/nn/conv.py:Conv2d.forward", "dotted names are turned off");
  EXPECT_THAT(report.why, HasSubstr("dotted names are turned off"));
}

TEST(NearMissTest, ModuleNotImported) {
  const NearMissReport report = Explain("transformers.models.llama:*");
  EXPECT_THAT(report.why, HasSubstr("\"transformers.models.llama\" is not imported"));
  EXPECT_THAT(report.suggestions, IsEmpty());
}

TEST(NearMissTest, TwoSmallThingsAtOnce) {
  ExpectFirst(Explain("*/engine/engine.py:engine.step"), "/opt/vllm/engine/Engine.py:Engine.step",
              "the file differs in case only; the name differs in case only");
}

TEST(NearMissTest, EverythingExcluded) {
  const NearMissReport report = Explain("*:Linear.forward");
  EXPECT_THAT(report.why, HasSubstr("excluded"));
  EXPECT_THAT(report.suggestions, IsEmpty());
}

TEST(NearMissTest, NothingSeen) {
  EXPECT_THAT(Explain("*:f", false, 3, {}).why, HasSubstr("no function has been seen"));
}

TEST(NearMissTest, NoRepeatsAndNoMoreThanAsked) {
  const std::vector<Code> loaded(5, {"/a/x.py", {}, "A.f"});
  EXPECT_EQ(Explain("*:f", false, 3, loaded).suggestions.size(), 1u);
  EXPECT_EQ(Explain("*:forward", false, 2).suggestions.size(), 2u);
  EXPECT_THAT(Explain("*:forward", false, 0).suggestions, IsEmpty());
}

TEST(NearMissTest, ALargeInventoryIsCutAndStaysQuick) {
  std::vector<Code> loaded;
  for (int i = 0; i < 60'000; ++i) {
    loaded.push_back({"/opt/lib/package/module_" + std::to_string(i / 20) + ".py",
                      {"package.module_" + std::to_string(i / 20)},
                      "SomeClass" + std::to_string(i % 97) + ".some_method_" + std::to_string(i)});
  }
  const auto start = std::chrono::steady_clock::now();
  const NearMissReport report = Explain("*:SomeClass1.some_methd_1", false, 3, loaded);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FALSE(report.complete);
  ExpectFirst(report, "/opt/lib/package/module_0.py:SomeClass1.some_method_1", "spelled alike");
}

}  // namespace
}  // namespace sbump
