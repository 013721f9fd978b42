#include "daemon/session/selector.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "daemon/base/str_cat.h"
#include "daemon/match/glob.h"

namespace sbump {
namespace {

constexpr std::string_view kCgroupMount = "/sys/fs/cgroup";

// As /proc/PID/cgroup writes it.
std::string CgroupPath(std::string_view path) {
  if (path.starts_with(kCgroupMount)) path.remove_prefix(kCgroupMount.size());
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.starts_with('/') ? std::string(path) : StrCat("/", path);
}

bool IsBelow(const std::string& path, const std::string& above) {
  return above == "/" || path == above || path.starts_with(above + "/");
}

// The containers with that prefix that the process is in.
std::vector<std::string> ContainersOf(const ProcessFacts& process, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& cgroup : process.cgroups) {
    for (std::string& name : ContainerNames(cgroup)) {
      if (name.starts_with(prefix)) found.push_back(std::move(name));
    }
  }
  return found;
}

class Test {
 public:
  static absl::StatusOr<Test> Make(const ProcessSelector& selector) {
    Test test(selector);
    SB_ASSIGN_OR_RETURN(test.exe_, Glob::Compile(selector.exe));
    SB_ASSIGN_OR_RETURN(test.cmdline_, Glob::Compile(selector.cmdline));
    return test;
  }

  bool Takes(const ProcessFacts& process) const {
    return (selector_.exe.empty() || TakesExe(process.exe)) &&
           (selector_.cmdline.empty() || cmdline_->Matches(process.cmdline)) &&
           (selector_.cgroup.empty() || TakesCgroup(process.cgroups)) &&
           (selector_.container.empty() || !ContainersOf(process, selector_.container).empty());
  }

 private:
  explicit Test(const ProcessSelector& selector)
      : selector_(selector), cgroup_(CgroupPath(selector.cgroup)) {}

  bool TakesExe(std::string_view exe) const {
    constexpr std::string_view kDeleted = " (deleted)";
    if (exe.ends_with(kDeleted)) exe.remove_suffix(kDeleted.size());
    const bool whole = selector_.exe.find('/') != std::string::npos;
    return exe_->Matches(whole ? exe : exe.substr(exe.rfind('/') + 1));
  }
  bool TakesCgroup(const std::vector<std::string>& cgroups) const {
    return std::any_of(cgroups.begin(), cgroups.end(),
                       [&](const std::string& path) { return IsBelow(path, cgroup_); });
  }

  const ProcessSelector& selector_;
  const std::string cgroup_;
  absl::StatusOr<Glob> exe_, cmdline_;
};

}  // namespace

std::string ToString(const ProcessSelector& selector) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += StrCat(text.empty() ? "" : ", ", name, " ", value);
  };
  add("container", selector.container);
  add("cgroup", selector.cgroup);
  add("exe", selector.exe);
  add("cmdline", selector.cmdline);
  return text;
}

absl::StatusOr<std::vector<TargetId>> Select(const ProcessSelector& selector,
                                             const std::vector<ProcessFacts>& processes) {
  SB_ASSIGN_OR_RETURN(const Test test, Test::Make(selector));
  std::vector<TargetId> selected;
  std::set<std::string> containers;
  for (const ProcessFacts& process : processes) {
    if (!test.Takes(process)) continue;
    selected.push_back(process.id);
    if (selector.container.empty()) continue;
    for (std::string& name : ContainersOf(process, selector.container))
      containers.insert(std::move(name));
  }
  if (containers.size() > 1) {
    return absl::FailedPreconditionError(
        StrCat("container ", selector.container, " is the beginning of more than one: ",
               *containers.begin(), ", ", *std::next(containers.begin()), "; write more of it"));
  }
  return selected;
}

absl::StatusOr<std::vector<TargetId>> SelectProcesses(const ProcessSelector& selector, size_t most,
                                                      const Sees& sees) {
  std::vector<ProcessFacts> processes;
  SB_ASSIGN_OR_RETURN(const std::vector<pid_t> all, ListProcesses());
  for (pid_t pid : all) {
    // Those that end meanwhile, kernel threads, and sbump's own.
    absl::StatusOr<TargetProcess> process = TargetProcess::Open(pid);
    if (absl::IsResourceExhausted(process.status())) return process.status();
    if (!process.ok() || (sees && !sees(*process))) continue;
    absl::StatusOr<ProcessFacts> facts = ReadProcessFacts(*process);
    if (facts.ok()) processes.push_back(*std::move(facts));
  }
  SB_ASSIGN_OR_RETURN(std::vector<TargetId> selected, Select(selector, processes));
  if (selected.empty())
    return absl::NotFoundError(StrCat("no process is selected by ", ToString(selector)));
  if (selected.size() > most) {
    return absl::ResourceExhaustedError(StrCat(selected.size(), " processes are selected by ",
                                               ToString(selector), "; the most is ", most,
                                               " (--max-processes)"));
  }
  return selected;
}

}  // namespace sbump
