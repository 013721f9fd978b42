#include "daemon/torch/read_modules.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/cached_reader.h"
#include "daemon/process/timed_reader.h"
#include "daemon/torch/agreement.h"
#include "daemon/torch/forest_reader.h"

namespace sbump {
namespace {

constexpr size_t kCacheBytes = size_t{128} << 20;
constexpr int kReadingsWithDoubts = kMostReadings / 2;
// So often settings are waited for, too, that may have changed once.
constexpr int kReadingsOfSettings = 3;
constexpr uint64_t kShareOfPatience = 15;
constexpr auto kPause = std::chrono::milliseconds(5);
constexpr char kTooLong[] = "reading the modules took too long";

// Whether another try may say otherwise: what was read was changing.
bool MayChange(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDataLoss(status);
}

// What could not be read is left out of a reading: by then that is no fault of the process.
absl::Status CheckTime(bool over) {
  return over ? absl::DeadlineExceededError(kTooLong) : absl::OkStatus();
}

// A process can give each of 200,000 modules another name for another.
constexpr size_t kMostWarnings = 100;

void WarnOf(const Module& module, ModuleForest& forest) {
  for (const std::string& alias : module.aliases) {
    if (forest.warnings.size() > kMostWarnings) return;
    forest.warnings.push_back(StrCat("one module has two names: ", module.path, " and ", alias));
  }
  if (!module.note.empty() && forest.warnings.size() <= kMostWarnings)
    forest.warnings.push_back(StrCat(module.path, ": ", module.note));
}

ModuleForest ToForest(Reading reading, uint64_t readings) {
  ModuleForest forest{.trees = std::move(reading.trees),
                      .ties = std::move(reading.ties),
                      .warnings = std::move(reading.warnings),
                      .tensor_layout = std::move(reading.tensor_layout),
                      .tensors = reading.tensors,
                      .tensor_types = {reading.tensor_types.begin(), reading.tensor_types.end()},
                      .readings = readings};
  for (const ModuleTree& tree : forest.trees) {
    for (const Module& module : tree.modules) WarnOf(module, forest);
  }
  if (forest.warnings.size() > kMostWarnings) forest.warnings.back() = "and more of these";
  return forest;
}

using Read = std::function<absl::StatusOr<Reading>(const ModuleQuery&)>;

// A process that makes objects all the time may have its lists whole only now and then: a second
// look needs none.
absl::StatusOr<Reading> ReadOnce(const Read& read, const ModuleQuery& query,
                                 const std::optional<Reading>& before) {
  absl::StatusOr<Reading> now = read(query);
  if (now.ok() || !before || IsOfKnown(query) || !MayChange(now.status())) return now;
  return read(OfKnown(before->trees, query));
}

// A collection of millions of objects takes a second, and a walk over them, too.
uint64_t EndOfPatience(uint64_t deadline_ns) {
  const uint64_t now_ns = MonotonicNs();
  return now_ns + (deadline_ns > now_ns ? (deadline_ns - now_ns) / kShareOfPatience : 0);
}

absl::StatusOr<ModuleForest> ReadUntilTwoAgree(const Read& read, const ModuleQuery& query,
                                               uint64_t deadline_ns) {
  const uint64_t patience_ns = EndOfPatience(deadline_ns);
  std::optional<Reading> before;
  // Of earlier ones: a tensor that is being made fits no layout.
  std::optional<Reading> with_shapes;
  absl::Status last = absl::UnavailableError("nothing was read");
  for (int readings = 0; readings < kMostReadings;) {
    absl::StatusOr<Reading> now = ReadOnce(read, query, before);
    last = now.status();
    if (!now.ok()) {
      if (!MayChange(last)) return last;
      if (!absl::IsUnavailable(last) || MonotonicNs() > patience_ns) ++readings;
      std::this_thread::sleep_for(kPause);
      continue;
    }
    ++readings;
    const bool believed = !now->has_doubts || readings > kReadingsWithDoubts;
    const bool agree = before && believed &&
                       (*before == *now ||
                        (readings >= kReadingsOfSettings && AgreeButForSettings(*before, *now)));
    if (agree) return ToForest(*std::move(now), static_cast<uint64_t>(readings));
    if (before && before->tensors && !now->tensors) with_shapes = std::move(before);
    before = *std::move(now);
  }
  if (!before) {
    return absl::AbortedError(
        StrCat("its objects changed each time that they were read (", last.message(), ")"));
  }
  if (!before->tensors && with_shapes) before = std::move(with_shapes);
  ModuleForest forest = ToForest(*std::move(before), kMostReadings);
  forest.has_changed = true;
  // Before those that may be many.
  forest.warnings.insert(forest.warnings.begin(),
                         "the modules changed while they were read: this is one moment of them");
  return forest;
}

}  // namespace

bool SaysNoModule(const absl::Status& status) {
  return status.GetPayload(kNoModulePayload).has_value();
}

std::vector<RemoteAddr> RootsOf(const std::vector<ModuleTree>& trees) {
  std::vector<RemoteAddr> roots;
  for (const ModuleTree& tree : trees) {
    if (!tree.of_callables) roots.push_back(tree.modules.front().object);
  }
  return roots;
}

ModuleQuery OfKnown(const std::vector<ModuleTree>& trees, ModuleQuery query) {
  query.roots = RootsOf(trees);
  for (const ModuleTree& tree : trees) {
    for (const Module& module : tree.modules)
      if (tree.of_callables) query.known_callables.push_back(module.object);
  }
  return query;
}

absl::StatusOr<RemoteAddr> FindModuleCall(const MemoryReader& memory,
                                          const Interpreter& interpreter,
                                          const ModuleQuery& query) {
  const CachedReader cache(memory, kCacheBytes);
  Types types(cache, interpreter);
  SB_ASSIGN_OR_RETURN(RemoteAddr type, FindType(cache, interpreter, types, query));
  SB_ASSIGN_OR_RETURN(const TypeObject* found, types.Find(type));
  return found->call;
}

size_t ModuleForest::modules() const {
  size_t count = 0;
  for (const ModuleTree& tree : trees) count += tree.modules.size();
  return count;
}

size_t ModuleForest::models() const {
  return static_cast<size_t>(std::ranges::count(trees, false, &ModuleTree::of_callables));
}

size_t ModuleForest::callables() const {
  return models() == trees.size() ? 0 : trees.back().modules.size();
}

absl::StatusOr<ModuleForest> ReadModules(const MemoryReader& memory, const Interpreter& interpreter,
                                         const ModuleQuery& query, uint64_t deadline_ns) {
  const TimedReader timed(memory, deadline_ns, kTooLong);
  // A process that is stopped meanwhile must not wait for huge pages.
  CachedReader cache(timed, kCacheBytes,
                     query.stopped ? CachedReader::Pages::kSmall : CachedReader::Pages::kHuge);
  // What is remembered costs no read, but time: few bytes can lead round and round.
  const TimedReader bounded(cache, deadline_ns, kTooLong);
  const auto read = [&](const ModuleQuery& what) -> absl::StatusOr<Reading> {
    cache.Forget();
    absl::StatusOr<Reading> reading = ForestReader(bounded, timed, interpreter, what).Read();
    SB_RETURN_IF_ERROR(CheckTime(timed.over() || bounded.over()));
    return reading;
  };
  if (query.stopped) {
    SB_ASSIGN_OR_RETURN(Reading reading, read(query));
    return ToForest(std::move(reading), 1);
  }
  return ReadUntilTwoAgree(read, query, deadline_ns);
}

}  // namespace sbump
