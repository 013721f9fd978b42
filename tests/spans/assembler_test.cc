#include "daemon/spans/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const auto kModule = std::make_shared<const SpanModule>(SpanModule{"top.a", "A", "app.A"});

// Of the call at `stack`. A stack grows downwards.
sb_span_event Event(uint64_t stack, uint64_t at_ns, uint32_t tid = 7) {
  sb_span_event event{};
  event.object = 0x1000 + stack;
  event.stack = stack;
  event.at_ns = at_ns;
  event.tid = tid;
  return event;
}

void AddTensor(sb_span_event& event, std::vector<int64_t> dims, uint64_t key = 0, uint64_t impl = 0,
               uint64_t storage = 0) {
  const sb_span_tensor tensor = {
      .key = key, .dims = static_cast<uint32_t>(dims.size()), .impl = impl, .storage = storage};
  std::memcpy(event.word + event.words, &tensor, sizeof tensor);
  event.words += SB_TENSOR_WORDS;
  for (const int64_t dim : dims) event.word[event.words++] = static_cast<uint64_t>(dim);
  ++event.tensors;
}

class AssemblerTest : public testing::Test {
 protected:
  SpanAssembler assembler{
      [](const sb_span_tensor& tensor) { return "key" + std::to_string(tensor.key); }};

  void Begin(uint64_t stack, uint64_t at_ns, uint32_t tid = 7) {
    assembler.Begin(Event(stack, at_ns, tid), kModule);
  }
  std::optional<Span> End(uint64_t stack, uint64_t at_ns, uint32_t tid = 7) {
    return assembler.End(Event(stack, at_ns, tid));
  }
};

TEST_F(AssemblerTest, ACallWithAnotherInIt) {
  Begin(1000, 10);
  Begin(900, 20);
  const auto inner = End(900, 50);
  const auto outer = End(1000, 100);
  ASSERT_TRUE(inner && outer);
  EXPECT_EQ(std::tie(inner->begin_ns, inner->end_ns, inner->depth, inner->self_ns),
            std::make_tuple(20u, 50u, 1u, 30u));
  EXPECT_EQ(std::tie(outer->begin_ns, outer->end_ns, outer->depth, outer->self_ns),
            std::make_tuple(10u, 100u, 0u, 60u));
  EXPECT_EQ(inner->module->path, "top.a");
  EXPECT_EQ(inner->thread_id, 7u);
  EXPECT_EQ(assembler.unpaired(), 0u);
}

TEST_F(AssemblerTest, ADelayIsNobodysOwnTime) {
  Begin(1000, 10);
  sb_span_event delayed = Event(900, 70);
  delayed.delay_ns = 50;
  assembler.Begin(delayed, kModule);
  EXPECT_EQ(End(900, 80)->delay_ns, 50u);
  EXPECT_EQ(End(1000, 100)->self_ns, 30u);
}

TEST_F(AssemblerTest, ThreadsAreApart) {
  Begin(1000, 10, 1);
  Begin(1000, 11, 2);
  EXPECT_EQ(End(1000, 20, 1)->begin_ns, 10u);
  EXPECT_EQ(End(1000, 21, 2)->begin_ns, 11u);
}

TEST_F(AssemblerTest, Shapes) {
  sb_span_event begin = Event(1000, 10);
  AddTensor(begin, {2, 5});
  AddTensor(begin, {});
  AddTensor(begin, {3}, 12);
  AddTensor(begin, {4}, SB_SPAN_NESTED_KEY);
  begin.flags = SB_SPAN_PARTIAL;
  assembler.Begin(begin, kModule);
  sb_span_event end = Event(1000, 20);
  AddTensor(end, {2, 8});
  AddTensor(end, {9}, SB_SPAN_NESTED_KEY);
  end.kind = SB_SPAN_END;
  end.flags = SB_SPAN_RAISED;
  const auto span = assembler.End(end);
  ASSERT_TRUE(span);
  EXPECT_THAT(span->inputs,
              ElementsAre(SpanTensor{"", {2, 5}}, SpanTensor{"", {}}, SpanTensor{"key12", {3}},
                          SpanTensor{.dims = {4}, .nested = true}));
  EXPECT_THAT(span->outputs, ElementsAre(SpanTensor{"", {2, 8}}, SpanTensor{"", {9}}));
  EXPECT_TRUE(span->raised);
  EXPECT_TRUE(span->partial);
  EXPECT_FALSE(span->blind);
}

