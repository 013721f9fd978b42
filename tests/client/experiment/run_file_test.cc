#include "client/experiment/run_file.h"

#include "client/experiment/run_header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

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
  EXPECT_EQ(file.experiment.groups_size(), 2);
  ASSERT_TRUE(file.main);
  EXPECT_EQ(file.main->plan.groups_size(), 3);
  EXPECT_EQ(file.main->windows.size(), 113u);
  EXPECT_TRUE(file.main->told);
  EXPECT_FALSE(file.confirmation);
  ASSERT_EQ(file.session.processes_size(), 1);
  EXPECT_EQ(file.session.processes(0).process().python_version(), "3.11.7");
  ASSERT_TRUE(file.end);
  EXPECT_EQ(file.end->reason(), "experiment over");
}

TEST(RunFile, OneThatWasCutOffAnywhereIsReadUpToThereAndSaysSo) {
  const std::string whole = RealRunText();
  const size_t second_line = whole.find('\n', whole.find('\n') + 1);
  for (size_t size = second_line + 2; size < whole.size(); size += 997) {
    const auto file = ParseRunFile("x", whole.substr(0, size));
    ASSERT_TRUE(file.ok()) << size << ": " << file.status();
    const bool has_answer = file->main && file->main->told;
    EXPECT_EQ(file->gaps.empty(), whole[size - 1] == '\n' && has_answer) << size;
  }
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
  EXPECT_EQ(file->main->windows.size(), 1u);
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
  {
    auto writer = RunFileWriter::Create(path, HeaderOfThisMachine(words), begin);
    ASSERT_TRUE(writer.ok()) << writer.status();
    writer->Write(plan);
    EXPECT_FALSE(writer->failed());
  }
  const auto file = ReadRunFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->experiment.margin(), 0.25);
  EXPECT_EQ(file->main->plan.seed(), ~uint64_t{0});
  EXPECT_EQ(file->header.sbump(), kRunFileVersion);
  EXPECT_GT(file->header.unix_ns(), uint64_t{1'700'000'000'000'000'000});
  EXPECT_GT(file->header.processors(), 0u);
  EXPECT_THAT(file->header.kernel(), HasSubstr("Linux"));
  EXPECT_EQ(ShellLine(file->header), "sbumpctl sweep --target 'a'\\''b *' ''");
}

TEST(RunFile, ThereIsNoFile) {
  EXPECT_THAT(std::string(ReadRunFile("/nowhere/x.sbump").status().message()),
              HasSubstr("/nowhere/x.sbump"));
}

}  // namespace
}  // namespace sbump
