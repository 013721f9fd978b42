// sbumpctl graph, and sbumpctl schedule find --pattern.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/fake_control.h"
#include "tests/client/samples.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kOk = 0, kBadArguments = 2, kBadTargets = 3, kNoMatch = 7, kTargetEnded = 8;

void AddTensor(uint64_t id, google::protobuf::RepeatedPtrField<v1::SpanTensor>* tensors) {
  v1::SpanTensor& tensor = *tensors->Add();
  tensor.set_tensor_id(id);
  tensor.set_storage_id(id);
  tensor.add_dims(4);
}

// top calls exp on what it is given, and returns that.
v1::SpanBatch Forward(uint64_t at_ns) {
  v1::SpanBatch batch;
  v1::SpanModule& module = *batch.add_modules();
  module.set_path("top");
  module.set_type("Model");
  module.set_qualified_type("app.Model");
  v1::Span& span = *batch.add_spans();
  span.set_begin_ns(at_ns);
  span.set_end_ns(at_ns + 10);
  AddTensor(1, span.mutable_inputs());
  AddTensor(2, span.mutable_outputs());
  v1::Operator& made = *batch.add_operators();
  made.set_name("exp");
  made.set_begin_ns(at_ns + 1);
  made.set_end_ns(at_ns + 2);
  AddTensor(1, made.mutable_inputs());
  AddTensor(2, made.mutable_outputs());
  return batch;
}

Script ModelThatRuns(int forwards) {
  Script script;
  v1::Module& module = *script.modules.emplace_back().add_modules();
  module.set_path("top");
  module.add_forward_parameters("x");
  script.attach.first = {Active(0, 0)};
  script.attach.last = {Ended(1, 0, "detached")};
  script.attach.wait_for_detach = forwards != 0;
  for (int i = 0; i < forwards; ++i)
    script.spans.push_back(Forward(100 * static_cast<uint64_t>(i + 1)));
  return script;
}

ChildResult Ask(const FakeControl& daemon, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--endpoint", daemon.endpoint()});
  return RunSbumpctl(arguments);
}

