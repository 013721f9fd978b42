#include "client/update_merger.h"

#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace sbump {
namespace {

using test::Stats;

TEST(UpdateMerger, WholeUpdateComesOutAsItWas) {
  UpdateMerger merger;
  const v1::SessionUpdate update = test::Active(1, 5);
  const auto merged = merger.Add(update);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->SerializeAsString(), update.SerializeAsString());
}

TEST(UpdateMerger, JoinsPiecesInOrder) {
  UpdateMerger merger;
  v1::SessionUpdate piece;
  piece.set_session_id("s-1");
  *piece.add_targets() = Stats("a", 1, 0);
  piece.set_more(true);
  EXPECT_FALSE(merger.Add(piece));
  EXPECT_TRUE(merger.Incomplete());
  piece.mutable_targets(0)->set_qualname("b");
  EXPECT_FALSE(merger.Add(piece));

  const auto merged = merger.Add(test::Ended(2, 9, "detached"));
  ASSERT_TRUE(merged);
  EXPECT_FALSE(merger.Incomplete());
  ASSERT_EQ(merged->targets_size(), 3);
  EXPECT_EQ(merged->targets(0).qualname(), "a");
  EXPECT_EQ(merged->targets(1).qualname(), "b");
  EXPECT_EQ(merged->targets(2).qualname(), "Engine.step");
  EXPECT_EQ(merged->end().reason(), "detached");
  EXPECT_FALSE(merged->more());

  EXPECT_EQ(merger.Add(test::Active(3, 1))->targets_size(), 1) << "nothing is left over";
}

}  // namespace
}  // namespace sbump
