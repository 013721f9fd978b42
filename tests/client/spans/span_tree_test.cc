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
  std::vector<std::string> told;  // "a(b c)"
  SpanTrees trees{[this](const SpanNode& tree) { told.push_back(TextOf(tree)); }};

 private:
  static std::string TextOf(const SpanNode& node) {
    std::string inner;
    for (const SpanNode& child : node.children) inner += (inner.empty() ? "" : " ") + TextOf(child);
    return node.module.path() + (inner.empty() ? "" : "(" + inner + ")");
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
