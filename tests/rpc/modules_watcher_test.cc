#include "daemon/rpc/modules_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "daemon/rpc/pieces.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr RemoteAddr kRoot{0x1000}, kOther{0x2000};

Module ModuleAt(const std::string& path, const std::string& type, bool training = false) {
  return {.path = path, .type_name = type, .full_type = type, .training = training};
}

ModulesResult Look(std::vector<Module> modules, uint64_t start_ticks = 5) {
  ModulesResult look;
  look.process = {.pid = 7, .start_ticks = start_ticks};
  modules.front().object = kRoot;
  look.forest.trees.push_back({std::move(modules)});
  return look;
}

// As ReadModules() and RunModules() say it.
absl::Status NoModule() {
  absl::Status status = absl::FailedPreconditionError("it has no instance of X");
  status.SetPayload("sbump/no-module", absl::Cord());
  return Annotate(status, "pid 7");
}

std::vector<std::string> PathsOf(const google::protobuf::RepeatedPtrField<v1::Module>& modules) {
  std::vector<std::string> paths;
  for (const v1::Module& module : modules) paths.push_back(module.path());
  return paths;
}

class ModulesWatcherTest : public testing::Test {
 protected:
  std::vector<v1::ModulesUpdate> Take(const absl::StatusOr<ModulesResult>& look) {
    const auto updates = watcher.Take(look);
    EXPECT_TRUE(updates.ok()) << updates.status();
    return updates.ok() ? *updates : std::vector<v1::ModulesUpdate>();
  }

  ModulesWatcher watcher{ModulesSpec()};
};

TEST_F(ModulesWatcherTest, AllThenNothingThenWhatIsDifferent) {
  const auto first = Take(Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear"),
                                ModuleAt("top.b", "Linear", true), ModuleAt("top.c", "ReLU")}));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_THAT(PathsOf(first[0].modules().modules()), ElementsAre("top", "top.a", "top.b", "top.c"));
  ModulesResult again = Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear"),
                              ModuleAt("top.b", "Linear", true), ModuleAt("top.c", "ReLU")});
  again.read_ns = 77;
  EXPECT_THAT(Take(again), IsEmpty()) << "what it took is no news";
  const auto news = Take(Look({ModuleAt("top", "Model"), ModuleAt("top.d", "Linear"),
                               ModuleAt("top.b", "Linear", false), ModuleAt("top.c", "Identity")}));
  ASSERT_THAT(news, SizeIs(1));
  const v1::ModulesChange& change = news[0].change();
  EXPECT_THAT(PathsOf(change.appeared()), ElementsAre("top.d"));
  EXPECT_THAT(PathsOf(change.vanished()), ElementsAre("top.a"));
  EXPECT_THAT(PathsOf(change.changed()), ElementsAre("top.b", "top.c"));
  EXPECT_FALSE(change.changed(0).training()) << "as it is now";
  EXPECT_FALSE(change.more());
}

TEST_F(ModulesWatcherTest, AWarningIsNewsUntilTheNextLookHasIt) {
  ModulesResult look = Look({ModuleAt("top", "Model")});
  look.warnings = {"one"};
  Take(look);
  EXPECT_THAT(Take(look), IsEmpty());
  look.forest.warnings = {"two"};
  const auto news = Take(look);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].change().warnings(), ElementsAre("two"));
  EXPECT_THAT(Take(look), IsEmpty());
  look.forest.warnings.clear();
  EXPECT_THAT(Take(look), IsEmpty()) << "that one has gone is none";
}

TEST_F(ModulesWatcherTest, ASettingThatIsNoNumberIsTheSameNextTime) {
  Module module = ModuleAt("top", "Model");
  module.attributes = {
      {"clip",
       {.kind = Value::Kind::kFloat, .floating = std::numeric_limits<double>::quiet_NaN()}}};
  Take(Look({module}));
  EXPECT_THAT(Take(Look({module})), IsEmpty());
}

TEST_F(ModulesWatcherTest, AProcessWithoutModulesHasAnEmptyTree) {
  const auto first = Take(NoModule());
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_TRUE(first[0].has_modules());
  EXPECT_THAT(first[0].modules().modules(), IsEmpty());
  EXPECT_THAT(PathsOf(Take(Look({ModuleAt("top", "Model")}))[0].change().appeared()),
              ElementsAre("top"));
  EXPECT_THAT(PathsOf(Take(NoModule())[0].change().vanished()), ElementsAre("top"));
}

TEST_F(ModulesWatcherTest, ALookAtWhichObjectsKeptChangingTellsNothing) {
  EXPECT_THAT(Take(absl::AbortedError("its objects changed")), IsEmpty());
  Take(Look({ModuleAt("top", "Model")}));
  EXPECT_THAT(Take(absl::AbortedError("its objects changed")), IsEmpty());
  EXPECT_THAT(Take(Look({ModuleAt("top", "Model")})), IsEmpty());
}

