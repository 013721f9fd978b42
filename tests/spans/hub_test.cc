#include "daemon/spans/hub.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

std::vector<Span> Spans(size_t count, uint64_t first = 0) {
  std::vector<Span> spans(count);
  for (size_t i = 0; i < count; ++i) spans[i].begin_ns = first + i;
  return spans;
}

TEST(SpanHubTest, WaitForTheirReader) {
  SpanHub hub;
  hub.Add(Spans(3));
  int news = 0;
  ASSERT_TRUE(hub.Open([&] { ++news; }));
  EXPECT_EQ(news, 1) << "of what waited";
  hub.Add(Spans(2, 3));
  EXPECT_EQ(news, 2);
  const auto first = hub.Take(4);
  ASSERT_EQ(first.spans.size(), 4u);
  EXPECT_EQ(first.spans[3].begin_ns, 3u);
  EXPECT_FALSE(first.finished);
  hub.Finish();
  const auto last = hub.Take(4);
  EXPECT_EQ(last.spans.size(), 1u);
  EXPECT_TRUE(last.finished);
  EXPECT_EQ(last.lost, 0u);
}

TEST(SpanHubTest, OperationsComeBeforeTheSpansAroundThem) {
  SpanHub hub;
  hub.Add(Spans(2), std::vector<OperatorCall>(3));
  const auto first = hub.Take(2);
  EXPECT_EQ(first.operations.size(), 2u);
  EXPECT_EQ(first.spans.size(), 0u) << "operations of theirs may still wait";
  hub.Finish();
  const auto second = hub.Take(2);
  EXPECT_EQ(second.operations.size(), 1u);
  EXPECT_EQ(second.spans.size(), 2u);
  EXPECT_TRUE(second.finished);
  hub.Add({}, std::vector<OperatorCall>(SpanHub::kMostWaiting + 4));
  EXPECT_EQ(hub.Take(0).lost, 4u);
}

TEST(SpanHubTest, OneReaderAtATime) {
  SpanHub hub;
  ASSERT_TRUE(hub.Open([] {}));
  EXPECT_FALSE(hub.Open([] {}));
  hub.Close();
  EXPECT_TRUE(hub.Open([] {}));
}

TEST(SpanHubTest, WhatHasNoRoomIsCounted) {
  SpanHub hub;
  hub.Add(Spans(SpanHub::kMostWaiting - 1));
  hub.Add(Spans(5));
  hub.NoteLost(2);
  EXPECT_EQ(hub.Take(0).lost, 6u);
  EXPECT_EQ(hub.Take(SIZE_MAX).spans.size(), SpanHub::kMostWaiting);
  hub.Add(Spans(5));
  EXPECT_EQ(hub.Take(SIZE_MAX).spans.size(), 5u);
}

TEST(SpanHubTest, AReaderMayTakeWhileItIsTold) {
  SpanHub hub;
  size_t taken = 0;
  ASSERT_TRUE(hub.Open([&] { taken += hub.Take(SIZE_MAX).spans.size(); }));
  hub.Add(Spans(3));
  EXPECT_EQ(taken, 3u);
}

}  // namespace
}  // namespace sbump
