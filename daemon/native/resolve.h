// Native targets of one live process: from patterns to proven places for probes. Reads only; no
// thread is stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/match/native_pattern.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

inline constexpr size_t kMaxNativeTargets = 128;

// Where and how the kernel sees a call.
struct NativeSite {
  RemoteAddr address;
  std::string probe_path;  // a path of ours that a uprobe can be placed through
  uint64_t file_offset = 0;
  uint64_t vaddr = 0;        // in the file
  uint64_t entry_vaddr = 0;  // of the function
  std::string instruction;   // "push %rbp"
  bool emulated = false;     // else single-stepped: a hit costs many times more
};

struct NativeTarget {
  std::string filename;  // PATH as it was given, where that is one file's; else as it is mapped
  std::string name;
  std::vector<size_t> patterns;  // that mean it, the first owns it
  NativeSite site;

  // To compare later: the file, and its bytes of the probed instruction.
  uint64_t device = 0, inode = 0;
  std::vector<std::byte> text;
};

// What became of one pattern.
struct NativeAnswer {
  size_t targets = 0;
  bool mapped = false;   // the process has mapped such a file
  absl::Status refused;  // why what it means must not be probed
  struct Hint {
    std::string suggestion;
    std::string reason;
  };
  std::vector<Hint> hints;  // with neither targets nor refusal
  std::vector<std::string> left_out;
};

struct NativeResolution {
  std::vector<NativeTarget> targets;
  std::vector<NativeAnswer> answers;  // one for each pattern
};

// An error only where the process cannot be looked at, or with more than kMaxNativeTargets.
absl::StatusOr<NativeResolution> ResolveNative(const TargetProcess& process,
                                               const MemoryReader& memory,
                                               std::span<const NativePattern> patterns);

// Whether the process has mapped a file that the pattern means.
absl::StatusOr<bool> IsMapped(const TargetProcess& process, const NativePattern& pattern);

enum class TextState { kAsInFile, kProbed, kChanged, kUnmapped };
// The text at the site: kProbed where only the first byte differs and is a breakpoint; kUnmapped
// where the file is not there any more.
absl::StatusOr<TextState> LookAtText(const TargetProcess& process, const MemoryReader& memory,
                                     const NativeTarget& target);

}  // namespace sbump
