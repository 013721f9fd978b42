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

// A call of each, one after the other, the first of them a part of a forward that had begun before.
Script CallsOf(const std::vector<std::string>& paths) {
  Script script;
  script.attach.first = {Active(0, 0)};
  script.attach.last = {Ended(1, 0, "detached")};
  script.attach.wait_for_detach = true;
  v1::SpanBatch& batch = script.spans.emplace_back();
  for (const std::string& path : paths) {
    v1::TargetStats& row = *script.attach.first[0].add_targets();
    row.set_qualname(path);
    row.mutable_spans();
    const auto index = static_cast<uint32_t>(batch.modules_size());
    batch.add_modules()->set_path(path);
    v1::Span& span = *batch.add_spans();
    span.set_module(index);
    span.set_begin_ns(100 * (index + 1));
    span.set_end_ns(100 * (index + 1) + 10);
  }
  return script;
}

// Paths of the one forward that is told.
std::string OneForwardOf(const std::vector<std::string>& paths) {
  FakeControl daemon(CallsOf(paths));
  const ChildResult result = RunSbumpctl(
      {"--endpoint", daemon.endpoint(), "spans", "4242", "--forwards", "1", "--format", "folded"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  return result.out;
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

TEST(Spans, APartOfAForwardIsNone) {
  EXPECT_EQ(OneForwardOf({"top.layers.0", "top"}), OneForwardOf({"top"}));
  EXPECT_EQ(OneForwardOf({"root.rest.1", "root"}), OneForwardOf({"root"}));
}

TEST(Spans, APartOfAForwardOfAModelWithoutANameIsNone) {
  EXPECT_EQ(OneForwardOf({"layers.0", ""}), OneForwardOf({""}));
  EXPECT_NE(OneForwardOf({"#2", ""}), OneForwardOf({""})) << "another model";
}

}  // namespace
}  // namespace sbump::test
