#include "daemon/gate/facts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "absl/strings/str_split.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/proc_status.h"

namespace sbump {
namespace {

constexpr size_t kMaxStatusBytes = 64 << 10;
constexpr size_t kMaxCgroupBytes = 64 << 10;
constexpr size_t kMaxCmdlineBytes = 4
                                    << 20;  // the kernel's own limit is about a quarter of a stack

// Root, where the kernel treats the process as not its user's: it was begun by a setuid program or
// by one whose file has capabilities, and its user may not debug it (proc(5), PR_SET_DUMPABLE).
absl::StatusOr<uid_t> OwnerOfMemory(const TargetProcess& process) {
  struct stat st;
  if (fstatat(process.proc_dirfd(), "mem", &st, 0) != 0)
    return ErrnoStatus(errno, StrCat("pid ", process.pid(), ": the owner of its memory"));
  return st.st_uid;
}

// What cannot be told apart is taken for the same: that is judged harder.
bool IsInOwnUserNamespace(const TargetProcess& process) {
  struct stat its, own;
  return fstatat(process.proc_dirfd(), "ns/user", &its, 0) != 0 ||
         stat("/proc/self/ns/user", &own) != 0 ||
         (its.st_dev == own.st_dev && its.st_ino == own.st_ino);
}

}  // namespace

absl::StatusOr<bool> HasCapabilities(const std::string& status) {
  const std::string permitted = StatusField(status, "CapPrm");
  if (permitted.empty()) return absl::DataLossError("/proc/PID/status names no capabilities");
  return permitted.find_first_not_of('0') != std::string::npos;
}

absl::StatusOr<std::set<uid_t>> UidsOf(std::string_view status) {
  for (const absl::string_view line : absl::StrSplit(ToAbsl(status), '\n')) {
    if (ToStd(line.substr(0, 4)) != "Uid:") continue;
    std::set<uid_t> uids;
    int fields = 0;
    for (const absl::string_view word :
         absl::StrSplit(line.substr(4), absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      uid_t uid = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), uid);
      if (error != std::errc() || stop != word.data() + word.size()) break;
      uids.insert(uid);
      ++fields;
    }
    if (fields == 4) return uids;
  }
  return absl::DataLossError("/proc/PID/status names no users");
}

std::string UnifiedCgroup(std::string_view cgroups) {
  for (const absl::string_view line : absl::StrSplit(ToAbsl(cgroups), '\n')) {
    if (ToStd(line.substr(0, 3)) == "0::") return std::string(line.substr(3));
  }
  return "";
}

std::string JoinWords(std::string_view cmdline) {
  while (cmdline.ends_with('\0')) cmdline.remove_suffix(1);
  std::string line(cmdline);
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

absl::StatusOr<TargetFacts> ReadFacts(const TargetProcess& process) {
  TargetFacts facts;
  facts.pid = process.pid();
  facts.start_ticks = process.id().start_ticks;
  SB_ASSIGN_OR_RETURN(const std::string status, process.ReadProcFile("status", kMaxStatusBytes));
  absl::StatusOr<std::set<uid_t>> uids = UidsOf(status);
  if (!uids.ok()) return Annotate(uids.status(), StrCat("pid ", process.pid()));
  facts.uids = *std::move(uids);
  SB_ASSIGN_OR_RETURN(const uid_t owner, OwnerOfMemory(process));
  facts.uids.insert(owner);
  absl::StatusOr<bool> is_capable = HasCapabilities(status);
  if (!is_capable.ok()) return Annotate(is_capable.status(), StrCat("pid ", process.pid()));
  // Those of systemd's AmbientCapabilities= leave the memory the user's, but no debugger may have
  // fewer of them than what it debugs (cap_ptrace_access_check() in security/commoncap.c).
  if (*is_capable && IsInOwnUserNamespace(process)) facts.uids.insert(0);
  const auto read = [&](std::string_view name, size_t most) {
    return process.ReadProcFile(name, most).value_or("");
  };
  facts.cgroup = UnifiedCgroup(read("cgroup", kMaxCgroupBytes));
  facts.cmdline = JoinWords(read("cmdline", kMaxCmdlineBytes));
  facts.exe = process.ExePath().value_or("");
  return facts;
}

}  // namespace sbump
