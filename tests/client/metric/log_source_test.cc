// log: with files that are appended to and rotated.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "client/metric/log_tail.h"
#include "client/metric/metric_source.h"
#include "daemon/base/clock.h"
#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"
#include "tests/fakes/temp_dir.h"

namespace sbump {
namespace {

using testing::HasSubstr;

class LogSourceTest : public testing::Test {
 protected:
  void Append(std::string_view text) const { AppendTo(log_, text); }
  static void AppendTo(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::app) << text;
  }
  std::unique_ptr<MetricSource> Open(std::string_view regex) const {
    const auto spec = ParseMetric(StrCat("log:", log_, "#", regex));
    EXPECT_TRUE(spec.ok()) << spec.status();
    auto source = OpenMetric(*spec);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  const TempDir directory_{"log"};
  const std::string log_ = directory_.path() + "/app.log";
};

double Value(MetricSource& source) {
  const auto sample = source.Read();
  EXPECT_TRUE(sample.ok()) << sample.status();
  return sample.ok() ? sample->value : -1;
}

TEST_F(LogSourceTest, LinesThatAreAppended) {
  Append("done\ndone\n");
  const auto source = Open("^done$");
  EXPECT_EQ(Value(*source), 0);  // what was there does not count
  Append("done\nnot done\ndone\r\n");
  EXPECT_EQ(Value(*source), 2);
  EXPECT_EQ(Value(*source), 2);
}

TEST_F(LogSourceTest, LinesInPieces) {
  Append("begun before: do");
  const auto source = Open("do.*ne");
  Append("ne, all done\n");  // of a line that was not ours
  EXPECT_EQ(Value(*source), 0);
  Append("do");
  EXPECT_EQ(Value(*source), 0);
  Append(" it, it is do");
  EXPECT_EQ(Value(*source), 0);
  Append("ne\ndone");
  EXPECT_EQ(Value(*source), 1);
  Append("\n");
  EXPECT_EQ(Value(*source), 2);
}

TEST_F(LogSourceTest, SumOfNumbers) {
  Append("tokens=1000\n");
  const auto source = Open("sum:tokens=(\\S+)");
  EXPECT_EQ(Value(*source), 0);
  Append("tokens=12\nelse\ntokens=30.5 tokens=7\n");
  EXPECT_EQ(Value(*source), 42.5);  // one a line
  Append("tokens=many\ntokens=1\n");
  const auto junk = source->Read();
  EXPECT_EQ(junk.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(junk.status().message(), HasSubstr("\"many\" in the line \"tokens=many\""));
  EXPECT_EQ(Value(*source), 43.5);
}

TEST_F(LogSourceTest, WhatIsNoNumberSpoilsOneReadOfASum) {
  Append("");
  const auto source = Open("sum:took (\\S+)");
  EXPECT_EQ(Value(*source), 0);
  for (const char* word : {"nan", "inf", "-inf"}) {
    Append(StrCat("took ", word, "\n"));
    const auto sample = source->Read();
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr("is not a number"));
  }
  Append("took 2.5\n");
  EXPECT_EQ(Value(*source), 2.5);
}

TEST_F(LogSourceTest, ARunningTotal) {
  Append("total 5\ntotal 7\nelse\n");
  const auto source = Open("last:total (\\d+)");
  EXPECT_EQ(Value(*source), 7);
  Append("total 9\ntotal 12\n");
  EXPECT_EQ(Value(*source), 12);
  // It began again, and is beyond its last number by the time it is read.
  Append("total 1\ntotal 20\n");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kAborted);
  const auto sample = source->Read();
  EXPECT_EQ(sample->value, 20);
  EXPECT_EQ(sample->epoch, 1u);
}

TEST_F(LogSourceTest, ARunningTotalThatIsNotThereYet) {
  Append("");
  const auto source = Open("last:total (\\d+)");
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kNotFound);
  Append("total 3\n");
  EXPECT_EQ(Value(*source), 3);
}

TEST_F(LogSourceTest, RenameAndCreate) {
  Append("");
  const auto source = Open("done");
  Append("done\n");
  std::filesystem::rename(log_, log_ + ".1");
  AppendTo(log_ + ".1", "done\n");  // the writer has not noticed
  EXPECT_EQ(Value(*source), 2);     // and nobody has the name
  Append("done\n");
  AppendTo(log_ + ".1", "done\n");
  EXPECT_EQ(Value(*source), 4);
  AppendTo(log_ + ".1", "done\n");  // still not
  Append("do");
  EXPECT_EQ(Value(*source), 5);
  std::filesystem::rename(log_, log_ + ".2");
  AppendTo(log_ + ".2", "ne\n");
  Append("done\n");
  const auto sample = source->Read();
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->value, 7);
  EXPECT_EQ(sample->epoch, 0u);  // nothing was lost
}

