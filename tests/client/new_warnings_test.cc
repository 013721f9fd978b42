#include "client/new_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::SessionUpdate With(const std::vector<std::string>& warnings) {
  v1::SessionUpdate update;
  for (const std::string& warning : warnings) update.add_warnings(warning);
  return update;
}

TEST(NewWarningsTest, EachIsToldOnceWhateverComesAndGoes) {
  NewWarnings warnings;
  EXPECT_THAT(warnings.Take(With({"a", "b"})), ElementsAre("warning: a", "warning: b"));
  EXPECT_THAT(warnings.Take(With({"a", "b"})), IsEmpty());
  EXPECT_THAT(warnings.Take(With({"b"})), IsEmpty());
  EXPECT_THAT(warnings.Take(With({"c", "b"})), ElementsAre("warning: c"));
  EXPECT_THAT(warnings.Take(With({"a", "b", "c"})), IsEmpty());
}

TEST(NewWarningsTest, OnesThatAreNeverTheSameEndSomewhere) {
  NewWarnings warnings;
  size_t told = 0;
  for (int i = 0; i < 2'000; ++i) told += warnings.Take(With({std::to_string(i)})).size();
  EXPECT_EQ(told, NewWarnings::kMost);
}

}  // namespace
}  // namespace sbump
