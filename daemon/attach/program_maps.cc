// What the programs and the daemon tell each other, in maps and in variables that both see.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>

#include "daemon/attach/programs_impl.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Of a map with keys of 8 bytes.
std::vector<uint64_t> Keys(const bpf_map* map) {
  std::vector<uint64_t> keys;
  uint64_t key;
  for (const uint64_t* last = nullptr; bpf_map__get_next_key(map, last, &key, sizeof(key)) == 0;
       last = &keys.back()) {
    keys.push_back(key);
    if (keys.size() > bpf_map__max_entries(map)) break;  // it changes under us
  }
  return keys;
}

void Clear(const bpf_map* map) {
  for (uint64_t key : Keys(map)) bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

}  // namespace

sb_control& Programs::control() { return impl_->skeleton->bss->control; }

absl::Status Programs::ReserveSlots(uint32_t count) {
  if (count > kMaxSlots) {
    return absl::ResourceExhaustedError(StrCat("a session has at most ", kMaxSlots, " targets"));
  }
  return impl_->slots->Reserve(count);
}

void Programs::ReserveSlotsMeanwhile(uint32_t count) {
  impl_->slots->ReserveMeanwhile(std::min(count, kMaxSlots));
}

absl::Status Programs::ReserveNativeSlots() { return impl_->slots->ReserveNative(); }

sb_slot& Programs::slot(uint32_t index) { return impl_->slots->slot(index); }

absl::Status Programs::SetNativeSite(RemoteAddr address, const sb_native_site& site) {
  if (bpf_map__update_elem(impl_->skeleton->maps.native_sites, &address.value,
                           sizeof(address.value), &site, sizeof(site), BPF_ANY) != 0) {
    return ErrnoStatus(errno, "the table of native functions");
  }
  return absl::OkStatus();
}

void Programs::DeleteNativeSite(RemoteAddr address) {
  bpf_map__delete_elem(impl_->skeleton->maps.native_sites, &address.value, sizeof(address.value),
                       0);
}

absl::Status Programs::ReserveModuleSlots(uint32_t count) {
  if (count > SB_MODULE_TARGETS) {
    return absl::ResourceExhaustedError(
        StrCat("a session has at most ", SB_MODULE_TARGETS, " modules as targets"));
  }
  return impl_->slots->ReserveModules(count);
}

absl::Status Programs::ChangeModules(const std::vector<std::pair<uint64_t, sb_module>>& modules,
                                     size_t tried, const std::vector<uint64_t>& gone) {
  const bpf_map* known = impl_->skeleton->maps.modules;
  const bpf_map* types = impl_->skeleton->maps.module_types;
  for (uint64_t object : gone) bpf_map__delete_elem(known, &object, sizeof(object), 0);
  const uint8_t one = 1;
  uint64_t last_type = 0;
  absl::Status status;
  for (size_t i = 0; i < modules.size(); ++i) {
    const auto& [object, module] = modules[i];
    if (bpf_map__update_elem(known, &object, sizeof(object), &module, sizeof(module), BPF_ANY) !=
        0) {
      status.Update(ErrnoStatus(errno, "the table of modules"));
      if (i >= tried) return status;
    }
    // Full: modules of further types are found later.
    if (std::exchange(last_type, module.type) != module.type)
      bpf_map__update_elem(types, &module.type, sizeof(module.type), &one, sizeof(one), BPF_ANY);
  }
  return status;
}

uint64_t Programs::unknown_module_calls() const {
  return __atomic_load_n(&impl_->skeleton->bss->unknown_modules, __ATOMIC_RELAXED);
}

sb_span_layout& Programs::span_layout() { return impl_->skeleton->bss->span_layout; }

absl::Status Programs::SetSpanSite(RemoteAddr address, const sb_span_site& site) {
  if (bpf_map__update_elem(impl_->skeleton->maps.span_sites, &address.value, sizeof(address.value),
                           &site, sizeof(site), BPF_ANY) != 0) {
    return ErrnoStatus(errno, "the table of return sites");
  }
  return absl::OkStatus();
}

