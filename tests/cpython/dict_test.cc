#include "daemon/cpython/dict.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

class DictTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  const bool old_keys = GetParam() <= 10;  // dk_size instead of logarithms

  absl::StatusOr<DictEntries> Find(RemoteAddr dict) {
    return FindDictEntries(python.memory(), python.layout(), python.interpreter().dict_type, dict);
  }
  RemoteAddr KeysOf(RemoteAddr dict) { return *python.memory().ReadPointer(dict + kDictKeys); }
  FakePython::Items Items(int count) {
    FakePython::Items items;
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i)
      items.emplace_back(RemoteAddr{0x5000'0000 + 16 * i}, RemoteAddr{0x6000'0000 + 16 * i});
    return items;
  }
  void ExpectRoundTrip(const FakePython::Items& items, DictShape shape) {
    const auto entries = Find(python.NewDict(items, shape));
    ASSERT_TRUE(entries.ok()) << entries.status();
    ASSERT_EQ(entries->count, static_cast<int64_t>(items.size()));
    for (int64_t i = 0; i < entries->count; ++i) {
      const auto entry = ReadDictEntry(python.memory(), *entries, i);
      ASSERT_TRUE(entry.ok()) << entry.status();
      EXPECT_EQ(entry->key, items[static_cast<size_t>(i)].first) << "entry " << i;
      EXPECT_EQ(entry->value, items[static_cast<size_t>(i)].second) << "entry " << i;
    }
    const auto last = ReadDictEntries(python.memory(), *entries, entries->count - 4, 4);
    ASSERT_TRUE(last.ok()) << last.status();
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ((*last)[i], *ReadDictEntry(python.memory(), *entries,
                                           entries->count - 4 + static_cast<int64_t>(i)));
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, DictTest, testing::ValuesIn(kFakeMinors));

TEST_P(DictTest, EachWidthOfTheIndex) {
  ExpectRoundTrip(Items(5), {.log2_size = 3});
  ExpectRoundTrip(Items(80), {.log2_size = 7});
  ExpectRoundTrip(Items(100), {.log2_size = 8});
  ExpectRoundTrip(Items(100), {.log2_size = 15});
  ExpectRoundTrip(Items(100), {.log2_size = 16});
}

TEST_P(DictTest, KeysThatAreNotAllStr) {
  ExpectRoundTrip(Items(5), {.log2_size = 3, .general_keys = true});
  ExpectRoundTrip(Items(200), {.log2_size = 9, .general_keys = true});
}

TEST_P(DictTest, ADeletedEntryHasNoValue) {
  const auto entries = Find(python.NewDict({{RemoteAddr{0x5000'0000}, RemoteAddr{0}}}));
  EXPECT_FALSE(ReadDictEntry(python.memory(), *entries, 0)->value);
}

TEST_P(DictTest, Empty) { EXPECT_EQ(Find(python.NewDict({}))->count, 0); }

TEST_P(DictTest, WhatIsNoDict) {
  EXPECT_TRUE(absl::IsDataLoss(Find(python.NewTuple({})).status()));
  EXPECT_TRUE(absl::IsDataLoss(Find(RemoteAddr{0}).status()));
  EXPECT_FALSE(Find(RemoteAddr{0x7000'0000'0000}).ok());
}

TEST_P(DictTest, ASplitDictIsRefused) {
  const RemoteAddr dict = python.NewDict(Items(2));
  python.memory().Put(dict + kDictValues, uint64_t{0x5000'0000});
  EXPECT_TRUE(absl::IsUnimplemented(Find(dict).status()));
}

TEST_P(DictTest, KeysThatAreNoPointer) {
  const RemoteAddr dict = python.NewDict({});
  for (const uint64_t keys : {uint64_t{0}, uint64_t{16}, uint64_t{1} << 60}) {
    python.memory().Put(dict + kDictKeys, keys);
    EXPECT_TRUE(absl::IsDataLoss(Find(dict).status())) << keys;
  }
}

TEST_P(DictTest, HostileSizesOfTheIndex) {
  const RemoteAddr dict = python.NewDict(Items(2));
  const auto& at = python.layout().dict;
  if (old_keys) {
    for (const int64_t size :
         {int64_t{0}, int64_t{-8}, int64_t{4}, int64_t{24}, int64_t{1} << 25,
          std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
      python.memory().Put(KeysOf(dict) + at.keys_size, size);
      EXPECT_TRUE(absl::IsDataLoss(Find(dict).status())) << size;
    }
  } else {
    for (const int log2 : {29, 63, 64, 255}) {
      python.memory().Put(KeysOf(dict) + at.keys_log2_index_bytes, static_cast<uint8_t>(log2));
      EXPECT_TRUE(absl::IsDataLoss(Find(dict).status())) << log2;
    }
  }
}

TEST_P(DictTest, HostileNumbersOfEntries) {
  const RemoteAddr dict = python.NewDict(Items(2));
  for (const int64_t count :
       {int64_t{-1}, (int64_t{1} << 24) + 1, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    python.memory().Put(KeysOf(dict) + python.layout().dict.keys_nentries, count);
    EXPECT_TRUE(absl::IsDataLoss(Find(dict).status())) << count;
  }
}

TEST_P(DictTest, MoreEntriesThanAreMapped) {
  const RemoteAddr dict = python.NewDict(Items(2));
  python.memory().Put(KeysOf(dict) + python.layout().dict.keys_nentries, int64_t{1} << 24);
  const auto entries = Find(dict);
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_FALSE(ReadDictEntry(python.memory(), *entries, entries->count - 1).ok());
}

}  // namespace
}  // namespace sbump
