#include "client/experiment/run_file.h"

#include <fstream>
#include <sstream>

#include "client/experiment/run_header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kHeader[] = "{\"sbump\":1,\"version\":\"0.1.0\"}\n";
constexpr char kBegin[] = "{\"begin\":{\"margin\":0.1}}\n";
constexpr char kPlan[] = "{\"plan\":{\"groups\":[{\"name\":\"a\"}],\"seed\":\"7\"}}\n";
constexpr char kWindow[] = "{\"window\":{\"phase\":\"MAIN\",\"units\":2}}\n";
constexpr char kResult[] = "{\"result\":{\"phase\":\"MAIN\"}}\n";

std::string Text(std::initializer_list<const char*> lines) {
  std::string text;
  for (const char* line : lines) text += line;
  return text;
}

std::string ErrorOf(const std::string& text) {
  const auto file = ParseRunFile("x.sbump", text);
  return file.ok() ? "" : std::string(file.status().message());
}

TEST(RunFile, ARealOneIsReadWhole) {
  const RunFile file = RealRun();
  EXPECT_THAT(file.gaps, IsEmpty());
  EXPECT_EQ(file.header.version(), "0.1.0");
  ASSERT_EQ(file.stages.size(), 1u);
  const RunStage& stage = file.stages[0];
  EXPECT_EQ(stage.experiment.groups_size(), 2);
  ASSERT_TRUE(stage.plan);
  EXPECT_EQ(stage.plan->groups_size(), 3);
  EXPECT_EQ(stage.pilot.size(), 60u);
  EXPECT_EQ(stage.windows.size(), 113u);
  EXPECT_TRUE(stage.told);
  EXPECT_FALSE(IsConfirmation(stage));
  ASSERT_EQ(stage.session.processes_size(), 1);
  EXPECT_EQ(stage.session.processes(0).process().python_version(), "3.11.7");
  ASSERT_TRUE(stage.end);
  EXPECT_EQ(stage.end->reason(), "experiment over");
}

TEST(RunFile, OneThatWasCutOffAnywhereIsReadUpToThereAndSaysSo) {
  const std::string whole = RealRunText();
  const size_t second_line = whole.find('\n', whole.find('\n') + 1);
  for (size_t size = second_line + 2; size < whole.size(); size += 997) {
    const auto file = ParseRunFile("x", whole.substr(0, size));
    ASSERT_TRUE(file.ok()) << size << ": " << file.status();
    const bool has_answer = file->stages[0].told.has_value();
    EXPECT_EQ(file->gaps.empty(), whole[size - 1] == '\n' && has_answer) << size;
  }
}

TEST(RunFile, EachBeginIsAnotherExperiment) {
  const RunFile file = RankedRun();
  EXPECT_THAT(file.gaps, IsEmpty());
  ASSERT_EQ(file.stages.size(), 3u);
  EXPECT_EQ(file.stages[1].experiment.groups(0).part_of(), "app.engine");
  EXPECT_FALSE(IsConfirmation(file.stages[1]));
  EXPECT_TRUE(IsConfirmation(file.stages[2]));
  EXPECT_EQ(file.stages[0].windows.size(), 113u);
  EXPECT_EQ(file.stages[2].windows.size(), 80u);
  for (const RunStage& stage : file.stages) {
    EXPECT_EQ(stage.pilot.size(), 60u);
    EXPECT_TRUE(stage.plan && stage.told && stage.end);
    EXPECT_EQ(stage.session.processes_size(), 1);
  }
}

TEST(RunFile, OfSeveralExperimentsItIsToldWhichIsCutOff) {
  const auto file = ParseRunFile(
      "x", Text({kHeader, kBegin, kPlan, kWindow, kBegin, kBegin, kPlan, kResult, "{\"begin\""}));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->stages.size(), 3u);
  EXPECT_EQ(file->stages[0].windows.size(), 1u);
  EXPECT_FALSE(file->stages[1].plan);
  EXPECT_THAT(file->gaps, ElementsAre(HasSubstr("cut off in line 9"),
                                      HasSubstr("experiment 1 ends before the answer"),
                                      HasSubstr("experiment 2 ends before the plan")));
}

