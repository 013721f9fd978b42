#include "daemon/cpython/gc_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/process/cached_reader.h"
#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

constexpr ListOwner kOwners[] = {ListOwner::kStopped, ListOwner::kRunning};
constexpr uint64_t kNowhere = 0x7000'0000'0000;

class GcListsTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  FakeMemory& memory = python.memory();
  const RemoteAddr head = python.GenerationHead(0);
  std::vector<RemoteAddr> seen;
  const bool one_collector = GetParam() == 8;  // for all interpreters

  GcLists Lists() { return *GcLists::Find(memory, python.interpreter()); }
  // An object of `type` on the list.
  RemoteAddr NewObject(RemoteAddr type = RemoteAddr{0x5000'0000}) {
    const RemoteAddr object = python.Allocate(64) + kGcHeadSize;
    memory.Put(object + kObType, type);
    python.Track(object, 0);
    return object;
  }
  void SetNext(RemoteAddr object, uint64_t next) { memory.Put(object + -kGcHeadSize, next); }
  void SetPrev(RemoteAddr object, uint64_t prev) { memory.Put(object + -kGcHeadSize + 8, prev); }
  static uint64_t LinksOf(RemoteAddr object) { return (object + -kGcHeadSize).value; }
  // Ends after ten objects.
  absl::Status Walk(ListOwner owner) {
    seen.clear();
    return WalkGcList(memory, head, owner, [&](RemoteAddr object, RemoteAddr) {
      seen.push_back(object);
      return seen.size() < 10;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, GcListsTest, testing::ValuesIn(kFakeMinors));

TEST_P(GcListsTest, EachGenerationAndThePermanentOne) {
  std::vector<RemoteAddr> heads;
  for (int generation = 0; generation < 4; ++generation)
    heads.push_back(python.GenerationHead(generation));
  EXPECT_EQ(Lists().heads(), heads);
  python.AddInterpreter();
  EXPECT_THAT(Lists().heads(), SizeIs(one_collector ? 4 : 8));
  EXPECT_THAT(Lists().heads(), IsSupersetOf(heads));
}

TEST_P(GcListsTest, WithoutAnInterpreterThereAreNone) {
  memory.Put(python.interpreter().runtime + python.layout().runtime.interpreters_head, uint64_t{0});
  if (one_collector) {
    EXPECT_THAT(Lists().heads(), SizeIs(4));
  } else {
    EXPECT_TRUE(absl::IsFailedPrecondition(GcLists::Find(memory, python.interpreter()).status()));
  }
}

TEST_P(GcListsTest, ACollectionOfAnyInterpreterIsARunningOne) {
  const RemoteAddr second = python.AddInterpreter();
  const GcLists lists = Lists();
  EXPECT_TRUE(lists.CheckIdle(memory).ok());
  memory.Put(python.CollectingFlag(), int32_t{1});
  EXPECT_TRUE(absl::IsUnavailable(lists.CheckIdle(memory)));
  memory.Put(python.CollectingFlag(), int32_t{0});
  EXPECT_TRUE(lists.CheckIdle(memory).ok());
  if (one_collector) return;
  memory.Put(second + python.layout().interpreter.gc_collecting, int32_t{1});
  EXPECT_TRUE(absl::IsUnavailable(lists.CheckIdle(memory)));
}

TEST_P(GcListsTest, AFlagThatCannotBeReadIsNoZero) {
  const GcLists lists = Lists();
  memory.Unmap(python.CollectingFlag());
  EXPECT_TRUE(absl::IsDataLoss(lists.CheckIdle(memory)));
}

TEST_P(GcListsTest, ObjectsAndTheirTypesInTheListsOrder) {
  const RemoteAddr first = NewObject(RemoteAddr{0x5000'1000});
  const RemoteAddr second = NewObject(RemoteAddr{0x5000'2000});
  for (const ListOwner owner : kOwners) {
    std::vector<std::pair<RemoteAddr, RemoteAddr>> all;
    const auto visit = [&](RemoteAddr object, RemoteAddr type) {
      all.emplace_back(object, type);
      return true;
    };
    ASSERT_TRUE(WalkGcList(memory, head, owner, visit).ok());
    EXPECT_THAT(all, ElementsAre(std::pair(first, RemoteAddr{0x5000'1000}),
                                 std::pair(second, RemoteAddr{0x5000'2000})));
  }
}

TEST_P(GcListsTest, AnEmptyList) {
  for (const ListOwner owner : kOwners) {
    EXPECT_TRUE(Walk(owner).ok());
    EXPECT_THAT(seen, IsEmpty());
  }
}

TEST_P(GcListsTest, WhoHasSeenEnoughEndsTheWalk) {
  const RemoteAddr first = NewObject();
  SetNext(NewObject(), kNowhere);  // is never followed
  for (const ListOwner owner : kOwners) {
    seen.clear();
    const auto visit = [&](RemoteAddr object, RemoteAddr) {
      seen.push_back(object);
      return false;
    };
    EXPECT_TRUE(WalkGcList(memory, head, owner, visit).ok());
    EXPECT_THAT(seen, ElementsAre(first));
  }
}

TEST_P(GcListsTest, FlagsInTheLinksAreNoPartOfTheAddress) {
  const RemoteAddr first = NewObject(), second = NewObject();
  SetNext(first, LinksOf(second) + 1);
  SetPrev(second, LinksOf(first) + 3);
  for (const ListOwner owner : kOwners) {
    EXPECT_TRUE(Walk(owner).ok());
    EXPECT_THAT(seen, ElementsAre(first, second));
  }
}

// As a list looks while the process takes an object off it.
TEST_P(GcListsTest, OfARunningProcessEachLinkMustLeadBack) {
  const RemoteAddr first = NewObject(), second = NewObject(), third = NewObject();
  SetPrev(third, LinksOf(first));
  EXPECT_TRUE(Walk(ListOwner::kStopped).ok());
  EXPECT_THAT(seen, ElementsAre(first, second, third));
  EXPECT_TRUE(absl::IsDataLoss(Walk(ListOwner::kRunning)));
  EXPECT_THAT(seen, ElementsAre(first, second));
  SetPrev(first, LinksOf(third));
  EXPECT_TRUE(absl::IsDataLoss(Walk(ListOwner::kRunning)));
  EXPECT_THAT(seen, IsEmpty());
}

TEST_P(GcListsTest, ACircleThatNeverComesBackToTheHead) {
  const RemoteAddr first = NewObject(), second = NewObject();
  SetNext(second, LinksOf(first));
  EXPECT_TRUE(absl::IsDataLoss(Walk(ListOwner::kRunning)));
  EXPECT_THAT(seen, ElementsAre(first, second));
  EXPECT_TRUE(absl::IsDataLoss(Walk(ListOwner::kStopped)));
  EXPECT_THAT(seen, ElementsAre(first, second, first, second));
}

TEST_P(GcListsTest, LinksThatLeadNowhere) {
  const RemoteAddr first = NewObject();
  NewObject();
  NewObject();
  for (const ListOwner owner : kOwners) {
    for (const uint64_t next : {uint64_t{0}, uint64_t{64}, uint64_t{1} << 50, kNowhere}) {
      SetNext(first, next);
      EXPECT_TRUE(absl::IsDataLoss(Walk(owner))) << next;
      EXPECT_THAT(seen, ElementsAre(first));
    }
  }
}

// The stores of _PyObject_GC_TRACK: the last object's link, the new one's two, the head's.
TEST_P(GcListsTest, AnObjectThatIsBeingTracked) {
  const RemoteAddr first = NewObject();
  const RemoteAddr added = NewObject();
  SetNext(added, 0);
  for (const ListOwner owner : kOwners) {
    for (const uint64_t tail : {LinksOf(first), LinksOf(added)}) {
      memory.Put(head + 8, tail);
      EXPECT_TRUE(Walk(owner).ok());
      EXPECT_THAT(seen, ElementsAre(first, added));
    }
  }
}

TEST_P(GcListsTest, AHeadThatIsNotMapped) {
  EXPECT_TRUE(absl::IsDataLoss(WalkGcList(memory, RemoteAddr{kNowhere}, ListOwner::kStopped,
                                          [](RemoteAddr, RemoteAddr) { return true; })));
}

// ---- Of a process that changes it meanwhile ----

class ChangingListTest : public GcListsTest {
 protected:
  RemoteAddr NextOf(RemoteAddr link) { return *memory.ReadPointer(link); }
  RemoteAddr PrevOf(RemoteAddr link) { return *memory.ReadPointer(link + 8); }
  static RemoteAddr Link(RemoteAddr object) { return object + -kGcHeadSize; }
  // As _PyObject_GC_UNTRACK().
  void Leave(RemoteAddr object) {
    const RemoteAddr link = Link(object), before = PrevOf(link), behind = NextOf(link);
    memory.Put(before, behind);
    memory.Put(behind + 8, before);
    memory.Put(link, uint64_t{0});
    memory.Put(link + 8, uint64_t{0});
  }
  void ComeAgain(RemoteAddr object) {
    const RemoteAddr link = Link(object), last = PrevOf(head);
    memory.Put(last, link);
    memory.Put(link + 8, last);
    memory.Put(link, head);
    memory.Put(head + 8, link);
  }
  // Through a cache, as the daemon does. `meanwhile` is called at each object that is seen.
  absl::Status WalkWhile(const std::function<void(RemoteAddr)>& meanwhile) {
    const CachedReader cache(memory, 1 << 20);
    seen.clear();
    return WalkGcList(
        cache, head, ListOwner::kRunning,
        [&](RemoteAddr object, RemoteAddr) {
          seen.push_back(object);
          meanwhile(object);
          return true;
        },
        &memory);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ChangingListTest, testing::ValuesIn({8, 13}));

TEST_P(ChangingListTest, WhatStaysIsSeenWhateverLeaves) {
  std::vector<RemoteAddr> stays, leaves;
  for (int i = 0; i < 200; ++i) (i % 3 == 0 ? stays : leaves).push_back(NewObject());
  size_t left = 0;
  const auto leave = [&](RemoteAddr) {
    for (int i = 0; i < 3 && left < leaves.size(); ++i) Leave(leaves[left++]);
  };
  ASSERT_TRUE(WalkWhile(leave).ok());
  EXPECT_THAT(seen, IsSupersetOf(stays));
}

TEST_P(ChangingListTest, MemoryThatIsUsedAgainIsNotFollowed) {
  std::vector<RemoteAddr> all;
  for (int i = 0; i < 200; ++i) all.push_back(NewObject());
  // The object that was seen just now, and its neighbour, go to the end.
  bool moved = false;
  const auto move = [&](RemoteAddr object) {
    if (object != all[50] || std::exchange(moved, true)) return;
    for (const RemoteAddr one : {all[50], all[51]}) Leave(one);
    for (const RemoteAddr one : {all[51], all[50]}) ComeAgain(one);
  };
  ASSERT_TRUE(WalkWhile(move).ok());
  EXPECT_THAT(seen, IsSupersetOf(all));
}

TEST_P(ChangingListTest, FromItsBeginningWhereNothingThatWasSeenIsLeft) {
  std::vector<RemoteAddr> gone, stays;
  for (int i = 0; i < 3; ++i) gone.push_back(NewObject());
  for (int i = 0; i < 3; ++i) stays.push_back(NewObject());
  bool left = false;
  const auto leave = [&](RemoteAddr object) {
    if (object != gone[2] || std::exchange(left, true)) return;
    for (const RemoteAddr one : gone) Leave(one);
  };
  ASSERT_TRUE(WalkWhile(leave).ok());
  EXPECT_THAT(seen, IsSupersetOf(stays));
}

TEST_P(ChangingListTest, ACollectionThatTakesTheObjectsElsewhere) {
  std::vector<RemoteAddr> all;
  for (int i = 0; i < 5000; ++i) all.push_back(NewObject());  // many blocks of the cache
  // As gc_list_merge() to the list of the next generation.
  const auto collect = [&](RemoteAddr object) {
    if (object != all[50]) return;
    const RemoteAddr next = python.GenerationHead(1), last = PrevOf(next);
    memory.Put(last, Link(all.front()));
    memory.Put(Link(all.front()) + 8, last);
    memory.Put(Link(all.back()), next);
    memory.Put(next + 8, Link(all.back()));
    for (const RemoteAddr end : {head, head + 8}) memory.Put(end, head);
  };
  const absl::Status status = WalkWhile(collect);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_LT(seen.size(), 20'000);
}

TEST_P(ChangingListTest, TooMuchAtOnceIsSaid) {
  std::vector<RemoteAddr> all;
  for (int i = 0; i < 5000; ++i) all.push_back(NewObject());  // many blocks of the cache
  const auto leave = [&](RemoteAddr object) {
    if (object != all[2000]) return;
    for (size_t i = 100; i < 4900; ++i) Leave(all[i]);
  };
  EXPECT_TRUE(absl::IsDataLoss(WalkWhile(leave)));
}

TEST_P(ChangingListTest, AListThatIsBrokenForGoodIsNotFollowedForEver) {
  NewObject();
  SetPrev(NewObject(), kNowhere);
  EXPECT_TRUE(absl::IsDataLoss(WalkWhile([](RemoteAddr) {})));
}

}  // namespace
}  // namespace sbump
