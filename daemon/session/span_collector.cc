#include "daemon/session/span_collector.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/cpython/unicode.h"
#include "daemon/match/native_pattern.h"
#include "daemon/native/resolve.h"
#include "daemon/torch/tensor.h"

namespace sbump {
namespace {

constexpr int kLookEveryMs = 10;
constexpr uint64_t kLookForGreenletsNs = 1'000'000'000;
constexpr size_t kMostNames = 10'000;
constexpr size_t kLongestName = 256;
constexpr char kUnknownName[] = "?";
constexpr int32_t kStrHash = 24;  // PyASCIIObject.hash
// Of what the programs have room for a part: beyond, all are forgotten, and asked about anew.
constexpr size_t kMostTypes = SB_VALUE_TYPES / 2;
// Spans wait meanwhile; the ring holds what comes in far longer.
constexpr uint64_t kLongestLookAtTypesNs = 20'000'000;
constexpr char kTooLong[] = "looking at the types of values took too long";
constexpr size_t kMostAtOnce = 5'000;
constexpr int kMostRounds = 100;  // the ring holds less
constexpr uint64_t kPublishNs = 20'000'000;

// The interpreter's own offsets: Layout has those of each version.
void FillLayout(const Layout& layout, sb_span_layout& span) {
  span.tuple_items = OffsetOrZero(layout.tuple.items);
  span.keys_size = OffsetOrZero(layout.dict.keys_size);
  span.keys_log2_index_bytes = OffsetOrZero(layout.dict.keys_log2_index_bytes);
  span.keys_kind = OffsetOrZero(layout.dict.keys_kind);
  span.keys_nentries = OffsetOrZero(layout.dict.keys_nentries);
  span.keys_indices = OffsetOrZero(layout.dict.keys_indices);
}

}  // namespace

SpanCollector::SpanCollector(const TargetProcess& process, const MemoryReader& memory,
                             const Interpreter& interpreter, Programs& programs,
                             const SavedRegisters& saved, std::shared_ptr<SpanHub> hub)
    : process_(process),
      memory_(memory),
      interpreter_(interpreter),
      programs_(programs),
      hub_(std::move(hub)),
      modules_(std::make_shared<const Modules>()),
      assembler_([this](const sb_span_tensor& tensor) { return NameOf(tensor); }) {
  FillLayout(interpreter.layout(), programs.span_layout());
  static_assert(std::tuple_size_v<SavedRegisters> == SB_SAVED_REGISTERS &&
                kSaveSlots == SB_SAVE_SLOTS);
  std::ranges::copy(saved, programs.span_layout().saved_at);
  IntroduceTypes();
  thread_ = std::thread([this] { Run(); });
}

SpanCollector::~SpanCollector() { Stop(); }

// Those that most calls have; others are asked about.
void SpanCollector::IntroduceTypes() {
  const auto address_of = [&](std::string_view name) {
    const std::optional<ElfSymbol> symbol = interpreter_.file->elf->FindSymbol(name);
    return symbol ? RemoteAddr{symbol->vaddr + interpreter_.load_bias} : RemoteAddr();
  };
  if (const RemoteAddr type = address_of("PyFloat_Type"))
    programs_.SetValueType(type, SB_VALUE_OTHER);
  if (const RemoteAddr none = address_of("_Py_NoneStruct")) {
    const absl::StatusOr<RemoteAddr> type = memory_.ReadPointer(none + kObType);
    if (type.ok()) programs_.SetValueType(*type, SB_VALUE_OTHER);
  }
}

void SpanCollector::SetModules(Modules modules) {
  auto shared = std::make_shared<const Modules>(std::move(modules));
  std::lock_guard lock(mutex_);
  modules_ = std::move(shared);
}

void SpanCollector::SetTensors(const ModuleForest& forest) {
  for (RemoteAddr type : forest.tensor_types) programs_.SetValueType(type, SB_VALUE_TENSOR);
  if (!forest.tensors) return;
  sb_span_layout& layout = programs_.span_layout();
  layout.tensor_impl = static_cast<uint32_t>(forest.tensors->impl);
  layout.tensor_sizes = static_cast<uint32_t>(forest.tensors->sizes);
  std::lock_guard lock(mutex_);
  if (operators_ != nullptr && forest.tensors->storage > 0)
    layout.tensor_storage = static_cast<uint32_t>(forest.tensors->storage);
  __atomic_store_n(&layout.knows_tensors, 1, __ATOMIC_RELEASE);
}

void SpanCollector::SetOperators(std::shared_ptr<const OperatorProbes::Names> names) {
  std::lock_guard lock(mutex_);
  operators_ = std::move(names);
}

SpanFigures SpanCollector::FiguresOf(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto figures = figures_.find(path);
  return figures == figures_.end() ? SpanFigures() : figures->second;
}

void SpanCollector::Stop() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

// ---- On its own thread ----

// Made by a thread that runs before others; this one need not.
void SpanCollector::Run() {
  pthread_setname_np(pthread_self(), "spans");
  const sched_param ordinary{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
  LookForGreenlets();
  while (!stops_) {
    pollfd ring{.fd = programs_.span_fd(), .events = POLLIN, .revents = 0};
    poll(&ring, 1, kLookEveryMs);
    if (MonotonicNs() >= next_look_ns_) {
      LookForGreenlets();
      CheckTypes();
    }
    Consume();
    if (MonotonicNs() >= next_publish_ns_) Publish();
  }
  // What there is now: a process that runs on adds no more, since the probes are gone.
  for (int i = 0; i < kMostRounds && Consume(); ++i) continue;
  Publish();
}

bool SpanCollector::Consume() {
  {
    std::lock_guard lock(mutex_);
    current_ = modules_;
    current_operators_ = operators_;
  }
  const bool more =
      programs_.ConsumeSpans(kMostAtOnce, [this](const sb_span_event& event) { OnEvent(event); });
  Count();
  hub_->Add(std::exchange(spans_, {}), std::exchange(operations_, {}));
  const uint64_t lost = programs_.spans_lost() + assembler_.unpaired();
  hub_->NoteLost(lost - std::exchange(lost_before_, lost));
  return more;
}

void SpanCollector::Count() {
  for (const Span& span : spans_) {
    times_[span.module->path].Add(span.end_ns - span.begin_ns, span.self_ns, span.raised);
    counted_.insert(span.module->path);
  }
}

// The thread that asks for figures must not wait for this one.
void SpanCollector::Publish() {
  next_publish_ns_ = MonotonicNs() + kPublishNs;
  std::vector<std::pair<std::string, SpanFigures>> fresh;
  for (const std::string& path : std::exchange(counted_, {}))
    fresh.emplace_back(path, times_.at(path).Figures());
  std::lock_guard lock(mutex_);
  for (auto& [path, figures] : fresh) figures_.insert_or_assign(std::move(path), figures);
}

void SpanCollector::OnOperator(const sb_span_event& event) {
  if (event.kind == SB_OPERATOR_END) {
    std::optional<OperatorCall> operation = assembler_.EndOperator(event);
    if (!operation) return;
    operation->pid = process_.pid();
    operations_.push_back(*std::move(operation));
  } else if (current_operators_ != nullptr && event.object < current_operators_->size()) {
    assembler_.BeginOperator(event, (*current_operators_)[event.object]);
  }
}

void SpanCollector::OnEvent(const sb_span_event& event) {
  if (event.kind == SB_OPERATOR_BEGIN || event.kind == SB_OPERATOR_END) return OnOperator(event);
  const bool lacks_tensors = event.unknown_type != 0 && Classify(RemoteAddr{event.unknown_type});
  if (event.kind == SB_SPAN_END) {
    std::optional<Span> span = assembler_.End(event, lacks_tensors);
    if (!span) return;
    span->pid = process_.pid();
    spans_.push_back(*std::move(span));
    return;
  }
  // Of one that is not known any more the end is counted.
  const auto module = current_->find(event.object);
  if (module == current_->end()) return;
  assembler_.Begin(event, module->second, lacks_tensors);
  if (assembler_.switched_within_calls()) switched_within_calls_ = true;
}

// Nothing: it could not be told in time.
std::optional<sb_value_kind> SpanCollector::KindOf(const TimedReader& memory, RemoteAddr type) {
  Types types(memory, interpreter_);
  const absl::StatusOr<const TypeObject*> found = types.Find(type);
  if (memory.over()) return std::nullopt;
  return found.ok() && IsTensor(**found) ? SB_VALUE_TENSOR : SB_VALUE_OTHER;
}

// What it is from now on: of the call that met it first its tensors are missing.
bool SpanCollector::Classify(RemoteAddr type) {
  const TimedReader memory(memory_, MonotonicNs() + kLongestLookAtTypesNs, kTooLong);
  const sb_value_kind kind = KindOf(memory, type).value_or(SB_VALUE_OTHER);
  if (asked_types_.size() >= kMostTypes) ForgetTypes();
  asked_types_[type.value] = kind;
  programs_.SetValueType(type, kind);
  return kind == SB_VALUE_TENSOR;
}

void SpanCollector::ForgetTypes() {
  for (const auto& [type, kind] : asked_types_) programs_.ForgetValueType(RemoteAddr{type});
  asked_types_.clear();
}

namespace {

// The programs know lists and tuples by themselves, where they know nothing else of the type.
bool IsSequence(const MemoryReader& memory, RemoteAddr type) {
  const absl::StatusOr<uint64_t> flags = memory.ReadValue<uint64_t>(type + kTpFlags);
  return flags.ok() && (*flags & (kTypeIsList | kTypeIsTuple)) != 0;
}

}  // namespace

// A class may be gone, and another one be in its place: that one is asked about when it is met. As
// many at a time as there is time for; the next time the others.
void SpanCollector::CheckTypes() {
  const TimedReader memory(memory_, MonotonicNs() + kLongestLookAtTypesNs, kTooLong);
  for (size_t left = asked_types_.size(); left > 0 && !stops_; --left) {
    auto asked = asked_types_.lower_bound(next_type_);
    if (asked == asked_types_.end()) asked = asked_types_.begin();
    const RemoteAddr type{asked->first};
    const std::optional<sb_value_kind> kind = KindOf(memory, type);
    const bool is_same = kind == asked->second && !IsSequence(memory, type);
    next_type_ = asked->first + 1;
    if (!kind || memory.over()) return;
    if (is_same) continue;
    programs_.ForgetValueType(type);
    asked_types_.erase(asked);
  }
}

// Programs that have the module loaded may switch.
void SpanCollector::LookForGreenlets() {
  next_look_ns_ = MonotonicNs() + kLookForGreenletsNs;
  for (const char* name : {"*/_greenlet*", "*/greenlet.*so"}) {  // from greenlet 1.0 on; before
    const absl::StatusOr<Glob> file = Glob::Compile(name);
    if (!file.ok()) continue;
    const absl::StatusOr<bool> mapped =
        IsMapped(process_, NativePattern{.text = name, .path = *file});
    if (mapped.ok() && *mapped) assembler_.ThreadsSwitchStacks();
  }
}

// The str may be gone, and another one be in its place.
std::string SpanCollector::NameOf(const sb_span_tensor& tensor) {
  const std::pair key(tensor.key, tensor.key_hash);
  const auto known = names_.find(key);
  if (known != names_.end()) return known->second;
  if (names_.size() >= kMostNames) names_.clear();
  const RemoteAddr str{tensor.key};
  absl::StatusOr<std::string> name = ReadUnicode(memory_, interpreter_.layout(), str);
  const absl::StatusOr<uint32_t> hash = memory_.ReadValue<uint32_t>(str + kStrHash);
  if (!name.ok() || !hash.ok() || *hash != tensor.key_hash || name->size() > kLongestName)
    return kUnknownName;
  return names_.emplace(key, *std::move(name)).first->second;
}

}  // namespace sbump
