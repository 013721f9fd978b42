#include "client/spans/span_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "client/text_table.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

void AddTensor(v1::SpanTensor* tensor, std::vector<int64_t> dims, const std::string& keyword = "") {
  tensor->set_keyword(keyword);
  for (int64_t dim : dims) tensor->add_dims(dim);
}

SpanNode Node(const std::string& path, uint32_t depth, uint64_t begin_ns, uint64_t end_ns) {
  SpanNode node;
  node.module.set_path(path);
  node.module.set_type("Linear");
  node.module.set_qualified_type("torch.nn.modules.linear.Linear");
  node.span.set_pid(5);
  node.span.set_thread_id(6);
  node.span.set_depth(depth);
  node.span.set_begin_ns(begin_ns);
  node.span.set_end_ns(end_ns);
  node.span.set_self_ns(end_ns - begin_ns);
  return node;
}

SpanNode Tree() {
  SpanNode outer = Node("top", 0, 10'000'000'000'000'001, 10'000'000'000'000'301);
  outer.span.set_self_ns(200);
  SpanNode inner = Node("top.fc", 1, 10'000'000'000'000'101, 10'000'000'000'000'201);
  AddTensor(inner.span.add_inputs(), {2, 5});
  AddTensor(inner.span.add_inputs(), {}, "scale");
  AddTensor(inner.span.add_outputs(), {2, 8});
  inner.span.set_delay_ns(40);
  outer.children.push_back(inner);
  return outer;
}

std::vector<double> NumbersBehind(std::string_view key, const std::string& text) {
  std::vector<double> numbers;
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1))
    numbers.push_back(std::strtod(text.c_str() + at + key.size(), nullptr));
  return numbers;
}

class SpanWriterTest : public testing::Test {
 protected:
  ~SpanWriterTest() override { std::remove(path.c_str()); }

  template <typename Make>
  std::string TextOf(Make make, uint64_t lost = 0) {
    auto file = OutputFile::Open(path);
    EXPECT_TRUE(file.ok());
    const std::unique_ptr<SpanWriter> writer = make(&*file);
    writer->Write(tree);
    writer->Finish(lost);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const std::string path = testing::TempDir() + "/spans";
  SpanNode tree = Tree();
};

TEST_F(SpanWriterTest, Lines) {
  EXPECT_EQ(
      TextOf(SpanLines),
      R"({"path":"top","type":"Linear","qualified_type":"torch.nn.modules.linear.Linear","pid":5,)"
      R"("thread_id":6,"depth":0,"begin_ns":10000000000000001,"end_ns":10000000000000301,)"
      R"("delay_ns":0,"self_ns":200,"raised":false,"partial":false,"shapes_unknown":false,)"
      R"("inputs":[],"keywords":{},"outputs":[]})"
      "\n"
      R"({"path":"top.fc","type":"Linear","qualified_type":"torch.nn.modules.linear.Linear",)"
      R"("pid":5,"thread_id":6,"depth":1,"begin_ns":10000000000000101,"end_ns":10000000000000201,)"
      R"("delay_ns":40,"self_ns":100,"raised":false,"partial":false,"shapes_unknown":false,)"
      R"("inputs":[[2,5]],"keywords":{"scale":[[]]},"outputs":[[2,8]]})"
      "\n");
}

TEST_F(SpanWriterTest, ChromeHasAnEventForEachSpanAndDelay) {
  const std::string text = TextOf(ChromeTrace, 3);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5) << text;
  EXPECT_THAT(text, HasSubstr(R"("name":"delay of top.fc","cat":"delay","ph":"X")"));
  EXPECT_THAT(text, HasSubstr(R"("inputs":[[2,5]],"outputs":[[2,8]])"));
  EXPECT_THAT(text, HasSubstr(R"("lost_calls":3)"));
}

// Not looked at is not none.
TEST_F(SpanWriterTest, ChromeIsToldNoShapesWhereTheyAreNotKnown) {
  tree.children[0].span.set_shapes_unknown(true);
  const std::string text = TextOf(ChromeTrace);
  EXPECT_EQ(NumbersBehind("\"inputs\":", text).size(), 1u) << "of the outer call: " << text;
  EXPECT_EQ(NumbersBehind("\"outputs\":", text).size(), 1u);
}

