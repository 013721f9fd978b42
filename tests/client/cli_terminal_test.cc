// On a terminal the table is redrawn in place.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAlternateScreen[] = "\x1b[?1049";

ChildResult OnTerminal(std::vector<std::string> environment, std::vector<std::string> more = {}) {
  Script script;
  script.attach.first = {Attaching(), Active(1, 0), Active(2, 1'000), Active(3, 3'500)};
  script.attach.pause = std::chrono::milliseconds(20);
  script.attach.last = {Ended(4, 4'000, "duration over")};
  FakeControl daemon(script);
  ChildOptions options;
  options.environment = std::move(environment);
  options.terminal = true;
  std::vector<std::string> arguments = {"--endpoint", daemon.endpoint(), "attach",
                                        "4242",       "--target",        "*:Engine.step"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunSbumpctl(arguments, options);
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Terminal, RefreshesInPlace) {
  const ChildResult result = OnTerminal({});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_GE(Count(result.out, "\x1b[J"), 4u) << "each frame clears what is below it";
  EXPECT_THAT(result.out, HasSubstr("2.50k")) << "the rate between two updates";
  EXPECT_THAT(result.out, HasSubstr("\x1b[32mACTIVE\x1b[0m"));
  EXPECT_THAT(result.out, HasSubstr("detach proof: 0 links left"));
  EXPECT_THAT(result.out, Not(HasSubstr(kAlternateScreen)));
}

TEST(Terminal, NoColorHasNoColours) {
  for (const auto& environment :
       {std::vector<std::string>{"NO_COLOR=1"}, std::vector<std::string>{"CLICOLOR=0"}}) {
    const ChildResult result = OnTerminal(environment);
    EXPECT_GE(Count(result.out, "\x1b[J"), 4u);
    EXPECT_THAT(result.out, Not(HasSubstr("\x1b[0m")));
  }
  EXPECT_THAT(OnTerminal({}, {"--no-color"}).out, Not(HasSubstr("\x1b[0m")));
}

TEST(Terminal, DumbOnesGetPlainText) {
  const ChildResult result = OnTerminal({"TERM=dumb"});
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.out, HasSubstr("detach proof"));
}

TEST(Terminal, JsonStaysJson) {
  EXPECT_THAT(OnTerminal({}, {"--format", "json"}).out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace sbump::test
