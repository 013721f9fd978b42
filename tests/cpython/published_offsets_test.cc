#include "daemon/cpython/published_offsets.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

class PublishedOffsetsTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  Layout layout = *FindLayout(python.interpreter().file->version);

  void Publish(int64_t word, int64_t value) {
    python.memory().Put(python.interpreter().runtime + 8 * word, value);
  }
  absl::Status Take() {
    return TakePublishedOffsets(python.memory(), python.interpreter().runtime,
                                python.interpreter().file->version, layout);
  }
  RemoteAddr Gc() const { return python.main_interpreter() + layout.interpreter.gc; }
  // A ring of the head and one object.
  void PutList(RemoteAddr head) {
    const RemoteAddr object = python.Allocate(16);
    for (const auto& [from, to] : {std::pair(head, object), std::pair(object, head)}) {
      python.memory().Put(from, to);
      python.memory().Put(from + 8, to);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, PublishedOffsetsTest, testing::Values(13, 14, 15));

TEST_P(PublishedOffsetsTest, PlacesThatMovedAreTakenOver) {
  Publish(5, 1600);
  Publish(8, 800);
  Publish(9, 808);
  Publish(layout.word.gc, 816);
  Publish(layout.word.imports_modules, 824);
  ASSERT_TRUE(Take().ok()) << Take();
  EXPECT_EQ(layout.runtime.interpreters_head, 1600);
  EXPECT_EQ(layout.interpreter.next, 800);
  EXPECT_EQ(layout.interpreter.threads_head, 808);
  EXPECT_EQ(layout.interpreter.gc, 816);
  EXPECT_EQ(layout.interpreter.modules, 824);
}

TEST_P(PublishedOffsetsTest, APlaceThatNoStructureHas) {
  for (const int64_t nonsense : {int64_t{-8}, int64_t{7}, int64_t{1} << 40}) {
    Publish(9, nonsense);
    EXPECT_TRUE(absl::IsDataLoss(Take())) << nonsense << ": " << Take();
  }
}

TEST_P(PublishedOffsetsTest, WhatTheTableMustKnowIsCompared) {
  for (const int32_t word :
       {layout.word.thread_next, layout.word.thread_interp, layout.word.thread_current_frame,
        layout.word.frame_executable, layout.word.frame_instr_ptr, layout.word.code_size,
        layout.word.code_size + 1, layout.word.code_size + 2, layout.word.code_size + 3,
        layout.word.code_size + 5, layout.word.code_adaptive, layout.word.tuple_ob_item}) {
    const RemoteAddr place = python.interpreter().runtime + 8 * word;
    const int64_t sound = *python.memory().ReadValue<int64_t>(place);
    python.memory().Put(place, sound + 8);
    const absl::Status status = Take();
    EXPECT_TRUE(absl::IsDataLoss(status)) << "word " << word << ": " << status;
    EXPECT_NE(std::string(status.message()).find(std::to_string(sound + 8)), std::string::npos);
    python.memory().Put(place, sound);
  }
  EXPECT_TRUE(Take().ok()) << Take();
}

TEST_P(PublishedOffsetsTest, NoCookie) {
  Publish(0, 7);
  EXPECT_TRUE(absl::IsDataLoss(Take())) << Take();
}

TEST_P(PublishedOffsetsTest, TheOffsetsOfAnotherVersion) {
  Publish(1, 3 << 24 | 7 << 16 | 1 << 8 | 0xF0);
  EXPECT_TRUE(absl::IsDataLoss(Take()));
  EXPECT_NE(std::string(Take().message()).find("3.7.1"), std::string::npos) << Take();
}

TEST_P(PublishedOffsetsTest, AFreeThreadedBuildByItsOffsetsButNotByItsFile) {
  Publish(2, 1);
  EXPECT_TRUE(absl::IsDataLoss(Take())) << Take();
  EXPECT_NE(std::string(Take().message()).find("free-threaded"), std::string::npos) << Take();
}

TEST_P(PublishedOffsetsTest, TheListsShowWhereTheyAre) {
  for (const int32_t at : layout.gc_state.generations) {
    if (at == kAbsent) continue;
    FakePython fresh(GetParam());
    Layout found = layout;
    for (int i = 0; i < 3; ++i) {  // the fake has the lists at the first place
      const RemoteAddr elsewhere = fresh.main_interpreter() + layout.interpreter.gc +
                                   layout.gc_state.generations[0] + i * kGcGenerationSize;
      fresh.memory().Put(elsewhere, uint64_t{0});
      fresh.memory().Put(elsewhere + 8, uint64_t{0});
    }
    for (int i = 0; i < 3; ++i) {
      const RemoteAddr head =
          fresh.main_interpreter() + layout.interpreter.gc + at + i * kGcGenerationSize;
      fresh.memory().Put(head, head);
      fresh.memory().Put(head + 8, head);
    }
    ASSERT_TRUE(FindGcLists(fresh.memory(), fresh.main_interpreter(), found).ok());
    EXPECT_EQ(found.interpreter.gc_generations, layout.interpreter.gc + at);
    EXPECT_EQ(found.interpreter.gc_permanent, layout.interpreter.gc + layout.gc_state.permanent);
  }
}

TEST_P(PublishedOffsetsTest, ListsWithObjects) {
  PutList(Gc() + layout.gc_state.generations[0] + kGcGenerationSize);
  EXPECT_TRUE(FindGcLists(python.memory(), python.main_interpreter(), layout).ok());
}

TEST_P(PublishedOffsetsTest, NoListsAtAll) {
  python.memory().Put(Gc() + layout.gc_state.generations[0] + kGcGenerationSize, uint64_t{0});
  const absl::Status status = FindGcLists(python.memory(), python.main_interpreter(), layout);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

}  // namespace
}  // namespace sbump
