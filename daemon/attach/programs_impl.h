// What programs.h hides: libbpf's own types. For programs.cc, which loads and attaches, and
// program_maps.cc.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/attach/programs.h"
#include "daemon/attach/slot_chunks.h"

// Last: it needs the types of bpf/shared.
// clang-format off
#include "bpf/frame_entry.skel.h"
// clang-format on

namespace sbump {

struct Programs::Impl {
  frame_entry* skeleton = nullptr;
  std::optional<SlotChunks> slots;
  LinkKeeper* keeper = nullptr;
  std::vector<uint64_t> links;
  ProgramSet set;
  uint64_t pending_taken = 0;  // entries of the map `pending`, which nobody else removes
  ring_buffer* ring = nullptr;
  std::function<void(const sb_event&)> on_event;
  ring_buffer* sleep_ring = nullptr;
  std::function<void(const sb_sleep_request&)> on_sleep_request;
  ring_buffer* span_ring = nullptr;  // with set.spans
  std::function<void(const sb_span_event&)> on_span;
  bool takes_no_more = false;  // of what is in a ring now

  ~Impl();
  bpf_program* Find(ProgramKind kind) const;
  void ChoosePrograms(const sb_config& config) const;
  absl::Status CheckStacks() const;
  bool UsesMulti(ProgramKind kind) const;
  absl::StatusOr<uint64_t> OpenLink(const ProbePoint& point, pid_t pid) const;
  absl::Status OpenRings();
  // Calls Impl::*handler with each sample.
  template <typename Sample, std::function<void(const Sample&)> Impl::*handler>
  absl::StatusOr<ring_buffer*> OpenRing(const bpf_map* map);
};

}  // namespace sbump