TEST(Graph, EndsAfterSoManyForwards) {
  FakeControl daemon(ModelThatRuns(3));
  const ChildResult result = Ask(daemon, {"graph", "4242", "--forwards", "2", "--format", "json"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, StartsWith(R"({"root":"top","forwards":2,)"));
  EXPECT_THAT(result.out, HasSubstr(R"("edges":[{"from":"x","to":"exp","confidence":1E0},)"));
  ASSERT_EQ(daemon.requests().attach.size(), 1u);
  const v1::AttachRequest request = daemon.requests().attach[0];
  EXPECT_EQ(request.pid(), 4242);
  EXPECT_EQ(request.delay_ns(), 0u);
  EXPECT_TRUE(request.spans().operators());
  EXPECT_TRUE(request.spans().no_default_skip_types());
  EXPECT_EQ(request.selection().modules(0).pattern(), "*");
  EXPECT_EQ(daemon.requests().detach.size(), 1u);
}

// From the model on, or whole.
TEST(Graph, UntilIsAModulesPath) {
  const auto ask = [](const std::string& path, std::vector<std::string> more = {}) {
    FakeControl daemon(ModelThatRuns(1));
    std::vector<std::string> arguments = {"graph", "4242", "--forwards", "1", "--until", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ChildResult result = Ask(daemon, arguments);
    EXPECT_EQ(daemon.requests().attach.empty(), result.exit_code != kOk) << result.err;
    return result;
  };
  EXPECT_EQ(ask("top").exit_code, kOk);
  const ChildResult wrong = ask("fc");
  EXPECT_EQ(wrong.exit_code, kNoMatch);
  EXPECT_THAT(wrong.err, HasSubstr("pid 4242: --until fc: there is no such module"));
  EXPECT_EQ(ask("", {"--prefix", ""}).exit_code, kNoMatch) << "the fake model is called top";
}

TEST(Graph, CallablesAreAskedForInBothRequests) {
  FakeControl daemon(ModelThatRuns(1));
  Ask(daemon, {"graph", "4242", "--forwards", "1", "--callable", "app.Wrapper"});
  const Requests requests = daemon.requests();
  EXPECT_EQ(requests.modules.at(0).callables(0), "app.Wrapper");
  EXPECT_EQ(requests.attach.at(0).selection().module_callables(0), "app.Wrapper");
}

TEST(Graph, ATableForPeopleAndAFileForGraphviz) {
  FakeControl daemon(ModelThatRuns(2));
  ChildResult result = Ask(daemon, {"graph", "4242", "--forwards", "2"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, HasSubstr("exp     call_function  aten.exp  top    4     x\n"));
  EXPECT_THAT(result.out, HasSubstr("2 forwards of top: 2 with exactly this graph\n"));
  result = Ask(daemon, {"graph", "4242", "--forwards", "2", "-f", "dot"});
  EXPECT_THAT(result.out, HasSubstr("digraph"));
}

TEST(Graph, WhatIsNotDrawnIsRefused) {
  FakeControl daemon(ModelThatRuns(1));
  ChildResult result = Ask(daemon, {"graph", "4242", "-o", "model.svg"});
  EXPECT_EQ(result.exit_code, kBadArguments);
  EXPECT_THAT(result.err, HasSubstr("dot -Tsvg"));
  result = Ask(daemon, {"graph", "4242", "-f", "dot", "--scope-style", "dmx"});
  EXPECT_EQ(result.exit_code, kBadArguments);
  EXPECT_THAT(result.err, HasSubstr("--scope-style"));
  EXPECT_TRUE(daemon.requests().attach.empty());
}

TEST(Graph, ASessionThatEndedEarlier) {
  Script script = ModelThatRuns(2);
  script.attach.wait_for_detach = false;
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"graph", "4242"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the session ended after 2 of 20 forwards of top"));
}

TEST(Graph, OfAProcessThatEnded) {
  Script script = ModelThatRuns(2);
  script.attach.wait_for_detach = false;
  script.attach.last = {Ended(1, 0, "target exited (status 0)")};
  FakeControl daemon(script);
  const ChildResult result = Ask(daemon, {"graph", "4242"});
  EXPECT_EQ(result.exit_code, kTargetEnded) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 forwards of top: 2 with exactly this graph\n"));
}

TEST(Graph, OfAModuleThatThereIsNot) {
  FakeControl daemon(ModelThatRuns(2));
  const ChildResult result = Ask(daemon, {"graph", "4242", "--of", "top.fcc"});
  EXPECT_EQ(result.exit_code, kNoMatch);
  EXPECT_THAT(result.err, HasSubstr("pid 4242: --of top.fcc: there is no such module"));
  EXPECT_TRUE(daemon.requests().attach.empty());
}

TEST(Graph, NoForward) {
  FakeControl daemon(ModelThatRuns(0));
  const ChildResult result = Ask(daemon, {"graph", "4242"});
  EXPECT_EQ(result.exit_code, kNoMatch);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("no forward was seen"));
}

TEST(FindPattern, PrintsSubgraphs) {
  FakeControl daemon(ModelThatRuns(1));
  const ChildResult result = Ask(
      daemon, {"schedule", "find", "--pattern", "exp", "-p", "1", "--forwards", "1", "-f", "json"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_EQ(result.out, R"({"subgraphs":[[{"parent":"top","name":"exp","target":"aten.exp"}]]})"
                        "\n");
}

TEST(FindPattern, SaysWhatTheGraphDoesNotTell) {
  Script script = ModelThatRuns(1);
  script.attach.first[0].add_warnings("pid 4242: 3 calls were not seen");
  FakeControl daemon(script);
  const ChildResult result =
      Ask(daemon, {"schedule", "find", "--pattern", "exp", "-p", "1", "--forwards", "1"});
  EXPECT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("pid 4242: 3 calls were not seen"));
}

TEST(FindPattern, ThatIsNowhere) {
  FakeControl daemon(ModelThatRuns(1));
  const ChildResult result = Ask(daemon, {"schedule", "find", "--pattern", "exp > log", "-p", "1",
                                          "--forwards", "1", "-f", "json"});
  EXPECT_EQ(result.exit_code, kNoMatch);
  EXPECT_EQ(result.out, "{\"subgraphs\":[]}\n");
}

TEST(FindPattern, Mistakes) {
  FakeControl daemon(ModelThatRuns(1));
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& word) {
    arguments.insert(arguments.begin(), {"schedule"});
    arguments.insert(arguments.end(), {"-p", "1"});
    const ChildResult result = Ask(daemon, arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(word));
  };
  refused({"find", "--pattern", "exp >"}, kBadTargets, "item 2 of the pattern");
  refused({"find", "--pattern", "exp", "fc"}, kBadArguments, "either --pattern or fc");
  refused({"find", "fc", "--forwards", "2"}, kBadArguments, "schedule find --pattern");
  refused({"find", "fc", "--duration", "2s"}, kBadArguments, "schedule find --pattern");
  refused({"list", "--pattern", "exp"}, kBadArguments, "schedule find");
  refused({"find"}, kBadArguments, "a regular expression behind it, or --pattern");
  refused({"find", "--pattern", "exp", "--leaf", ""}, kBadTargets, "--leaf");
  refused({"find", "--pattern", "exp", "--until", "x"}, kNoMatch, "--until x");
  EXPECT_EQ(daemon.requests().attach.size(), 0u);
}

}  // namespace
}  // namespace sbump::test
