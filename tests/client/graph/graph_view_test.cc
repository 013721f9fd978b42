#include "client/graph/graph_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Graph Sample(const std::string& block = "block", const std::string& type = "app.Block") {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{.id = 1, .dims = {4}, .keyword = "x"}})
      .Begin("top." + block, type)
      .Call("top." + block + ".fc", kLinear, {{1, {4}}}, {{2}})
      .End()
      .Op("add.Tensor", {{2}, {99}}, {{3, {}}})
      .End({{3, {}}});
  return GraphFrom(forward.Tree());
}

TEST(GraphViewTest, Json) {
  Graph graph = Sample();
  graph.edges[0].confidence = 0.95;
  const std::string text = GraphJson(graph, ScopeStyle::kPath);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const boost::json::object json = boost::json::parse(text).as_object();
  EXPECT_EQ(json.at("root"), "top");
  EXPECT_EQ(json.at("forwards"), 1);
  const boost::json::value node = boost::json::parse(
      R"({"name": "block_fc", "op": "call_module", "target": "block.fc",
          "scope": {"module_path": "top.block.fc", "module_type": "Linear"}, "dims": [[2, 3]]})");
  EXPECT_EQ(json.at("nodes").as_array()[1], node);
  EXPECT_EQ(json.at("nodes").as_array()[2].at("unknown_inputs"), 1);
  EXPECT_EQ(json.at("edges").as_array()[0],
            boost::json::parse(R"({"from": "x", "to": "block_fc", "confidence": 0.95})"));
}

TEST(GraphViewTest, JsonWithDmxsScopes) {
  const auto json = boost::json::parse(GraphJson(Sample(), ScopeStyle::kDmx));
  EXPECT_EQ(json.at("nodes").as_array()[1].at("scope").at("module_path"), "model__block__block.fc");
}

TEST(GraphViewTest, DotHasAClusterForEachModule) {
  Graph graph = Sample();
  graph.edges[0].confidence = 0.95;
  const std::string text = GraphDot(graph);
  EXPECT_THAT(text, HasSubstr("rankdir=TB"));
  EXPECT_THAT(text, HasSubstr("label=\"top: Model\""));
  EXPECT_THAT(text, HasSubstr("label=\"block: Block\""));
  EXPECT_THAT(text, Not(HasSubstr("label=\"fc: Linear\""))) << "it is a node";
  EXPECT_THAT(text, HasSubstr("label=\"block_fc\\nblock.fc\\n2x3\""));
  EXPECT_THAT(text, HasSubstr("n0 -> n1 [style=dashed, label=\"95%\"];"));
  EXPECT_THAT(text, HasSubstr("n1 -> n2;"));
  EXPECT_LT(text.find("cluster_0"), text.find("cluster_1"));
}

TEST(GraphViewTest, DotOfAModuleThatCallsItself) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.tree", "app.Tree", {{1}})
      .Begin("top.tree", "app.Tree", {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}})
      .Op("log", {{2}}, {{3}})
      .End({{3}})
      .End({{3}});
  const std::string text = GraphDot(GraphFrom(forward.Tree()));
  for (const char* name : {"input_0", "exp", "log", "output"})
    EXPECT_THAT(text, HasSubstr(std::string("label=\"") + name));
  EXPECT_THAT(text, HasSubstr("label=\"tree: Tree\""));
}

TEST(GraphViewTest, NamesThatWouldBreakDot) {
  const std::string text = GraphDot(Sample("a\"];\n}\\", "app.B\"\\N\x1b"));
  EXPECT_THAT(text, HasSubstr(R"(label="a\"];\\n}\\: B\"\\N\\x1b")"));
  EXPECT_THAT(text, HasSubstr(R"(\na\"];\\n}\\.fc\n)"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(GraphViewTest, Table) {
  Graph graph = Sample();
  graph.edges[0].confidence = 0.95;
  EXPECT_EQ(GraphTable(graph, ScopeStyle::kPath, Palette(false)),
            "NAME      OP             TARGET           SCOPE         DIMS  INPUTS\n"
            "x         placeholder    x                top           4\n"
            "block_fc  call_module    block.fc         top.block.fc  2x3   x (95%)\n"
            "add       call_function  aten.add.Tensor  top           ()    block_fc, 1 unknown\n"
            "output    output         output           top                 add\n"
            "\n"
            "1 forward of top: 1 with exactly this graph\n"
            "1 node with tensors of which it was not seen who made them (numbers are some, too)\n");
}

TEST(GraphViewTest, FormatsByEnding) {
  EXPECT_EQ(GraphFormatOf("a.json"), "json");
  EXPECT_EQ(GraphFormatOf("a.dot"), "dot");
  EXPECT_EQ(GraphFormatOf("a.gv"), "dot");
  EXPECT_EQ(GraphFormatOf(""), "table");
}

}  // namespace
}  // namespace sbump::test
