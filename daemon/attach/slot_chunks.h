// The counters of a session's targets, shared with its programs: maps of SB_SLOTS_PER_CHUNK slots
// each, mapped here and known to the programs by an array of maps. Private to programs.cc.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <optional>
#include <vector>

#include "bpf/shared/module_entry.h"
#include "bpf/shared/native_site.h"
#include "bpf/shared/slot.h"
#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

class SlotChunk {
 public:
  static absl::StatusOr<SlotChunk> Create();
  SlotChunk(SlotChunk&& other) noexcept;
  ~SlotChunk();
  int map_fd() const { return map_.get(); }
  sb_slot& slot(uint32_t index) { return slots_[index]; }

 private:
  SlotChunk() = default;
  Fd map_;
  sb_slot* slots_ = nullptr;
};

// Of Python targets from 0 on, of native ones from SB_FIRST_NATIVE_SLOT on, of modules from
// SB_FIRST_MODULE_SLOT on. For one thread.
class SlotChunks {
 public:
  // The array of maps, which must stay open.
  explicit SlotChunks(int map_of_chunks) : map_of_chunks_(map_of_chunks) {}
  ~SlotChunks();
  SlotChunks(const SlotChunks&) = delete;
  SlotChunks& operator=(const SlotChunks&) = delete;

  // Makes slots [0, count) usable.
  absl::Status Reserve(uint32_t count);
  // The same beside other work, so that Reserve() finds them: to be called now and then.
  void ReserveMeanwhile(uint32_t count);
  absl::Status ReserveNative() { return ReserveBehind(SB_NATIVE_CHUNK, 1); }
  // Slots [SB_FIRST_MODULE_SLOT, SB_FIRST_MODULE_SLOT + count).
  absl::Status ReserveModules(uint32_t count);
  sb_slot& slot(uint32_t index);  // was reserved

 private:
  bool Has(uint32_t count) const { return chunks_.size() * SB_SLOTS_PER_CHUNK >= count; }
  absl::StatusOr<std::vector<SlotChunk>> Make(uint32_t count) const;
  absl::Status ReserveBehind(uint32_t first_chunk, uint32_t chunks);
  absl::Status Publish(std::vector<uint32_t>& indices, std::vector<int>& fds) const;
  void TakeGrown();

  const int map_of_chunks_;
  std::vector<SlotChunk> chunks_;
  // Behind those: of native functions, then of modules.
  std::array<std::optional<SlotChunk>, 1 + SB_MODULE_CHUNKS> behind_;
  std::future<absl::StatusOr<std::vector<SlotChunk>>> growing_;
};

}  // namespace sbump