absl::Status Programs::SetOperators(const std::vector<sb_operator>& operators) {
  const bpf_map* map = impl_->skeleton->maps.operators;
  for (uint32_t number = 0; number < operators.size(); ++number) {
    if (bpf_map__update_elem(map, &number, sizeof(number), &operators[number], sizeof(sb_operator),
                             BPF_ANY) != 0) {
      return ErrnoStatus(errno, "the table of operators");
    }
  }
  return absl::OkStatus();
}

void Programs::SetValueType(RemoteAddr type, sb_value_kind kind) {
  const auto value = static_cast<uint8_t>(kind);
  bpf_map__update_elem(impl_->skeleton->maps.value_types, &type.value, sizeof(type.value), &value,
                       sizeof(value), BPF_ANY);
}

void Programs::ForgetValueType(RemoteAddr type) {
  bpf_map__delete_elem(impl_->skeleton->maps.value_types, &type.value, sizeof(type.value), 0);
}

int Programs::span_fd() const { return ring_buffer__epoll_fd(impl_->span_ring); }

bool Programs::ConsumeSpans(size_t most,
                            const std::function<void(const sb_span_event&)>& on_event) {
  size_t count = 0;
  impl_->on_span = [&](const sb_span_event& event) {
    on_event(event);
    impl_->takes_no_more = ++count == most;
  };
  ring_buffer__consume(impl_->span_ring);
  impl_->on_span = nullptr;
  return std::exchange(impl_->takes_no_more, false);
}

uint64_t Programs::spans_lost() const {
  return __atomic_load_n(&impl_->skeleton->bss->spans_lost, __ATOMIC_RELAXED);
}

std::array<uint64_t, SB_SKIP_REASONS> Programs::skipped() const {
  std::array<uint64_t, SB_SKIP_REASONS> counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = __atomic_load_n(&impl_->skeleton->bss->skipped[i], __ATOMIC_RELAXED);
  }
  return counts;
}

void Programs::CountSkip(sb_skip reason) {
  __atomic_fetch_add(&impl_->skeleton->bss->skipped[reason], 1, __ATOMIC_RELAXED);
}

absl::Status Programs::SetVerdict(RemoteAddr code, const sb_verdict& verdict) {
  if (bpf_map__update_elem(impl_->skeleton->maps.verdicts, &code.value, sizeof(code.value),
                           &verdict, sizeof(verdict), BPF_ANY) != 0) {
    return ErrnoStatus(errno, "the table of code objects");
  }
  return absl::OkStatus();
}

absl::Status Programs::SetVerdicts(const std::vector<std::pair<uint64_t, sb_verdict>>& verdicts) {
  if (verdicts.empty()) return absl::OkStatus();
  std::vector<uint64_t> keys;
  std::vector<sb_verdict> values;
  const size_t room = bpf_map__max_entries(impl_->skeleton->maps.verdicts) * 7 / 8;
  for (const auto& [key, value] : verdicts) {
    if (value.slot == SB_NO_SLOT && verdicts.size() > room) continue;
    keys.push_back(key);
    values.push_back(value);
  }
  uint32_t count = static_cast<uint32_t>(keys.size());
  bpf_map_batch_opts options{};
  options.sz = sizeof(options);
  if (bpf_map_update_batch(bpf_map__fd(impl_->skeleton->maps.verdicts), keys.data(), values.data(),
                           &count, &options) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "the table of code objects");
}

void Programs::DeleteVerdict(RemoteAddr code) {
  bpf_map__delete_elem(impl_->skeleton->maps.verdicts, &code.value, sizeof(code.value), 0);
}

void Programs::ClearVerdicts() { Clear(impl_->skeleton->maps.verdicts); }

void Programs::SetFile(uint64_t file_hash, uint8_t known) {
  const bpf_map* map = impl_->skeleton->maps.known_files;
  // Full, or absent already: the daemon is asked once more than needed.
  if (known != 0)
    bpf_map__update_elem(map, &file_hash, sizeof(file_hash), &known, sizeof(known), BPF_ANY);
  else
    bpf_map__delete_elem(map, &file_hash, sizeof(file_hash), 0);
}