TEST(RunFile, WhatWasToldOfAllExperimentsIsTheLastLine) {
  const std::string line = "{\"ranking\":{\"partial\":true,\"warnings\":[\"over\"]}}\n";
  const RunFile file = *ParseRunFile("run.sbump", RankedRunText() + line);
  ASSERT_TRUE(file.ranking);
  EXPECT_TRUE(file.ranking->partial());
  EXPECT_EQ(file.ranking->warnings(0), "over");
  EXPECT_FALSE(RankedRun().ranking);
}

TEST(RunFile, WindowsBelongToTheExperimentThatWasBegunLast) {
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, kBegin, kWindow})),
              HasSubstr("x.sbump:5: a window before the plan"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, kBegin, kResult})),
              HasSubstr("x.sbump:5: a result before the plan"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, "{\"begin\":7}\n", kPlan})),
              HasSubstr("x.sbump:4: not a line"));
}

TEST(RunFile, ExperimentsAreBounded) {
  std::string text = Text({kHeader});
  for (size_t i = 0; i < kMostRunStages; ++i) text += kBegin;
  EXPECT_EQ(ErrorOf(text), "");
  EXPECT_THAT(ErrorOf(text + kBegin), HasSubstr("x.sbump:66: more than 64 experiments"));
}

TEST(RunFile, WindowsAreBoundedOverAllExperiments) {
  std::string half = Text({kBegin, kPlan});
  for (size_t i = 0; i < kMostRunWindows / 2; ++i) half += "{\"window\":{}}\n";
  // After the header, two times two lines, and as many windows as there may be.
  EXPECT_THAT(ErrorOf(kHeader + half + half + "{\"window\":{}}\n"),
              HasSubstr("x.sbump:200006: more than 200000 windows"));
}

// A line of 4 MB holds a million of them.
TEST(RunFile, WhatALineRepeatsIsBounded) {
  const auto many = [](const std::string& open, const std::string& close) {
    std::string text = open;
    for (int i = 0; i <= kMostRunItems; ++i) text += i == 0 ? "{}" : ",{}";
    return text + close + "\n";
  };
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin}) + many("{\"session\":{\"processes\":[", "]}}")),
              HasSubstr("x.sbump:3: a list of 2049 in one line, of at most 2048"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin}) + many("{\"plan\":{\"arms\":[", "]}}")),
              HasSubstr("a list of 2049"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan}) + many("{\"result\":{\"pairs\":[", "]}}")),
              HasSubstr("a list of 2049"));
}

TEST(RunFile, BrokenLinesInTheMiddleAreErrorsWithTheirLine) {
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, "{\"window\":\n", kWindow})),
              HasSubstr("x.sbump:4: not a line"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kWindow})), HasSubstr("x.sbump:3: a window before"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, kPlan})),
              HasSubstr("x.sbump:4: a second plan"));
  EXPECT_THAT(ErrorOf(Text({kHeader, kPlan})), HasSubstr("x.sbump:2: the second line is not"));
}

TEST(RunFile, OtherFilesAreRefusedByName) {
  for (const std::string& text : {std::string(), std::string("\n\n"), std::string("hello\n"),
                                  std::string(kBegin), std::string("{}\n"), std::string("[1]\n"),
                                  std::string("\x7f"
                                              "ELF\0\0",
                                              6)})
    EXPECT_THAT(ErrorOf(text), HasSubstr("no .sbump file"));
  EXPECT_THAT(ErrorOf(kHeader), HasSubstr("ends before what was asked"));
}

