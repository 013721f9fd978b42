#include "daemon/cpython/dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

// ---- Whole dicts ----

class MappingTest : public DictTest {
 protected:
  const RemoteAddr key_a{0x5000'0000}, key_b{0x5000'0010}, key_c{0x5000'0020};
  const RemoteAddr one{0x6000'0000}, two{0x6000'0010}, three{0x6000'0020};

  absl::StatusOr<std::vector<DictEntry>> Read(RemoteAddr dict, size_t most = 100) {
    return ReadMapping(python.memory(), python.layout(), dict, most);
  }
  absl::StatusOr<std::vector<DictEntry>> Split(RemoteAddr keys, RemoteAddr values,
                                               size_t most = 100) {
    return ReadSplit(python.memory(), python.layout(), keys, values, most);
  }
  RemoteAddr NewValues(const std::vector<RemoteAddr>& values) {
    const int64_t first = python.layout().dict.values_items;
    const RemoteAddr addr = python.Allocate(static_cast<uint64_t>(first) + 8 * values.size() + 8);
    for (size_t i = 0; i < values.size(); ++i)
      python.memory().Put(addr + first + 8 * static_cast<int64_t>(i), values[i]);
    return addr;
  }
  // Shares keys whose own values are no one's.
  RemoteAddr NewSplitDict(const std::vector<RemoteAddr>& values, int64_t used) {
    const RemoteAddr dict = python.NewDict({{key_a, three}, {key_b, three}, {key_c, three}});
    python.memory().Put(dict + kDictValues, NewValues(values));
    python.memory().Put(dict + kDictUsed, used);
    return dict;
  }
  void SetUsed(RemoteAddr dict, int64_t used) { python.memory().Put(dict + kDictUsed, used); }
};
INSTANTIATE_TEST_SUITE_P(Versions, MappingTest, testing::ValuesIn(kFakeMinors));

TEST_P(MappingTest, OfACombinedDictWhatWasDeletedIsLeftOut) {
  const FakePython::Items items = {{key_a, one}, {key_b, RemoteAddr{}}, {key_c, three}};
  for (const bool general_keys : {false, true}) {
    EXPECT_THAT(*Read(python.NewDict(items, {.general_keys = general_keys})),
                ElementsAre(DictEntry{key_a, one}, DictEntry{key_c, three}));
  }
}

TEST_P(MappingTest, OfASplitDictTheValuesAreItsOwn) {
  EXPECT_THAT(*Read(NewSplitDict({two, one, three}, 3)),
              ElementsAre(DictEntry{key_a, two}, DictEntry{key_b, one}, DictEntry{key_c, three}));
  EXPECT_THAT(*Read(NewSplitDict({RemoteAddr{}, one, RemoteAddr{}}, 1)),
              ElementsAre(DictEntry{key_b, one}));
}

TEST_P(MappingTest, ADictThatSaysAnotherNumberIsBeingChanged) {
  const RemoteAddr combined = python.NewDict({{key_a, one}, {key_b, two}});
  const RemoteAddr split = NewSplitDict({one, two}, 2);
  for (const RemoteAddr dict : {combined, split}) {
    EXPECT_TRUE(Read(dict).ok());
    for (const int64_t used :
         {int64_t{1}, int64_t{3}, int64_t{0}, int64_t{-2}, std::numeric_limits<int64_t>::max()}) {
      SetUsed(dict, used);
      EXPECT_TRUE(absl::IsDataLoss(Read(dict).status())) << used;
    }
  }
}

TEST_P(MappingTest, AsManyAsAreAllowed) {
  EXPECT_EQ(Read(python.NewDict(Items(5)), 5)->size(), 5u);
  EXPECT_TRUE(absl::IsResourceExhausted(Read(python.NewDict(Items(5)), 4).status()));
  EXPECT_EQ(Read(NewSplitDict({one, two, three}, 3), 3)->size(), 3u);
  EXPECT_TRUE(absl::IsResourceExhausted(Read(NewSplitDict({one, two, three}, 3), 2).status()));
}

TEST_P(MappingTest, EmptyOnes) {
  EXPECT_THAT(*Read(python.NewDict({}), 0), IsEmpty());
  EXPECT_THAT(*Split(KeysOf(python.NewDict({})), RemoteAddr{}, 0), IsEmpty());
  EXPECT_THAT(*Read(NewSplitDict({}, 0)), IsEmpty());
}

// empty_keys_struct of Objects/dictobject.c.
TEST_P(MappingTest, TheKeysThatAllEmptyDictsShare) {
  if (!old_keys) return;
  const RemoteAddr dict = python.NewDict({});
  python.memory().Put(KeysOf(dict) + python.layout().dict.keys_size, int64_t{1});
  EXPECT_THAT(*Read(dict), IsEmpty());
  ASSERT_TRUE(Find(dict).ok());
  EXPECT_EQ(Find(dict)->count, 0);
  EXPECT_EQ(Find(dict)->first, KeysOf(dict) + python.layout().dict.keys_indices + 8);
}

TEST_P(MappingTest, AnInstancesValuesWithoutADict) {
  const RemoteAddr keys = KeysOf(python.NewDict({{key_a, three}, {key_b, RemoteAddr{}}}));
  EXPECT_THAT(*Split(keys, NewValues({one, two})),
              ElementsAre(DictEntry{key_a, one}, DictEntry{key_b, two}));
  EXPECT_THAT(*Split(keys, NewValues({one})), ElementsAre(DictEntry{key_a, one}))
      << "of an instance that is older than the second key";
}

TEST_P(MappingTest, PlacesThatAreNone) {
  const RemoteAddr nowhere{0x7000'0000'0000};
  for (const RemoteAddr dict : {RemoteAddr{}, RemoteAddr{16}, nowhere})
    EXPECT_TRUE(absl::IsDataLoss(Read(dict).status()));
  const RemoteAddr keys = KeysOf(python.NewDict(Items(2)));
  for (const RemoteAddr values : {RemoteAddr{}, RemoteAddr{uint64_t{1} << 60}, nowhere})
    EXPECT_TRUE(absl::IsDataLoss(Split(keys, values).status()));
  for (const RemoteAddr bad_keys : {RemoteAddr{}, RemoteAddr{uint64_t{1} << 60}, nowhere})
    EXPECT_TRUE(absl::IsDataLoss(Split(bad_keys, NewValues({one})).status()));
}

TEST_P(MappingTest, HostileNumbersOfEntries) {
  const RemoteAddr dict = python.NewDict(Items(2));
  const RemoteAddr count = KeysOf(dict) + python.layout().dict.keys_nentries;
  python.memory().Put(count, int64_t{-1});
  EXPECT_TRUE(absl::IsDataLoss(Read(dict).status()));
  python.memory().Put(count, int64_t{1} << 24);
  EXPECT_TRUE(absl::IsResourceExhausted(Read(dict).status()));
  python.memory().Put(count, int64_t{100'000});
  EXPECT_TRUE(absl::IsDataLoss(Read(dict, 100'000).status())) << "more than are mapped";
}

}  // namespace
}  // namespace sbump