uint64_t Programs::dismissed() const {
  return __atomic_load_n(&impl_->skeleton->bss->dismissed, __ATOMIC_RELAXED);
}

absl::Status Programs::SetWantedNames(const std::optional<std::vector<uint64_t>>& name_hashes) {
  const bpf_map* map = impl_->skeleton->maps.wanted_names;
  control().filters_names = 0;
  Clear(map);
  // For more the daemon is asked.
  if (!name_hashes || name_hashes->size() > bpf_map__max_entries(map)) return absl::OkStatus();
  const uint8_t one = 1;
  for (uint64_t hash : *name_hashes) {
    if (bpf_map__update_elem(map, &hash, sizeof(hash), &one, sizeof(one), BPF_ANY) != 0) {
      return ErrnoStatus(errno, "the table of wanted names");
    }
  }
  control().filters_names = 1;
  return absl::OkStatus();
}

bool Programs::HasPending() const {
  return __atomic_load_n(&impl_->skeleton->bss->pending_added, __ATOMIC_ACQUIRE) !=
         impl_->pending_taken;
}

std::vector<uint64_t> Programs::PendingCodes() const { return Keys(impl_->skeleton->maps.pending); }

std::vector<std::pair<uint64_t, sb_pending>> Programs::TakePending(
    const std::unordered_set<uint64_t>& codes) {
  std::vector<std::pair<uint64_t, sb_pending>> taken;
  for (uint64_t key : codes) {
    sb_pending value{};
    if (bpf_map__lookup_and_delete_elem(impl_->skeleton->maps.pending, &key, sizeof(key), &value,
                                        sizeof(value), 0) == 0) {
      taken.emplace_back(key, value);
      ++impl_->pending_taken;
    }
  }
  return taken;
}

int Programs::event_fd() const { return ring_buffer__epoll_fd(impl_->ring); }

int Programs::ConsumeEvents(const std::function<void(const sb_event&)>& on_event) {
  impl_->on_event = on_event;
  if (impl_->skeleton->bss->unanswered_holds != 0) impl_->skeleton->bss->unanswered_holds = 0;
  return ring_buffer__consume(impl_->ring);
}

bool Programs::Claim(const sb_event& event) {
  return ChangeHold(event, event.sequence, event.sequence | SB_HOLD_CLAIMED);
}

bool Programs::Answer(const sb_event& event) {
  return ChangeHold(event, event.sequence | SB_HOLD_CLAIMED, event.sequence | SB_HOLD_ANSWERED);
}

bool Programs::ChangeHold(const sb_event& event, uint64_t from, uint64_t to) {
  if (event.hold >= SB_HOLDS) return false;
  __u64 expected = from;
  return __atomic_compare_exchange_n(&impl_->skeleton->bss->holds[event.hold].owner, &expected, to,
                                     /*weak=*/false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

int Programs::sleep_request_fd() const { return ring_buffer__epoll_fd(impl_->sleep_ring); }

void Programs::ConsumeSleepRequests(
    const std::function<void(const sb_sleep_request&)>& on_request) {
  impl_->on_sleep_request = on_request;
  ring_buffer__consume(impl_->sleep_ring);
}

bool Programs::ClaimBed(const sb_sleep_request& request) {
  if (request.bed >= SB_BEDS) return false;
  __u64 expected = request.sequence;
  return __atomic_compare_exchange_n(&impl_->skeleton->bss->beds[request.bed].owner, &expected,
                                     request.sequence | SB_BED_CLAIMED, /*weak=*/false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool Programs::ReturnBed(const sb_sleep_request& request) {
  __u64 expected = request.sequence | SB_BED_CLAIMED;
  return __atomic_compare_exchange_n(&impl_->skeleton->bss->beds[request.bed].owner, &expected, 0,
                                     /*weak=*/false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

}  // namespace sbump
