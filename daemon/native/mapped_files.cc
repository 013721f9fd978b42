#include "daemon/native/mapped_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sbump {
namespace {

// What a path of the process leads to, by its own root.
bool LeadsTo(const std::string& path, const TargetProcess& process, const MappedCode& file) {
  const Fd root(openat(process.proc_dirfd(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const Fd found(
      static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  struct stat there, mapped;
  if (!found.valid() || fstat(found.get(), &there) != 0) return false;
  if (there.st_ino != file.mappings.front().inode) return false;
  const absl::StatusOr<Fd> opened = OpenMappedFile(process, file.mappings.front(), nullptr);
  return opened.ok() && fstat(opened->get(), &mapped) == 0 && mapped.st_dev == there.st_dev &&
         mapped.st_ino == there.st_ino;
}

}  // namespace

std::vector<MappedCode> GroupByFile(const std::vector<Mapping>& mappings) {
  std::map<std::pair<uint64_t, uint64_t>, MappedCode> by_file;
  for (const Mapping& mapping : mappings) {
    if (mapping.inode == 0) continue;
    MappedCode& file = by_file[{mapping.device, mapping.inode}];
    if (file.mappings.empty()) file.path = mapping.path;
    file.mappings.push_back(mapping);
  }
  std::vector<MappedCode> files;
  for (auto& [identity, file] : by_file) {
    if (std::ranges::any_of(file.mappings, &Mapping::executable)) files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &MappedCode::path);
  return files;
}

bool Means(const NativePattern& pattern, const TargetProcess& process, const MappedCode& file) {
  if (pattern.MatchesPath(file.path)) return true;
  return pattern.NamesOnePath() && LeadsTo(pattern.path.pattern(), process, file);
}

absl::StatusOr<OpenedCode> OpenCode(const TargetProcess& process, const MappedCode& file) {
  std::string probe_path;
  SB_ASSIGN_OR_RETURN(Fd fd, OpenMappedFile(process, file.mappings.front(), &probe_path));
  SB_ASSIGN_OR_RETURN(ElfFile elf, ElfFile::Open(std::move(fd), file.path));
  SB_ASSIGN_OR_RETURN(const uint64_t load_bias, elf.LoadBias(file.mappings));
  return OpenedCode{std::move(elf), load_bias, std::move(probe_path)};
}

}  // namespace sbump