TEST_F(AssemblerTest, NumbersThatCannotBe) {
  sb_span_event begin = Event(1000, 10);
  AddTensor(begin, {2, 3});
  AddTensor(begin, {});
  begin.word[begin.words - SB_TENSOR_WORDS + 1] = UINT32_MAX;  // dims
  begin.tensors = 1000;
  begin.words = UINT32_MAX;
  assembler.Begin(begin, kModule);
  EXPECT_EQ(End(1000, 20)->inputs.size(), 1u);
  begin.words = SB_TENSOR_WORDS + 1;
  assembler.Begin(begin, kModule);
  EXPECT_EQ(End(1000, 20)->inputs.size(), 0u);
}

TEST_F(AssemblerTest, WhatWasNotKnownForATensorIsSaid) {
  assembler.Begin(Event(1000, 10), kModule, true);
  EXPECT_TRUE(End(1000, 20)->partial);
  Begin(1000, 30);
  EXPECT_TRUE(assembler.End(Event(1000, 40), true)->partial);
  Begin(1000, 50);
  EXPECT_FALSE(End(1000, 60)->partial);
}

TEST_F(AssemblerTest, AnEndThatWasLostCostsOneSpan) {
  Begin(1000, 10);
  Begin(900, 20);
  const auto outer = End(1000, 30);
  ASSERT_TRUE(outer);
  EXPECT_EQ(assembler.unpaired(), 1u);
  EXPECT_FALSE(End(900, 40)) << "it is over";
  Begin(1000, 50);
  EXPECT_EQ(End(1000, 60)->depth, 0u);
}

TEST_F(AssemblerTest, ANewCallWhereAnOldOneWas) {
  Begin(1000, 10);
  Begin(900, 20);
  Begin(950, 30);
  EXPECT_EQ(End(950, 40)->depth, 1u);
  EXPECT_EQ(assembler.unpaired(), 1u) << "900 lies below it, and had left";
}

TEST_F(AssemblerTest, AnEndWithoutABegin) {
  EXPECT_FALSE(End(1000, 10));
  Begin(1000, 20);
  sb_span_event other = Event(1000, 30);
  other.object = 1;
  EXPECT_FALSE(assembler.End(other)) << "of another module";
  EXPECT_EQ(assembler.unpaired(), 2u);
}

TEST_F(AssemblerTest, GreenletsGoOnFurtherUpTheStack) {
  assembler.ThreadsSwitchStacks();
  Begin(900, 10);   // waits
  Begin(1000, 20);  // in another greenlet, which has less of the stack
  EXPECT_EQ(End(900, 30)->begin_ns, 10u);
  EXPECT_EQ(End(1000, 40)->begin_ns, 20u);
  EXPECT_EQ(assembler.unpaired(), 0u);
}

TEST_F(AssemblerTest, GreenletsAtTheSamePlaceOfTheStackAreToldApartByWhoCalls) {
  assembler.ThreadsSwitchStacks();
  const auto event = [](uint64_t caller, uint64_t at_ns) {
    sb_span_event of_caller = Event(1000, at_ns);
    of_caller.caller = caller;
    return of_caller;
  };
  assembler.Begin(event(1, 10), kModule);
  assembler.Begin(event(2, 20), kModule);
  EXPECT_EQ(assembler.End(event(1, 30))->begin_ns, 10u);
  assembler.Begin(event(1, 35), kModule);
  EXPECT_EQ(assembler.End(event(2, 40))->begin_ns, 20u);
  EXPECT_EQ(assembler.End(event(1, 50))->begin_ns, 35u);
  EXPECT_FALSE(assembler.End(event(3, 60))) << "it had begun before anybody looked";
  EXPECT_EQ(assembler.unpaired(), 1u);
}

TEST_F(AssemblerTest, WhereGreenletsSwitchWithinCallsPathsSayWhatIsWithinWhat) {
  assembler.ThreadsSwitchStacks();
  const auto begin = [this](uint64_t object, uint64_t stack, uint64_t caller, std::string path) {
    sb_span_event event = Event(stack, 10);
    event.object = object;
    event.caller = caller;
    assembler.Begin(event, std::make_shared<const SpanModule>(SpanModule{path, "A", "app.A"}));
  };
  const auto depth = [this](uint64_t object, uint64_t stack, uint64_t caller) {
    sb_span_event event = Event(stack, 20);
    event.object = object;
    event.caller = caller;
    const auto span = assembler.End(event);
    return span ? static_cast<int>(span->depth) : -1;
  };
  begin(1, 1000, 1, "top");
  begin(2, 900, 1, "top.a");
  EXPECT_FALSE(assembler.switched_within_calls());
  begin(1, 1000, 2, "top");  // another greenlet's
  EXPECT_TRUE(assembler.switched_within_calls());
  begin(1, 800, 3, "top");
  begin(2, 700, 3, "top.a");
  begin(3, 600, 3, "top.ab");
  EXPECT_EQ(depth(3, 600, 3), 1);
  EXPECT_EQ(depth(2, 700, 3), 1);
  EXPECT_EQ(depth(1, 800, 3), 0);
  EXPECT_EQ(depth(1, 1000, 2), 0);
  EXPECT_EQ(depth(2, 900, 1), 1);
  EXPECT_EQ(depth(1, 1000, 1), 0);
}

