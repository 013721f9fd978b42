// sbumpctl spans, as far as its client goes: what a daemon measures is in tests/e2e/spans_test.py.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kOk = 0;
constexpr const char* kWarning = "pid 4242: it has CUDA graphs";

Script SessionThatWarns() {
  Script script;
  v1::SessionUpdate active = Active(0, 0);
  active.add_warnings(kWarning);
  script.attach.first = {active, active};
  script.attach.last = {Ended(1, 0, "duration over")};
  return script;
}

size_t CountOf(const std::string& word, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Spans, WarningsAreToldOnceThoughNoModuleWasCalled) {
  FakeControl daemon(SessionThatWarns());
  const ChildResult result = RunSbumpctl({"--endpoint", daemon.endpoint(), "spans", "4242"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(CountOf(std::string("warning: ") + kWarning, result.err), 1u) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr(kWarning)));
}

TEST(Spans, BesideAnAttachWarningsAreToldOnceToo) {
  FakeControl daemon(SessionThatWarns());
  const SocketDirectory directory;
  const ChildResult result =
      RunSbumpctl({"--endpoint", daemon.endpoint(), "attach", "4242", "--module", "*", "--spans",
                   directory.file("spans.json")});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(CountOf(std::string("warning: ") + kWarning, result.err), 1u) << result.err;
}

}  // namespace
}  // namespace sbump::test