// As a reader adds them: Chrome's DevTools leave out a call that begins before its delay has ended.
TEST_F(SpanWriterTest, DelaysEndInChromeWhereCallsBegin) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t begin_ns = 49'945'643'778'364 + 7919 * i, delay_ns = 10'001 + 31 * i;
    tree = Node("top", 0, begin_ns, begin_ns + 900);
    tree.span.set_delay_ns(delay_ns);
    const std::string text = TextOf(ChromeTrace);
    const std::vector<double> begins = NumbersBehind("\"ts\":", text);
    const std::vector<double> times = NumbersBehind("\"dur\":", text);
    ASSERT_THAT(begins, SizeIs(2)) << text;
    EXPECT_EQ(begins[0] + times[0], begins[1]) << text;
    EXPECT_NEAR(times[0], static_cast<double>(delay_ns) / 1000, 1e-4);
    EXPECT_NEAR(times[1], 0.9, 1e-4);
  }
}

// The ids of the tracks of all events in a trace of these trees.
std::vector<double> TracksOf(const std::string& path, const std::vector<SpanNode>& trees) {
  auto file = OutputFile::Open(path);
  EXPECT_TRUE(file.ok());
  const std::unique_ptr<SpanWriter> writer = ChromeTrace(&*file);
  for (const SpanNode& tree : trees) writer->Write(tree);
  writer->Finish(0);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return NumbersBehind("\"tid\":", text.str());
}

SpanNode Delayed(SpanNode node, uint64_t delay_ns) {
  node.span.set_delay_ns(delay_ns);
  return node;
}

// Viewers take no slices that are partly within each other.
TEST_F(SpanWriterTest, CallsThatOverlapHaveTracksOfTheirOwnInChrome) {
  SpanNode nested = Node("top", 0, 150, 200);
  nested.children = {Node("top.fc", 1, 160, 170), Node("top.out", 1, 165, 199)};
  nested.children[1].children = {Node("top.out.fc", 2, 169, 170)};
  SpanNode other = Node("top", 0, 110, 510);
  other.span.set_thread_id(7);
  constexpr double kSecond = 6 + (1 << 22), kThird = 6 + (2 << 22), kFourth = 6 + (3 << 22);
  EXPECT_THAT(TracksOf(path, {Node("top", 0, 100, 140), nested, Node("top", 0, 180, 300),
                              Node("top", 0, 190, 310), Node("top", 0, 200, 400),
                              Delayed(Node("top", 0, 420, 500), 30),  // before the last one ended
                              other}),
              ElementsAre(6, 6, 6, kSecond, kSecond, kSecond, kThird, kThird, kFourth, kFourth, 6,
                          kSecond, kSecond, 7));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"({"name":"thread_name","ph":"M","pid":5,"tid":4194310,)"
                                    R"("args":{"name":"thread 6, overlapping 1"}})"));
}

// As SpanTrees tells what was called within a very long call.
TEST_F(SpanWriterTest, ACallAfterWhatIsWithinItIsOnTheSameTrackInChrome) {
  SpanNode around = Node("top", 0, 200, 400);
  around.children = {Node("top.out", 1, 350, 390)};
  EXPECT_THAT(TracksOf(path, {Node("top", 0, 100, 150), Node("top.a", 1, 210, 250),
                              Node("top.b", 1, 260, 300), around, Node("top", 0, 400, 500)}),
              ElementsAre(6, 6, 6, 6, 6, 6));
}

TEST_F(SpanWriterTest, ACallAroundSomeOfAnotherIsOnAnotherTrackInChrome) {
  constexpr double kSecond = 6 + (1 << 22);
  EXPECT_THAT(TracksOf(path, {Node("top", 0, 100, 150), Node("top", 0, 200, 300),
                              Node("top", 0, 140, 400)}),
              ElementsAre(6, 6, kSecond, kSecond));
  EXPECT_THAT(TracksOf(path, {Node("top", 0, 100, 150), Node("top", 0, 200, 300),
                              Node("top", 0, 160, 250)}),
              ElementsAre(6, 6, kSecond, kSecond));
}

TEST_F(SpanWriterTest, ADelayThatIsLongerThanTheMachineIsUpEndsNoTrack) {
  EXPECT_THAT(TracksOf(path, {Delayed(Node("top", 0, 100, 150), 5000), Node("top", 0, 200, 300)}),
              ElementsAre(6, 6, 6));
}

