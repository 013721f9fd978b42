// What a restarted daemon may find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "daemon/attach/journal.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using ::testing::SizeIs;

constexpr char kHeader[] = "sbump-journal 1 pid=1234 start_ticks=567 boot_id=b00t\n";

std::string ArmLine(uint64_t code) {
  return StrCat("arm code=", ToString(RemoteAddr{code}), " field=0x5000 size=1 original=151",
                " armed=240 fingerprint=7\n");
}

TEST(JournalTextTest, OneThatNamesNoImage) {
  const auto contents = Journal::Parse(kHeader);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->random, std::nullopt);
}

TEST(JournalTextTest, ATornLastLineWasNeverActedOn) {
  const std::string whole = StrCat(kHeader, ArmLine(0x1000));
  const std::string torn = ArmLine(0x2000);
  for (size_t length = 0; length + 1 < torn.size(); ++length) {
    const auto contents = Journal::Parse(whole + torn.substr(0, length));
    ASSERT_TRUE(contents.ok()) << contents.status() << " after " << length;
    EXPECT_THAT(contents->fields, SizeIs(1)) << length;
  }
}

TEST(JournalTextTest, ZerosAreSpaceNotYetUsed) {
  const auto contents = Journal::Parse(StrCat(kHeader, ArmLine(0x1000)) + std::string(5000, '\0'));
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_THAT(contents->fields, SizeIs(1));
}

TEST(JournalTextTest, WhatIsNoJournal) {
  for (const std::string& text :
       {std::string(), std::string(4096, '\0'), std::string("\n"), std::string(kHeader, 20),
        std::string("#!/bin/sh\n"), std::string("\xff\xfe\n\n"),
        std::string("sbump-journal 2 pid=1 start_ticks=2\n"),
        std::string("sbump-journal 10 pid=1 start_ticks=2\n"), std::string("sbump-journal 1\n"),
        std::string("sbump-journal 1 pid=1\n"),
        std::string("sbump-journal 1 pid=x start_ticks=2\n"),
        std::string("sbump-journal 1 pid=99999999999999 start_ticks=2\n")}) {
    EXPECT_TRUE(absl::IsDataLoss(Journal::Parse(text).status())) << text;
  }
}

// What cannot be read is no reason to write anything, and the rest is still good.
TEST(JournalTextTest, BrokenLinesAreLeftOutAndCounted) {
  for (const std::string line :
       {"arm\n", "arm code=0x1\n", "hello\n", "dead\n", "\n", "arm \xff\n",
        "arm code=0x1 field=0x2 size=2 original=1 armed=1 fingerprint=1\n",
        "arm code=0x1 field=0x2 size=1 original=1 armed=1 fingerprint=99999999999\n",
        "arm code=0x1 field=0x2 size=1 original=1x armed=1 fingerprint=1\n",
        "arm code=0x10000000000000000 field=0x2 size=1 original=1 armed=1 fingerprint=1\n",
        "arm code=0x field=0x2 size=1 original=1 armed=1 fingerprint=1\n",
        "arm code=0x1 field=0x2 size=1 original=1 armed=1\n", "probe address=0x10 inode=1\n"}) {
    const auto contents = Journal::Parse(StrCat(kHeader, line, ArmLine(0x9000)));
    ASSERT_TRUE(contents.ok()) << line << contents.status();
    EXPECT_THAT(contents->fields, SizeIs(1)) << line;
    EXPECT_EQ(contents->bad_lines, 1) << line;
  }
}

TEST(JournalTextTest, DeathAtTheLastAddress) {
  const auto contents =
      Journal::Parse(StrCat(kHeader, ArmLine(0x9000), "dead code=0xffffffffffffffff\n"));
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_THAT(contents->fields, SizeIs(1));
}

std::chrono::nanoseconds TimeToRead(size_t lines) {
  std::string text = kHeader;
  for (size_t i = 1; i <= lines; ++i) text += ArmLine(i * 4096);
  const auto begin = std::chrono::steady_clock::now();
  const auto contents = Journal::Parse(text);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(contents.ok() ? contents->fields.size() : 0, lines) << contents.status();
  return took;
}

// Were each line compared with all before it, ten times as many would take a hundred times as long.
TEST(JournalTextTest, ALongJournalIsReadInOnePass) {
  EXPECT_LT(TimeToRead(100'000), 40 * TimeToRead(10'000));
}

}  // namespace
}  // namespace sbump
