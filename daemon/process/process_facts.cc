#include "daemon/process/process_facts.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxStatusBytes = 64 * 1024;
constexpr size_t kMaxCmdlineBytes = 256 * 1024;
constexpr size_t kMaxCgroupBytes = 256 * 1024;

// "Uid:\t1000\t1000\t1000\t1000": real, effective, saved, file system (proc(5)).
absl::Status ParseUids(const std::string& status, ProcessFacts& facts) {
  const size_t at = status.find("\nUid:");
  std::istringstream line(at == std::string::npos ? "" : status.substr(at + 5));
  if (line >> facts.real_uid >> facts.effective_uid) return absl::OkStatus();
  return absl::DataLossError(StrCat("pid ", facts.id.pid, ": /proc/PID/status names no Uid"));
}

std::string Joined(std::string cmdline) {
  while (!cmdline.empty() && cmdline.back() == '\0') cmdline.pop_back();
  std::replace(cmdline.begin(), cmdline.end(), '\0', ' ');
  return cmdline;
}

absl::StatusOr<ProcStat> ReadStat(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/stat"));
  std::ostringstream text;
  text << file.rdbuf();
  return ParseProcStat(text.str());
}

}  // namespace

std::vector<std::string> ParseCgroups(const std::string& text) {
  std::vector<std::string> paths;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    if (std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(std::move(path));
  }
  return paths;
}

absl::StatusOr<ProcessFacts> ReadProcessFacts(const TargetProcess& process) {
  ProcessFacts facts{.id = process.id()};
  SB_ASSIGN_OR_RETURN(const std::string status, process.ReadProcFile("status", kMaxStatusBytes));
  SB_RETURN_IF_ERROR(ParseUids(status, facts));
  SB_ASSIGN_OR_RETURN(facts.exe, process.ExePath());
  SB_ASSIGN_OR_RETURN(std::string cmdline, process.ReadProcFile("cmdline", kMaxCmdlineBytes));
  facts.cmdline = Joined(std::move(cmdline));
  SB_ASSIGN_OR_RETURN(const std::string cgroups, process.ReadProcFile("cgroup", kMaxCgroupBytes));
  facts.cgroups = ParseCgroups(cgroups);
  return facts;
}

absl::StatusOr<std::vector<pid_t>> ListProcesses() {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return ErrnoStatus(errno, "open /proc");
  std::vector<pid_t> pids;
  while (const dirent* entry = readdir(proc.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && pid > 0) pids.push_back(pid);
  }
  if (pids.empty()) return absl::InternalError("/proc shows no process: is it mounted?");
  std::sort(pids.begin(), pids.end());
  return pids;
}

absl::StatusOr<std::vector<TargetId>> DescendantsOf(pid_t pid) {
  SB_ASSIGN_OR_RETURN(const std::vector<pid_t> all, ListProcesses());
  std::multimap<pid_t, TargetId> children;
  for (pid_t one : all) {
    const absl::StatusOr<ProcStat> stat = ReadStat(one);
    if (stat.ok())
      children.emplace(stat->parent_pid, TargetId{.pid = one, .start_ticks = stat->start_ticks});
  }
  std::vector<TargetId> found = {{.pid = pid}};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i].pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    children.erase(first, last);  // read one after the other, they may name each other
  }
  found.erase(found.begin());
  return found;
}

std::optional<TargetId> FindRunning(pid_t pid) {
  const absl::StatusOr<ProcStat> stat = ReadStat(pid);
  if (!stat.ok() || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return TargetId{.pid = pid, .start_ticks = stat->start_ticks};
}

bool IsRunning(pid_t pid) { return FindRunning(pid).has_value(); }

bool IsStopped(pid_t pid) {
  const absl::StatusOr<ProcStat> stat = ReadStat(pid);
  return stat.ok() && (stat->state == 'T' || stat->state == 't');
}

std::vector<std::string> ContainerNames(const std::string& cgroup) {
  constexpr std::array<std::string_view, 6> kPrefixes = {
      "cri-containerd-", "docker-", "crio-", "libpod-", "machine-", "lxc.payload."};
  constexpr std::string_view kScope = ".scope";
  std::vector<std::string> names;
  std::istringstream components(cgroup);
  for (std::string component; std::getline(components, component, '/');) {
    std::string_view name = component;
    if (name.ends_with(kScope)) name.remove_suffix(kScope.size());
    for (std::string_view prefix : kPrefixes) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      break;
    }
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace sbump