TEST_F(SpanWriterTest, ThereAreNoMoreThan512TracksOfAThreadInChrome) {
  std::vector<SpanNode> trees;
  for (uint64_t i = 0; i < 600; ++i) trees.push_back(Node("top", 0, 1000 + i, 2000 + i));
  const std::vector<double> tracks = TracksOf(path, trees);
  EXPECT_EQ(*std::ranges::max_element(tracks), 6.0 + 511.0 * (1 << 22));
  EXPECT_THAT(tracks, SizeIs(600 + 511));
}

TEST_F(SpanWriterTest, AnEmptyTraceIsATrace) {
  auto file = OutputFile::Open(path);
  ChromeTrace(&*file)->Finish(0);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n],\"otherData\":"
            "{\"clock\":\"CLOCK_MONOTONIC\",\"lost_calls\":0}}\n");
}

TEST_F(SpanWriterTest, Stacks) { EXPECT_EQ(TextOf(FoldedStacks), "top 200\ntop;top.fc 100\n"); }

TEST_F(SpanWriterTest, Messages) {
  std::istringstream text(TextOf(SpanMessages, 4));
  google::protobuf::io::IstreamInputStream stream(&text);
  v1::SpanBatch batch;
  ASSERT_TRUE(google::protobuf::util::ParseDelimitedFromZeroCopyStream(&batch, &stream, nullptr));
  EXPECT_EQ(batch.spans_size(), 2);
  EXPECT_EQ(batch.modules(static_cast<int>(batch.spans(1).module())).path(), "top.fc");
  ASSERT_TRUE(google::protobuf::util::ParseDelimitedFromZeroCopyStream(&batch, &stream, nullptr));
  EXPECT_EQ(batch.lost(), 4u);
}

constexpr const char* kLinear = "torch.nn.modules.linear.Linear";

v1::ListModulesReply OneModule(const std::string& settings, const std::string& type = kLinear) {
  v1::ListModulesReply modules;
  v1::Module& module = *modules.add_modules();
  module.set_path("top.fc");
  module.set_qualified_type(type);
  module.set_static_params_text(settings);
  return modules;
}