TEST_F(AssemblerTest, ACallFromWhereOneHasNotEndedHasTakenItsPlace) {
  assembler.ThreadsSwitchStacks();
  Begin(1000, 10);  // and its end was lost
  Begin(1000, 20);
  EXPECT_EQ(End(1000, 30)->begin_ns, 20u);
  EXPECT_EQ(assembler.unpaired(), 1u);
}

TEST_F(AssemblerTest, AThreadThatCallsEverDeeper) {
  for (uint64_t i = 0; i < SpanAssembler::kDeepest + 10; ++i) Begin(1'000'000 - i, i);
  for (uint64_t i = SpanAssembler::kDeepest + 10; i-- > 0;) End(1'000'000 - i, 10'000);
  EXPECT_EQ(assembler.unpaired(), 10u);
}

TEST_F(AssemblerTest, ThreadsThatComeAndGo) {
  for (uint32_t tid = 1; tid < 3 * SpanAssembler::kMostThreads; ++tid) Begin(1000, 10, tid);
  EXPECT_GE(assembler.unpaired(), SpanAssembler::kMostThreads);
}

// ---- Operators ----

class OperatorTest : public AssemblerTest {
 protected:
  const std::shared_ptr<const std::string> name = std::make_shared<const std::string>("add.Tensor");

  static sb_span_event EventOf(uint64_t number, uint64_t stack, uint64_t at_ns, uint32_t tid = 7) {
    sb_span_event event = Event(stack, at_ns, tid);
    event.object = number;
    return event;
  }
};

TEST_F(OperatorTest, WithinAModule) {
  Begin(1000, 10);
  sb_span_event begin = EventOf(3, 900, 20);
  AddTensor(begin, {2, 3}, 0, 0x70, 0x80);
  AddTensor(begin, {});  // undefined
  assembler.BeginOperator(begin, name);
  sb_span_event end = EventOf(3, 900, 30);
  AddTensor(end, {4});
  end.flags = SB_SPAN_PARTIAL;
  const auto operation = assembler.EndOperator(end);
  ASSERT_TRUE(operation);
  EXPECT_EQ(*operation->name, "add.Tensor");
  EXPECT_EQ(std::tie(operation->begin_ns, operation->end_ns, operation->thread_id),
            std::make_tuple(20u, 30u, 7u));
  EXPECT_THAT(operation->inputs,
              ElementsAre(SpanTensor{.dims = {2, 3}, .impl = 0x70, .storage = 0x80}));
  EXPECT_THAT(operation->outputs, ElementsAre(SpanTensor{.dims = {4}}));
  EXPECT_TRUE(operation->partial);
  EXPECT_FALSE(assembler.EndOperator(end)) << "it has ended";
  EXPECT_TRUE(End(1000, 40));
}

TEST_F(OperatorTest, OutsideOfModulesAndOnesThatRaise) {
  assembler.BeginOperator(EventOf(3, 900, 5), name);
  EXPECT_FALSE(assembler.EndOperator(EventOf(3, 900, 6)));
  Begin(1000, 10);
  assembler.BeginOperator(EventOf(3, 900, 20), name);
  assembler.BeginOperator(EventOf(4, 880, 30), name);
  EXPECT_FALSE(assembler.EndOperator(EventOf(3, 900, 40)));
  assembler.BeginOperator(EventOf(4, 880, 50), name);
  EXPECT_FALSE(assembler.EndOperator(EventOf(4, 900, 60))) << "another stack";
  assembler.BeginOperator(EventOf(4, 880, 70), name);
  EXPECT_FALSE(assembler.EndOperator(EventOf(4, 880, 80, 8))) << "another thread";
  EXPECT_TRUE(assembler.EndOperator(EventOf(4, 880, 90)));
  EXPECT_EQ(assembler.unpaired(), 0u);
}

}  // namespace
}  // namespace sbump
