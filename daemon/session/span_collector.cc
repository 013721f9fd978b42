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

// The interpreter's own offsets: Layout has those of each version.
void FillLayout(const Layout& layout, sb_span_layout& span) {
  const auto offset = [](int32_t value) {
    return value == kAbsent ? 0 : static_cast<uint32_t>(value);
  };
  span.tuple_items = offset(layout.tuple.items);
  span.keys_size = offset(layout.dict.keys_size);
  span.keys_log2_index_bytes = offset(layout.dict.keys_log2_index_bytes);
  span.keys_kind = offset(layout.dict.keys_kind);
  span.keys_nentries = offset(layout.dict.keys_nentries);
  span.keys_indices = offset(layout.dict.keys_indices);
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
      types_(memory, interpreter),
      assembler_([this](uint64_t key) { return NameOf(key); }) {
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
  __atomic_store_n(&layout.knows_tensors, 1, __ATOMIC_RELEASE);
}

SpanFigures SpanCollector::FiguresOf(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto times = times_.find(path);
  return times == times_.end() ? SpanFigures() : times->second.Figures();
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
    if (MonotonicNs() >= next_look_ns_) LookForGreenlets();
    Consume();
  }
  Consume();
}

void SpanCollector::Consume() {
  {
    std::lock_guard lock(mutex_);
    current_ = modules_;
  }
  programs_.ConsumeSpans([this](const sb_span_event& event) { OnEvent(event); });
  Count();
  hub_->Add(std::exchange(spans_, {}));
  const uint64_t lost = programs_.spans_lost() + assembler_.unpaired() + unknown_;
  hub_->NoteLost(lost - std::exchange(lost_before_, lost));
}

void SpanCollector::Count() {
  std::lock_guard lock(mutex_);
  for (const Span& span : spans_)
    times_[span.module->path].Add(span.end_ns - span.begin_ns, span.self_ns, span.raised);
}

void SpanCollector::OnEvent(const sb_span_event& event) {
  const bool lacks_tensors = event.unknown_type != 0 && Classify(RemoteAddr{event.unknown_type});
  if (event.kind == SB_SPAN_END) {
    std::optional<Span> span = assembler_.End(event, lacks_tensors);
    if (!span) return;
    span->pid = process_.pid();
    spans_.push_back(*std::move(span));
    return;
  }
  const auto module = current_->find(event.object);
  if (module == current_->end())
    ++unknown_;
  else
    assembler_.Begin(event, module->second, lacks_tensors);
}

// What it is from now on: of the call that met it first its tensors are missing.
bool SpanCollector::Classify(RemoteAddr type) {
  const absl::StatusOr<const TypeObject*> found = types_.Find(type);
  const bool is_tensor = found.ok() && IsTensor(**found);
  programs_.SetValueType(type, is_tensor ? SB_VALUE_TENSOR : SB_VALUE_OTHER);
  return is_tensor;
}

// Programs that have the module loaded may switch.
void SpanCollector::LookForGreenlets() {
  next_look_ns_ = MonotonicNs() + kLookForGreenletsNs;
  static const absl::StatusOr<Glob> file = Glob::Compile("*/_greenlet*");
  if (!file.ok()) return;
  const absl::StatusOr<bool> mapped =
      IsMapped(process_, NativePattern{.text = "*/_greenlet*", .path = *file});
  if (mapped.ok() && *mapped) assembler_.ThreadsSwitchStacks();
}

std::string SpanCollector::NameOf(uint64_t key) {
  const auto known = names_.find(key);
  if (known != names_.end()) return known->second;
  if (names_.size() >= kMostNames) names_.clear();
  absl::StatusOr<std::string> name = ReadUnicode(memory_, interpreter_.layout(), RemoteAddr{key});
  std::string text = name.ok() && name->size() <= kLongestName ? *std::move(name) : "?";
  return names_.emplace(key, std::move(text)).first->second;
}

}  // namespace sbump