// Of a model that each look finds as the next one of `looks`.
std::string TextsOfLooks(const std::string& path, const SpanNode& tree,
                         std::vector<absl::StatusOr<v1::ListModulesReply>> looks, int writes,
                         size_t* taken, std::string* said) {
  auto file = OutputFile::Open(path);
  EXPECT_TRUE(file.ok());
  *taken = 0;
  const auto writer = PytHooksTexts(&*file, [&] { return looks.at((*taken)++); });
  for (int i = 0; i < writes; ++i) writer->Write(tree);
  testing::internal::CaptureStderr();
  writer->Finish(0);
  *said = testing::internal::GetCapturedStderr();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(SpanWriterTest, PytHooksOfAModelThatComesLater) {
  size_t looks = 0;
  std::string said;
  const std::string text = TextsOfLooks(
      path, Node("top.fc", 0, 1, 2),
      {absl::FailedPreconditionError("no model yet"), OneModule("{'p': 1}")}, 2, &looks, &said);
  EXPECT_EQ(looks, 2u);
  EXPECT_EQ(text.find("{'Module': 'top.fc', 'StaticParams': {'p': 1}}\n"), 0u) << text;
  EXPECT_EQ(said, "");
}

TEST_F(SpanWriterTest, PytHooksOfAnotherTypeAtTheSamePath) {
  size_t looks = 0;
  std::string said;
  const std::string text =
      TextsOfLooks(path, Node("top.fc", 0, 1, 2),
                   {OneModule("{'p': 1}", "app.Other"), OneModule("{'p': 2}")}, 1, &looks, &said);
  EXPECT_EQ(looks, 2u);
  EXPECT_THAT(text, HasSubstr("{'p': 2}"));
  EXPECT_THAT(text, testing::Not(HasSubstr("{'p': 1}")));
}

// Of the same path and type, as a model that is made anew has them.
TEST_F(SpanWriterTest, PytHooksOfAnotherModuleAtTheSamePath) {
  const auto look = [](const std::string& settings, uint64_t id) {
    v1::ListModulesReply modules = OneModule(settings);
    modules.mutable_modules(0)->set_module_id(id);
    return modules;
  };
  SpanNode fc = Node("top.fc", 0, 1, 2);
  fc.module.set_module_id(8);
  size_t looks = 0;
  std::string said;
  const std::string text =
      TextsOfLooks(path, fc, {look("{'p': 1}", 7), look("{'p': 2}", 8)}, 2, &looks, &said);
  EXPECT_EQ(looks, 2u);
  EXPECT_THAT(text, HasSubstr("{'p': 2}"));
  EXPECT_THAT(text, testing::Not(HasSubstr("{'p': 1}")));
  EXPECT_EQ(said, "");
}

TEST_F(SpanWriterTest, PytHooksOfModulesThatAreGoneIsSaid) {
  size_t looks = 0;
  std::string said;
  const SpanNode fc = Node("top.fc", 0, 1, 2);
  TextsOfLooks(path, fc, {v1::ListModulesReply(), v1::ListModulesReply()}, 3, &looks, &said);
  EXPECT_EQ(looks, 2u) << "what a look did not find is not looked for again";
  EXPECT_THAT(said, HasSubstr("of 1 module not all parameters and settings are told: gone"));
}

TEST_F(SpanWriterTest, PytHooksLooksAgainAfterALookThatFailed) {
  size_t looks = 0;
  std::string said;
  const SpanNode fc = Node("top.fc", 0, 1, 2);
  const absl::Status failed = absl::UnavailableError("its objects changed");
  std::string text =
      TextsOfLooks(path, fc, {failed, failed, OneModule("{'p': 1}")}, 3, &looks, &said);
  EXPECT_EQ(looks, 3u);
  EXPECT_THAT(text, HasSubstr("{'p': 1}"));
  EXPECT_THAT(said, HasSubstr("of 1 module not all parameters and settings are told: its objects"));
  text = TextsOfLooks(path, fc, {failed, failed, failed, failed, failed}, 9, &looks, &said);
  EXPECT_EQ(looks, 5u) << "not without end";
}

TEST_F(SpanWriterTest, TextsOfPytHooks) {
  v1::ListModulesReply modules = OneModule("{'in_features': 5, 'out_features': 8}");
  v1::Module& module = *modules.mutable_modules(0);
  v1::Tensor& bias = (*module.mutable_parameters())["bias"];
  bias.set_index(1);
  bias.set_known(true);
  bias.add_dims(8);
  v1::Tensor& weight = (*module.mutable_parameters())["weight"];
  weight.set_known(true);
  weight.add_dims(8);
  weight.add_dims(5);
  tree.children[0].span.set_raised(true);
  EXPECT_EQ(TextOf([&](OutputFile* file) { return PytHooksTexts(file, [&] { return modules; }); }),
            "{'Module': 'top'}\n"
            "{'Module': 'top.fc', 'TrainableParams': {'weight': [8, 5], 'bias': [8]}, 'Inputs': "
            "[[2, 5]], 'scale': [[]], 'StaticParams': {'in_features': 5, 'out_features': 8}}\n"
            "{'Module': 'top'}\n");
}

// No text of a shape is that of a scalar.
TEST_F(SpanWriterTest, PytHooksOfShapesThatAreNotKnown) {
  v1::ListModulesReply modules = OneModule("{'in_features': 5}");
  (*modules.mutable_modules(0)->mutable_parameters())["weight"].set_index(0);
  EXPECT_THAT(
      TextOf([&](OutputFile* file) { return PytHooksTexts(file, [&] { return modules; }); }),
      Not(HasSubstr("TrainableParams")));
}

TEST_F(SpanWriterTest, PytHooksOfAKeywordWithTheNameOfAKey) {
  tree.children.clear();
  v1::SpanTensor& tensor = *tree.span.add_inputs();
  tensor.set_keyword("Module");
  tensor.add_dims(3);
  const auto nothing = [] { return v1::ListModulesReply(); };
  EXPECT_THAT(TextOf([&](OutputFile* file) { return PytHooksTexts(file, nothing); }),
              StartsWith("{'Module': [[3]]}\n"));
}

TEST_F(SpanWriterTest, Table) {
  tree.children[0].span.set_raised(true);
  const std::string text =
      TextOf([](OutputFile* file) { return SpanTable(file, Palette(false), kUnlimitedWidth); }, 2);
  EXPECT_EQ(text,
            "MODULE  TYPE           CALLS  TOTAL   SELF    P50    P99  DELAYED BY\n"
            "top     Linear             1  300ns  200ns  300ns  300ns\n"
            "top.fc  Linear  1 (1 raised)  100ns  100ns  100ns  100ns        40ns\n"
            "\n"
            "1 outermost call, 2 spans\n");
}

}  // namespace
}  // namespace sbump
