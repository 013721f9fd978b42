#include "client/graph/graph_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SpanNode ForwardOf(const std::string& path) {
  ForwardBuilder forward;
  forward.Begin(path, "app.Model", {{1}})
      .Begin(path + ".block", "app.Block", {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}})
      .Op("log", {{2}}, {{3}})
      .End({{3}});
  return forward.Tree();
}

SpanNode LossOf(const std::string& path) {
  ForwardBuilder forward;
  forward.Begin(path, "app.Loss", {{1}}).Op("mean", {{1}}, {{2}}).End({{2}});
  return forward.Tree();
}

class GraphCaptureTest : public testing::Test {
 protected:
  GraphCapture Capture(CaptureOptions options = {.forwards = 2}) {
    v1::ListModulesReply modules;
    for (const char* path : {"top", "top.block", "top#2"}) AddModule(modules, path);
    return GraphCapture(ModelFacts(modules), std::move(options));
  }
};

TEST_F(GraphCaptureTest, UntilThereAreEnough) {
  GraphCapture capture = Capture();
  capture.Write(ForwardOf("top"));
  EXPECT_FALSE(capture.HasEnough());
  capture.Write(ForwardOf("top"));
  EXPECT_TRUE(capture.HasEnough());
  capture.Write(ForwardOf("top"));
  capture.Finish(7);
  const Graph graph = capture.Result();
  EXPECT_EQ(graph.root, "top");
  EXPECT_EQ(graph.forwards, 2u);
  EXPECT_EQ(graph.identical, 2u);
  EXPECT_EQ(graph.lost, 7u);
  EXPECT_THAT(Edges(graph), ElementsAre("input_0 -> exp", "exp -> log", "log -> output"));
}

TEST_F(GraphCaptureTest, OfSeveralModelsThatWithMostOperators) {
  GraphCapture capture = Capture();
  capture.Write(LossOf("top#2"));
  capture.Write(ForwardOf("top"));
  capture.Write(LossOf("top#2"));
  EXPECT_FALSE(capture.HasEnough());
  capture.Write(ForwardOf("top"));
  EXPECT_TRUE(capture.HasEnough());
  EXPECT_EQ(capture.Result().root, "top");
}

TEST_F(GraphCaptureTest, TheOneThatIsNamedWhereverItIsCalled) {
  GraphCapture capture = Capture({.forwards = 1, .of = "top.block"});
  capture.Write(LossOf("top#2"));
  capture.Write(ForwardOf("top"));
  EXPECT_TRUE(capture.HasEnough());
  EXPECT_EQ(capture.Result().root, "top.block");
  EXPECT_THAT(Edges(capture.Result()), ElementsAre("input_0 -> exp", "exp -> output"));
}

TEST_F(GraphCaptureTest, PartsOfAForwardOfAModelWithoutAName) {
  v1::ListModulesReply modules;
  for (const char* path : {"", "block"}) AddModule(modules, path);
  GraphCapture capture(ModelFacts(modules), {.forwards = 1});
  capture.Write(LossOf("block"));
  EXPECT_FALSE(capture.HasEnough());
  EXPECT_THAT(capture.Result().nodes, IsEmpty());
}

TEST_F(GraphCaptureTest, PartsOfAForwardThatHadBegunBefore) {
  GraphCapture capture = Capture();
  capture.Write(LossOf("top.block"));
  EXPECT_THAT(capture.Result().nodes, IsEmpty());
  EXPECT_THAT(capture.WhatWasCalled(), HasSubstr("called were top.block"));
}

TEST_F(GraphCaptureTest, AModelThatWasBeingCalledIsWaitedFor) {
  GraphCapture capture = Capture({.forwards = 1});
  capture.Write(LossOf("top.block"));  // the rest of a forward
  capture.Write(LossOf("top#2"));
  EXPECT_FALSE(capture.HasEnough());
  capture.Write(ForwardOf("top"));
  EXPECT_TRUE(capture.HasEnough());
  EXPECT_EQ(capture.Result().root, "top");
  EXPECT_THAT(capture.Result().warnings, ElementsAre(HasSubstr("--of names one: top#2")));
}

TEST_F(GraphCaptureTest, ButNotForEver) {
  GraphCapture capture = Capture({.forwards = 1});
  capture.Write(LossOf("top.block"));
  uint64_t calls = 0;
  for (; !capture.HasEnough() && calls < 1000; ++calls) capture.Write(LossOf("top#2"));
  EXPECT_EQ(calls, GraphCapture::kPatience);
  EXPECT_EQ(capture.Result().root, "top#2");
  EXPECT_EQ(capture.Result().forwards, 1u);
  EXPECT_THAT(capture.Result().warnings, ElementsAre(HasSubstr("--of names one: top")));
}

TEST_F(GraphCaptureTest, ALargerModelThatWasNotCalledIsNamed) {
  GraphCapture capture = Capture({.forwards = 1});
  capture.Write(LossOf("top#2"));
  EXPECT_TRUE(capture.HasEnough());
  EXPECT_EQ(capture.Result().root, "top#2");
  EXPECT_THAT(capture.Result().warnings,
              ElementsAre(HasSubstr("not called meanwhile; --of waits for one: top")));
}

TEST_F(GraphCaptureTest, ForwardsThatAreTooLargeEndIt) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model");
  for (size_t i = 0; i < kMostNodes; ++i) forward.Op("exp", {}, {});
  forward.End();
  GraphCapture capture = Capture({.forwards = 1});
  capture.Write(forward.Tree());
  EXPECT_TRUE(capture.HasEnough());
  EXPECT_EQ(capture.Result().forwards, 0u);
  EXPECT_THAT(capture.WhatWasCalled(), HasSubstr("1 of top had more than"));
}

TEST_F(GraphCaptureTest, ForwardsThatRaised) {
  GraphCapture capture = Capture();
  SpanNode raised = ForwardOf("top");
  raised.span.set_raised(true);
  capture.Write(raised);
  EXPECT_EQ(capture.Result().forwards, 0u);
  EXPECT_THAT(capture.WhatWasCalled(), HasSubstr("1 of top raised"));
  capture.Write(ForwardOf("top"));
  EXPECT_EQ(capture.Result().raised, 1u);
}

TEST_F(GraphCaptureTest, AModelThatAlwaysRaisesIsNotWaitedForForEver) {
  GraphCapture capture = Capture({.forwards = 3});
  SpanNode raised = ForwardOf("top");
  raised.span.set_raised(true);
  uint64_t calls = 0;
  for (; !capture.HasEnough() && calls < 1000; ++calls) capture.Write(raised);
  EXPECT_EQ(calls, 3 * GraphCapture::kPatience);
  EXPECT_EQ(capture.Result().forwards, 0u);
  EXPECT_THAT(capture.WhatWasCalled(), HasSubstr("150 of top raised"));
}

}  // namespace
}  // namespace sbump::test
