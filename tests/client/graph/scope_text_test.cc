#include "client/graph/scope_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

TEST(ScopeTextTest, EachModuleThatIsBeingCalled) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.layers.0", "app.Block")
      .Begin("top.layers.0.attn", "app.Attention")
      .Call("top.layers.0.attn.q_proj", kLinear, {{1}}, {{2}})
      .Op("exp", {{2}}, {{3}})
      .End()
      .End()
      .End();
  const Graph graph = GraphFrom(forward.Tree());
  const auto text = [&](size_t node, ScopeStyle style) {
    return ScopeText(*graph.nodes[node].scope, style);
  };
  EXPECT_EQ(text(0, ScopeStyle::kDmx), "model");
  EXPECT_EQ(text(1, ScopeStyle::kDmx), "model__layers.0__layers.0.attn__layers.0.attn.q_proj");
  EXPECT_EQ(text(2, ScopeStyle::kDmx), "model__layers.0__layers.0.attn");
  EXPECT_EQ(text(1, ScopeStyle::kPath), "top.layers.0.attn.q_proj");
  EXPECT_EQ(graph.nodes[1].scope->type, "Linear");
}

}  // namespace
}  // namespace sbump::test
