#include "daemon/attach/slot_chunks.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace sbump {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kChunkBytes =
    (SB_SLOTS_PER_CHUNK * sizeof(sb_slot) + kPageBytes - 1) / kPageBytes * kPageBytes;

}  // namespace

absl::StatusOr<SlotChunk> SlotChunk::Create() {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = BPF_F_MMAPABLE;
  SlotChunk chunk;
  chunk.map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sb_slots", sizeof(uint32_t), sizeof(sb_slot),
                                 SB_SLOTS_PER_CHUNK, &options));
  if (!chunk.map_.valid()) return ErrnoStatus(errno, "creating a map for counters");
  void* at = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.map_.get(), 0);
  if (at == MAP_FAILED) return ErrnoStatus(errno, "mapping the counters");
  chunk.slots_ = static_cast<sb_slot*>(at);
  return chunk;
}

SlotChunk::SlotChunk(SlotChunk&& other) noexcept
    : map_(std::move(other.map_)), slots_(std::exchange(other.slots_, nullptr)) {}

SlotChunk::~SlotChunk() {
  if (slots_ != nullptr) munmap(slots_, kChunkBytes);
}

SlotChunks::~SlotChunks() {
  if (growing_.valid()) growing_.wait();
}

absl::Status SlotChunks::Reserve(uint32_t count) {
  if (Has(count)) return absl::OkStatus();
  TakeGrown();
  SB_ASSIGN_OR_RETURN(std::vector<SlotChunk> made, Make(count));
  for (SlotChunk& chunk : made) chunks_.push_back(std::move(chunk));
  return absl::OkStatus();
}

void SlotChunks::ReserveMeanwhile(uint32_t count) {
  if (growing_.valid() && growing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return;
  TakeGrown();
  if (Has(count)) return;
  try {
    growing_ = std::async(std::launch::async, [this, count] { return Make(count); });
  } catch (const std::system_error&) {  // no thread to be had: when they are needed, then
  }
}

absl::Status SlotChunks::ReserveModules(uint32_t count) {
  return ReserveBehind(SB_FIRST_MODULE_CHUNK,
                       (count + SB_SLOTS_PER_CHUNK - 1) / SB_SLOTS_PER_CHUNK);
}

absl::Status SlotChunks::ReserveBehind(uint32_t first_chunk, uint32_t chunks) {
  std::vector<uint32_t> indices;
  std::vector<int> fds;
  std::vector<SlotChunk> made;
  for (uint32_t chunk = first_chunk; chunk < first_chunk + chunks; ++chunk) {
    if (behind_[chunk - SB_NATIVE_CHUNK]) continue;
    SB_ASSIGN_OR_RETURN(SlotChunk one, SlotChunk::Create());
    indices.push_back(chunk);
    fds.push_back(one.map_fd());
    made.push_back(std::move(one));
  }
  std::vector<uint32_t> published = indices;
  SB_RETURN_IF_ERROR(Publish(published, fds));
  for (size_t i = 0; i < made.size(); ++i)
    behind_[indices[i] - SB_NATIVE_CHUNK].emplace(std::move(made[i]));
  return absl::OkStatus();
}

sb_slot& SlotChunks::slot(uint32_t index) {
  const uint32_t chunk = index / SB_SLOTS_PER_CHUNK;
  SlotChunk& holder = chunk >= SB_NATIVE_CHUNK ? *behind_[chunk - SB_NATIVE_CHUNK] : chunks_[chunk];
  return holder.slot(index % SB_SLOTS_PER_CHUNK);
}

// The chunks that are missing for `count` slots, known to the programs already.
absl::StatusOr<std::vector<SlotChunk>> SlotChunks::Make(uint32_t count) const {
  std::vector<uint32_t> indices;
  std::vector<int> fds;
  std::vector<SlotChunk> made;
  for (size_t i = chunks_.size(); i * SB_SLOTS_PER_CHUNK < count; ++i) {
    SB_ASSIGN_OR_RETURN(SlotChunk chunk, SlotChunk::Create());
    indices.push_back(static_cast<uint32_t>(i));
    fds.push_back(chunk.map_fd());
    made.push_back(std::move(chunk));
  }
  SB_RETURN_IF_ERROR(Publish(indices, fds));
  return made;
}

// At once: the kernel waits for a grace period (7 ms) after each update of a map of maps.
absl::Status SlotChunks::Publish(std::vector<uint32_t>& indices, std::vector<int>& fds) const {
  if (indices.empty()) return absl::OkStatus();
  uint32_t count = static_cast<uint32_t>(indices.size());
  bpf_map_batch_opts options{};
  options.sz = sizeof(options);
  if (bpf_map_update_batch(map_of_chunks_, indices.data(), fds.data(), &count, &options) != 0)
    return ErrnoStatus(errno, "adding maps for counters");
  return absl::OkStatus();
}

// What failed is tried again when it is needed.
void SlotChunks::TakeGrown() {
  if (!growing_.valid()) return;
  absl::StatusOr<std::vector<SlotChunk>> made = growing_.get();
  if (!made.ok()) return;
  for (SlotChunk& chunk : *made) chunks_.push_back(std::move(chunk));
}

}  // namespace sbump
