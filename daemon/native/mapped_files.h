// The ELF files that a process has mapped code of, each once, and which of them a path means.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/match/native_pattern.h"
#include "daemon/process/elf_file.h"
#include "daemon/process/proc_maps.h"
#include "daemon/process/target_process.h"

namespace sbump {

struct MappedCode {
  std::string path;               // as the process sees it
  std::vector<Mapping> mappings;  // all of this file
};

// Files with an executable mapping.
std::vector<MappedCode> GroupByFile(const std::vector<Mapping>& mappings);

// Whether `pattern` means `file`. A path that is written out may lead there by symbolic links, in
// the process's own root; it is looked up there and never opened.
bool Means(const NativePattern& pattern, const TargetProcess& process, const MappedCode& file);

struct OpenedCode {
  ElfFile elf;
  uint64_t load_bias = 0;
  std::string probe_path;  // a path of ours that a uprobe can be placed through
};
// Through the mapping itself, whatever its path leads to now.
absl::StatusOr<OpenedCode> OpenCode(const TargetProcess& process, const MappedCode& file);

}  // namespace sbump
