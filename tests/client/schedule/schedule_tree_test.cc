#include "client/schedule/schedule_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::ElementsAre;

class ScheduleNodesTest : public testing::Test {
 protected:
  void Add(const std::string& path, const std::string& type) {
    v1::Module* module = modules.add_modules();
    module->set_path(path);
    module->set_qualified_type(type);
    module->set_is_sequential(std::string_view(type).ends_with(".Sequential"));
    module->set_is_module_list(std::string_view(type).ends_with(".ModuleList"));
  }
  // "parent/name"
  std::vector<std::string> Names(bool within_leaves = false) const {
    std::vector<std::string> names;
    for (const ScheduleNode& node : ScheduleNodes(modules, within_leaves)) {
      EXPECT_EQ(node.path, node.parent.empty() ? node.name : node.parent + "." + node.name);
      EXPECT_EQ(node.module->path(), node.path);
      names.push_back(node.parent + "/" + node.name);
    }
    return names;
  }
  v1::ListModulesReply modules;
};

TEST_F(ScheduleNodesTest, ListsOfModulesAreNoNodes) {
  Add("top", "app.Model");
  Add("top.layers", "torch.nn.modules.container.ModuleList");
  Add("top.layers.0", "app.Block");
  Add("top.layers.0.fc", "torch.nn.modules.linear.Linear");
  Add("top.layers.1", "app.Block");
  EXPECT_THAT(Names(), ElementsAre("/top", "top/layers.0", "top.layers.0/fc", "top/layers.1"));
}

TEST_F(ScheduleNodesTest, NorIsWhatHasNumberedChildren) {
  Add("top", "app.Model");
  Add("top.stack", "app.Stack");
  Add("top.stack.0", "app.Block");
  Add("top.stack.1", "app.Block");
  Add("top.other", "app.Stack");
  Add("top.other.1", "app.Block");
  EXPECT_THAT(Names(),
              ElementsAre("/top", "top/stack.0", "top/stack.1", "top/other", "top.other/1"));
}

TEST_F(ScheduleNodesTest, ASequentialIsOne) {
  Add("top", "app.Model");
  Add("top.vision", "torch.nn.modules.container.Sequential");
  Add("top.vision.0", "torch.nn.modules.conv.Conv2d");
  EXPECT_THAT(Names(), ElementsAre("/top", "top/vision", "top.vision/0"));
}

// As slapo asks: isinstance().
TEST_F(ScheduleNodesTest, WhatIsDerivedFromThem) {
  Add("top", "app.Model");
  Add("top.conv", "app.ConvNormActivation");
  modules.mutable_modules(1)->set_is_sequential(true);
  Add("top.conv.0", "torch.nn.modules.conv.Conv2d");
  Add("top.fused", "torch.ao.nn.intrinsic.modules.fused.ConvReLU2d");
  modules.mutable_modules(3)->set_is_sequential(true);
  Add("top.fused.0", "torch.nn.modules.conv.Conv2d");
  Add("top.empty", "app.Blocks");
  modules.mutable_modules(5)->set_is_module_list(true);
  EXPECT_THAT(Names(), ElementsAre("/top", "top/conv", "top.conv/0", "top/fused", "top.fused/0"));
}

TEST_F(ScheduleNodesTest, WhatIsWithinTorchsOwnIsLeftOut) {
  Add("top", "app.Model");
  Add("top.attn", "torch.nn.modules.activation.MultiheadAttention");
  Add("top.attn.out_proj", "torch.nn.modules.linear.NonDynamicallyQuantizableLinear");
  EXPECT_THAT(Names(), ElementsAre("/top", "top/attn"));
  EXPECT_THAT(Names(true), ElementsAre("/top", "top/attn", "top.attn/out_proj"));
}

TEST_F(ScheduleNodesTest, UnlessThatIsTheWholeModel) {
  Add("top", "torch.nn.parallel.distributed.DistributedDataParallel");
  Add("top.module", "app.Model");
  Add("top.module.fc", "torch.nn.modules.linear.Linear");
  Add("top#2", "torch.nn.modules.activation.MultiheadAttention");
  Add("top#2.out_proj", "torch.nn.modules.linear.Linear");
  EXPECT_THAT(Names(),
              ElementsAre("/top", "top/module", "top.module/fc", "/top#2", "top#2/out_proj"));
}

TEST_F(ScheduleNodesTest, WhatIsAskedForIsListedWhateverItIs) {
  Add("top", "app.Model");
  Add("top.layers", "torch.nn.modules.container.ModuleList");
  Add("top.layers.0", "app.Block");
  Add("top.attn", "torch.nn.modules.activation.MultiheadAttention");
  Add("top.attn.in_proj", "torch.nn.modules.linear.Linear");
  Add("top.attn.out_proj", "torch.nn.modules.linear.Linear");
  std::vector<std::string> paths;
  for (const ScheduleNode& node :
       ScheduleNodes(modules, false, {"top.layers", "top.attn.out_proj", "gone"}))
    paths.push_back(node.parent + "/" + node.name);
  EXPECT_THAT(paths,
              ElementsAre("/top", "top/layers", "top/layers.0", "top/attn", "top.attn/out_proj"));
}

TEST_F(ScheduleNodesTest, ListsWithinLists) {
  Add("top", "app.Model");
  Add("top.stages", "torch.nn.modules.container.ModuleList");
  Add("top.stages.0", "torch.nn.modules.container.ModuleList");
  Add("top.stages.0.0", "app.Block");
  EXPECT_THAT(Names(), ElementsAre("/top", "top/stages.0.0"));
}

TEST_F(ScheduleNodesTest, AModelWithAPrefixOfDotsAndASecondOne) {
  Add("a.b", "app.Model");
  Add("a.b.fc", "torch.nn.modules.linear.Linear");
  Add("a.b#2", "app.Stack");
  Add("a.b#2.0", "app.Block");
  EXPECT_THAT(Names(), ElementsAre("/a.b", "a.b/fc", "/a.b#2", "a.b#2/0"));
}

TEST_F(ScheduleNodesTest, AModelWithoutAName) {
  Add("", "app.Model");
  Add("embed", "torch.nn.modules.sparse.Embedding");
  Add("layers", "torch.nn.modules.container.ModuleList");
  Add("layers.0", "app.Block");
  Add("layers.0.fc", "torch.nn.modules.linear.Linear");
  Add("#2", "app.Stack");
  Add("#2.0", "app.Block");
  Add("callable:Piece:0", "app.Piece");
  EXPECT_THAT(Names(), ElementsAre("/", "/embed", "/layers.0", "layers.0/fc", "/#2", "#2/0",
                                   "/callable:Piece:0"));
}

TEST_F(ScheduleNodesTest, WhatIsHeldByAListThatIsNoModule) {
  Add("root", "app.Thing");
  Add("root.first", "app.Thing");
  Add("root.rest.1", "app.Thing");
  Add("root.rest.1.by_name.x", "app.Thing");
  EXPECT_THAT(Names(), ElementsAre("/root", "root/first", "root/rest.1", "root.rest.1/by_name.x"));
}

TEST_F(ScheduleNodesTest, NoModules) { EXPECT_THAT(Names(), ElementsAre()); }

}  // namespace
}  // namespace sbump