TEST_F(LogSourceTest, CopyAndTruncate) {
  Append("");
  const auto source = Open("^done$");
  Append("done\ndone\ndo");
  EXPECT_EQ(Value(*source), 2);
  std::filesystem::copy_file(log_, log_ + ".1");
  ASSERT_EQ(truncate(log_.c_str(), 0), 0);
  Append("done\n");
  const auto shorter = source->Read();
  EXPECT_EQ(shorter.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(shorter.status().message(), HasSubstr("the log became shorter"));
  const auto sample = source->Read();
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->value, 3);  // and not "dodone"
  EXPECT_EQ(sample->epoch, 1u);
}

// A writer that appends all the time, and reopens the name a while after it was rotated, as daemons
// do when they are told. Each file has the name for at least one read.
TEST_F(LogSourceTest, RotatedWhileItIsWritten) {
  constexpr int kRotations = 20, kLines = 500;
  const uint64_t deadline_ns = MonotonicNs() + 30'000'000'000;
  std::atomic<int> reads = 0;
  Append("");
  const auto source = Open("^line \\d+ end$");
  std::thread writer([&] {
    for (int rotation = 0; rotation < kRotations; ++rotation) {
      const Fd fd(open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
      const int reads_before = reads;
      for (int i = 0; i < kLines; ++i) {
        if (i == kLines / 2) {
          while (reads < reads_before + 2 && MonotonicNs() < deadline_ns) std::this_thread::yield();
          std::filesystem::rename(log_, StrCat(log_, ".", rotation));
        }
        const std::string line = StrCat("line ", i, " end\n");
        (void)!write(fd.get(), line.data(), 4);  // in two pieces
        (void)!write(fd.get(), line.data() + 4, line.size() - 4);
      }
    }
  });
  double last = 0;
  while (last < kRotations * kLines && MonotonicNs() < deadline_ns) {
    const double now = Value(*source);
    EXPECT_GE(now, last);
    last = now;
    ++reads;
  }
  writer.join();
  EXPECT_EQ(last, kRotations * kLines);
}

TEST_F(LogSourceTest, LongLines) {
  Append("");
  const auto source = Open("end$");
  Append(std::string(kLongestLogLine - 3, 'x') + "end\n");
  EXPECT_EQ(Value(*source), 1);
  Append(std::string(3 * kLongestLogLine, 'x'));
  EXPECT_EQ(Value(*source), 1);
  Append("end\nend\n");  // the first is too far behind in its line
  EXPECT_EQ(Value(*source), 2);
}

TEST_F(LogSourceTest, MoreThanIsReadAtOnce) {
  Append("");
  const auto source = Open("x");
  {
    std::ofstream file(log_, std::ios::app);
    const std::string line(1023, '-');
    for (size_t i = 0; i <= kMostLogAtOnce / 1024; ++i) file << line << '\n';
    file << "x\n";
  }
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Value(*source), 1);
}

TEST_F(LogSourceTest, ForeignBytes) {
  Append("");
  const auto source = Open("sum:n=(.*)$");
  Append(std::string("\xff\xfe\0 n=\x1b[2J\n", 11));
  const auto sample = source->Read();
  EXPECT_EQ(sample.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(sample.status().message()), testing::Not(HasSubstr("\x1b")));
}

TEST_F(LogSourceTest, WhatIsNoLog) {
  const auto open = [](const std::string& path) {
    return OpenMetric(ParseMetric(StrCat("log:", path, "#x")).value()).status();
  };
  EXPECT_EQ(open(log_).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(open(log_).message()), HasSubstr("No such file"));
  EXPECT_EQ(open(directory_.path()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(open("/dev/zero").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo(log_.c_str(), 0600), 0);
  EXPECT_EQ(open(log_).code(), absl::StatusCode::kInvalidArgument);  // and does not wait
}

TEST_F(LogSourceTest, ADirectoryTakesTheName) {
  Append("");
  const auto source = Open("x");
  std::filesystem::remove(log_);
  std::filesystem::create_directory(log_);
  EXPECT_EQ(source->Read().status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(log_);
  Append("x\n");
  EXPECT_EQ(Value(*source), 1);
}

}  // namespace
}  // namespace sbump