TEST_F(ModulesWatcherTest, OneMomentOfThemIsToldAtFirstOnly) {
  ModulesResult look = Look({ModuleAt("top", "Model")});
  look.forest.has_changed = true;
  EXPECT_THAT(Take(look), SizeIs(1)) << "with its warning";
  ModulesResult torn = Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear")});
  torn.forest.has_changed = true;
  EXPECT_THAT(Take(torn), IsEmpty());
  torn.forest.has_changed = false;
  EXPECT_THAT(Take(torn), SizeIs(1));
}

// A process can be traced, or stand still, or hold too much: its modules are there all the same.
TEST_F(ModulesWatcherTest, OtherErrorsAreTheEnd) {
  Take(Look({ModuleAt("top", "Model")}));
  for (const absl::Status& error :
       {absl::NotFoundError("no such process"), absl::FailedPreconditionError("it is traced")})
    EXPECT_EQ(watcher.Take(error).status(), error);
  EXPECT_THAT(Take(Look({ModuleAt("top", "Model")})), IsEmpty());
}

TEST_F(ModulesWatcherTest, SeveralOfOnePath) {
  Take(Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear"), ModuleAt("top.a", "ReLU")}));
  EXPECT_THAT(Take(Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear"),
                         ModuleAt("top.a", "ReLU")})),
              IsEmpty());
  const auto news = Take(Look({ModuleAt("top", "Model"), ModuleAt("top.a", "Linear")}));
  EXPECT_EQ(news[0].change().vanished(0).type(), "ReLU");
}

TEST_F(ModulesWatcherTest, AnotherProcessOfTheSameNumberIsTheEnd) {
  Take(Look({ModuleAt("top", "Model")}, 5));
  const absl::Status status = watcher.Take(Look({ModuleAt("top", "Model")}, 6)).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("pid 7: it has ended"));
}

TEST_F(ModulesWatcherTest, TheNextLookKeepsNames) {
  EXPECT_THAT(watcher.spec().query.named_roots, IsEmpty());
  ModulesResult look = Look({ModuleAt("top", "Model")});
  look.forest.trees.push_back({{ModuleAt("top#2", "Model")}});
  look.forest.trees[1].modules[0].object = kOther;
  Take(look);
  EXPECT_THAT(watcher.spec().query.named_roots, ElementsAre(kRoot, kOther));
  Take(absl::AbortedError("its objects changed"));
  EXPECT_THAT(watcher.spec().query.named_roots, SizeIs(2));
  Take(NoModule());
  EXPECT_THAT(watcher.spec().query.named_roots, IsEmpty());
}

TEST_F(ModulesWatcherTest, ManyComeInPieces) {
  Take(Look({ModuleAt("top", "Model")}));
  std::vector<Module> modules = {ModuleAt("top", "Model")};
  for (int i = 0; i < 100; ++i)
    modules.push_back(ModuleAt("top." + std::to_string(i), std::string(60'000, 'x')));
  const auto news = Take(Look(modules));
  ASSERT_GT(news.size(), 2u);
  int appeared = 0;
  for (const v1::ModulesUpdate& update : news) {
    EXPECT_LT(update.ByteSizeLong(), 2 * kBytesPerMessage);
    EXPECT_EQ(update.change().more(), &update != &news.back());
    appeared += update.change().appeared_size();
  }
  EXPECT_EQ(appeared, 100);
}

TEST_F(ModulesWatcherTest, InTheOrderOfTheTree) {
  Take(NoModule());
  const auto news = Take(Look({ModuleAt("top", "Model"), ModuleAt("top.z", "Linear"),
                               ModuleAt("top.z.0", "Linear"), ModuleAt("top.a", "Linear")}));
  EXPECT_THAT(PathsOf(news[0].change().appeared()),
              ElementsAre("top", "top.z", "top.z.0", "top.a"));
}

TEST(ToLookIntervalTest, DefaultAndBounds) {
  v1::WatchModulesRequest request;
  EXPECT_EQ(*ToLookInterval(request), 1'000'000'000u);
  for (const uint64_t ns : {50'000'000ull, 3'600'000'000'000ull}) {
    request.set_interval_ns(ns);
    EXPECT_EQ(*ToLookInterval(request), ns);
  }
  for (const uint64_t ns : {49'999'999ull, 3'600'000'000'001ull}) {
    request.set_interval_ns(ns);
    EXPECT_TRUE(absl::IsInvalidArgument(ToLookInterval(request).status())) << ns;
  }
}

TEST(ToLookIntervalTest, AProcessIsNotStoppedAllTheTime) {
  v1::WatchModulesRequest request;
  request.mutable_tree()->set_max_stop_ns(1);
  EXPECT_TRUE(ToLookInterval(request).ok());
  request.set_interval_ns(999'999'999);
  EXPECT_TRUE(absl::IsInvalidArgument(ToLookInterval(request).status()));
  request.set_interval_ns(1'000'000'000);
  EXPECT_TRUE(ToLookInterval(request).ok());
}

}  // namespace
}  // namespace sbump