TEST(RunFile, AnotherMajorVersionIsRefusedAndNewFieldsAreNot) {
  const std::string error = ErrorOf("{\"sbump\":2,\"version\":\"9.1\"}\n");
  EXPECT_THAT(error, HasSubstr("version 2"));
  EXPECT_THAT(error, HasSubstr("9.1"));
  const auto file = ParseRunFile("x", Text({"{\"sbump\":1,\"mood\":{\"x\":[1]}}\n", kBegin,
                                            "{\"news\":[{\"y\":1}]}\n", kPlan, kWindow, kResult}));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->gaps, IsEmpty());
  EXPECT_EQ(file->stages[0].windows.size(), 1u);
}

TEST(RunFile, NumbersThatAreNoneAreRefused) {
  for (const char* units : {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""}) {
    const std::string window =
        std::string("{\"window\":{\"phase\":\"MAIN\",\"units\":") + units + "}}\n";
    EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, window.c_str()})),
                HasSubstr("x.sbump:4: a number that is not finite"));
  }
}

TEST(RunFile, LongLinesAreRefusedButForThoseOfSessions) {
  const std::string padding(kMostRunLineBytes, ' ');
  const std::string window = "{\"window\":" + padding + "{}}\n";
  const std::string session = "{\"session\":" + padding + "{}}\n";
  EXPECT_THAT(ErrorOf(Text({kHeader, kBegin, kPlan, window.c_str()})),
              HasSubstr("x.sbump:4: a line of"));
  EXPECT_EQ(ErrorOf(Text({kHeader, kBegin, session.c_str(), kPlan})), "");
}

TEST(RunFile, WhatIsWrittenIsReadAgain) {
  const std::string path = testing::TempDir() + "/written.sbump";
  v1::RunRequest begin;
  begin.mutable_begin()->set_margin(0.25);
  v1::RunReply plan;
  plan.mutable_plan()->set_seed(~uint64_t{0});
  const std::string words[] = {"sbumpctl", "sweep", "--target", "a'b *", ""};
  v1::GetInfoReply daemon;
  daemon.set_version("9.8.7");
  daemon.set_host("box\n");
  daemon.set_kernel("Linux 6.1");
  daemon.set_processors(2);
  {
    auto writer = RunFileWriter::Create(path, HeaderOf(daemon, words), begin);
    ASSERT_TRUE(writer.ok()) << writer.status();
    writer->Write(plan);
    begin.mutable_begin()->set_phase(v1::CONFIRMATION);
    writer->Write(begin);
    EXPECT_FALSE(writer->failed());
  }
  const auto file = ReadRunFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->stages.size(), 2u);
  EXPECT_EQ(file->stages[0].experiment.margin(), 0.25);
  EXPECT_EQ(file->stages[0].plan->seed(), ~uint64_t{0});
  EXPECT_TRUE(IsConfirmation(file->stages[1]));
  EXPECT_EQ(file->header.sbump(), kRunFileVersion);
  EXPECT_EQ(file->header.daemon_version(), "9.8.7");
  EXPECT_GT(file->header.unix_ns(), uint64_t{1'700'000'000'000'000'000});
  EXPECT_EQ(file->header.host(), "box\\n");
  EXPECT_EQ(file->header.kernel(), "Linux 6.1");
  EXPECT_EQ(file->header.processors(), 2u);
  EXPECT_EQ(ShellLine(file->header), "sbumpctl sweep --target 'a'\\''b *' ''");
}

TEST(RunFile, ARunThatWasRefusedTakesNoOthersPlace) {
  const std::string path = testing::TempDir() + "/kept.sbump";
  std::ofstream(path) << "an earlier run";
  {
    auto writer = RunFileWriter::Create(path, {}, {});
    ASSERT_TRUE(writer.ok()) << writer.status();
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "an earlier run");
}

TEST(RunFile, ThereIsNoFile) {
  EXPECT_THAT(std::string(ReadRunFile("/nowhere/x.sbump").status().message()),
              HasSubstr("/nowhere/x.sbump"));
}

}  // namespace
}  // namespace sbump
