// The 16 random bytes that the kernel gives each program that is executed (AT_RANDOM,
// getauxval(3)): by them one image of a process is told from the next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

using ImageBytes = std::array<uint64_t, 2>;

struct ImageRandom {
  RemoteAddr addr;
  ImageBytes bytes{};

  bool operator==(const ImageRandom&) const = default;
};

// Of the image whose memory this is. kFailedPrecondition: there is none, or the process has called
// exec.
absl::StatusOr<ImageRandom> ReadImageRandom(const TargetProcess& process,
                                            const MemoryReader& memory);
// Reads nothing of a process whose bytes are elsewhere: that has another image, and so has one that
// has none any more.
absl::StatusOr<bool> HasImage(const TargetProcess& process, const MemoryReader& memory,
                              const ImageRandom& image);

// Whether the process runs another program than the one whose memory this is, which outlives an
// exec for as long as somebody else has it (CLONE_VM; the kernel while it places probes). True only
// where the memory that the process has now says otherwise, twice, at the same address: what a
// process writes there itself is in both.
bool RunsAnotherImage(const TargetProcess& process, const MemoryReader& memory, RemoteAddr addr);

// Its value in the text of /proc/PID/auxv (pairs of words, proc(5)).
std::optional<uint64_t> AuxiliaryValue(std::string_view auxv, uint64_t type);

}  // namespace sbump
