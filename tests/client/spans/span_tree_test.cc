#include "client/spans/span_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::ElementsAre;

class SpanTreesTest : public testing::Test {
 protected:
  void Add(const std::string& path, uint32_t depth, uint64_t begin_ns, uint64_t end_ns,
           uint32_t thread_id = 1) {
    v1::Span span;
    span.set_thread_id(thread_id);
    span.set_depth(depth);
    span.set_begin_ns(begin_ns);
    span.set_end_ns(end_ns);
    v1::SpanModule module;
    module.set_path(path);
    trees.Add(std::move(span), module);
  }
  void AddOperator(const std::string& name, uint64_t begin_ns, uint32_t thread_id = 1) {
    v1::Operator made;
    made.set_name(name);
    made.set_thread_id(thread_id);
    made.set_begin_ns(begin_ns);
    trees.Add(std::move(made));
  }
  std::vector<std::string> told;  // "a(b c)", "a+exp+log" of one with operators
  SpanTrees trees{[this](const SpanNode& tree) { told.push_back(TextOf(tree)); }};

 private:
  static std::string TextOf(const SpanNode& node) {
    std::string inner;
    for (const SpanNode& child : node.children) inner += (inner.empty() ? "" : " ") + TextOf(child);
    std::string text = node.module.path() + (inner.empty() ? "" : "(" + inner + ")");
    for (const v1::Operator& made : node.operators) text += "+" + made.name();
    return text;
  }
};

TEST_F(SpanTreesTest, ChildrenEndBeforeTheirParent) {
  Add("c", 2, 12, 14);
  Add("b", 1, 11, 15);
  Add("d", 1, 16, 18);
  EXPECT_THAT(told, ElementsAre());
  Add("a", 0, 10, 20);
  EXPECT_THAT(told, ElementsAre("a(b(c) d)"));
  Add("a", 0, 30, 40);
  EXPECT_THAT(told, ElementsAre("a(b(c) d)", "a"));
}

TEST_F(SpanTreesTest, ADaemonThatTellsOfEndlessDepth) {
  constexpr uint32_t kMany = 60'000;
  size_t spans = 0, highest = 0;
  SpanTrees many([&](const SpanNode& tree) {
    ForEachSpan(tree, [&](const SpanNode& node) {
      ++spans;
      highest = std::max(highest, node.height);
    });
  });
  for (uint32_t depth = kMany; depth-- > 0;) {
    v1::Span span;
    span.set_depth(depth);
    span.set_begin_ns(depth);
    many.Add(std::move(span), v1::SpanModule());
  }
  EXPECT_EQ(spans, kMany);
  EXPECT_LE(highest, SpanTrees::kMostLevels);
}

TEST_F(SpanTreesTest, ThreadsAreApart) {
  Add("b", 1, 11, 15, 1);
  Add("x", 0, 10, 20, 2);
  Add("a", 0, 10, 20, 1);
  EXPECT_THAT(told, ElementsAre("x", "a(b)"));
}

TEST_F(SpanTreesTest, OneWhoseParentWasLost) {
  Add("b", 1, 11, 15);
  Add("a", 0, 20, 30);
  EXPECT_THAT(told, ElementsAre("b", "a")) << "it had ended before that one began";
}

TEST_F(SpanTreesTest, OperatorsAreOfTheOutermostCallThatTheyWereMadeWithin) {
  AddOperator("before", 5);
  AddOperator("log", 16);
  AddOperator("exp", 12);
  AddOperator("between", 25);
  AddOperator("other", 13, 2);
  AddOperator("later", 35);
  Add("b", 1, 11, 15);
  Add("a", 0, 10, 20);
  EXPECT_THAT(told, ElementsAre("a(b)+exp+log"));
  Add("a", 0, 30, 40);
  EXPECT_THAT(told, ElementsAre("a(b)+exp+log", "a+later"));
}

TEST_F(SpanTreesTest, OperatorsThatNoCallEnds) {
  for (size_t i = 0; i < SpanTrees::kMostOperators; ++i) AddOperator("exp", i);
  EXPECT_EQ(trees.lost_operators(), 0u);
  AddOperator("exp", 1);
  EXPECT_EQ(trees.lost_operators(), 1u);
  Add("a", 0, 0, SpanTrees::kMostOperators);
  AddOperator("exp", 1);
  EXPECT_EQ(trees.lost_operators(), 1u);
}

TEST_F(SpanTreesTest, AParentThatHasNotEnded) {
  Add("c", 2, 12, 14);
  Add("b", 1, 11, 15);
  trees.Finish();
  EXPECT_THAT(told, ElementsAre("b(c)"));
}

TEST_F(SpanTreesTest, APathWithoutAnEndIsToldInParts) {
  for (size_t i = 0; i < SpanTrees::kMostPending; ++i) Add("b", 1, i, i);
  EXPECT_EQ(told.size(), SpanTrees::kMostPending);
}

}  // namespace
}  // namespace sbump
