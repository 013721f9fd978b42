#include "daemon/session/doctor.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "daemon/attach/kernel_features.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kCapDacOverride = 1, kCapSysPtrace = 19, kCapSysAdmin = 21, kCapSysNice = 23,
              kCapPerfmon = 38, kCapBpf = 39, kCapCheckpointRestore = 40;

uint64_t EffectiveCapabilities() {
  std::ifstream status("/proc/self/status");
  std::string key;
  uint64_t value = 0;
  while (status >> key) {
    if (key == "CapEff:") {
      status >> std::hex >> value;
      return value;
    }
  }
  return value;
}

class Doctor {
 public:
  Doctor(const SessionEnvironment& environment, const Authorise& authorise)
      : environment_(environment), authorise_(authorise) {}

  absl::StatusOr<Diagnosis> Run(pid_t pid) {
    ExamineKernel();
    ExamineCapabilities();
    if (pid != 0) SB_RETURN_IF_ERROR(OpenAndExamine(pid));
    return std::move(diagnosis_);
  }

 private:
  void Add(FindingLevel level, std::string topic, std::string name, std::string value,
           std::string advice = "") {
    diagnosis_.findings.push_back(
        {level, std::move(topic), std::move(name), std::move(value), std::move(advice)});
  }

  void ExamineKernel() {
    utsname name{};
    uname(&name);
    Add(FindingLevel::kOk, "kernel", "release", StrCat(name.release, " ", name.machine));
    for (const KernelFeature& feature : ExamineKernelFeatures()) AddFeature(feature);
    absl::StatusOr<std::unique_ptr<Programs>> programs =
        Programs::Load(sb_config{}, {.native = true});
    Add(programs.ok() ? FindingLevel::kOk : FindingLevel::kProblem, "kernel", "BPF programs",
        programs.ok() ? "load" : std::string(programs.status().message()));
    if (!programs.ok()) return;
    const TrapCosts costs = environment_.calibration->costs();
    Add(FindingLevel::kOk, "cost", "probe hit",
        StrCat(costs.emulated_ns, " ns; Python 3.11 and later ", costs.inlined_ns,
               " ns (calibrated, taken off each dose)"));
    Add(FindingLevel::kOk, "cost", "probe hit, single-stepped",
        StrCat(costs.stepped_ns,
               " ns (calibrated; native functions that offer no cheaper instruction)"));
    Add(FindingLevel::kOk, "cost", "matching call with dose 0",
        "about 0.7 us more; other functions: none");
  }

  void AddFeature(const KernelFeature& feature) {
    switch (feature.answer) {
      case KernelFeature::Answer::kYes:
        return Add(FindingLevel::kOk, "kernel", feature.name, "yes");
      case KernelFeature::Answer::kUnknown:
        return Add(FindingLevel::kWarning, "kernel", feature.name,
                   "could not be tried: no right to, or no file descriptor or memory left");
      case KernelFeature::Answer::kNo:
        if (!feature.instead.empty())
          return Add(FindingLevel::kOk, "kernel", feature.name, StrCat("no; ", feature.instead));
        return Add(FindingLevel::kProblem, "kernel", feature.name, "no", "needs another kernel");
    }
  }

  void ExamineCapabilities() {
    const uint64_t effective = EffectiveCapabilities();
    const auto need = [&](int bit, const char* name, FindingLevel level, const char* why) {
      const bool has = (effective >> bit & 1) != 0 ||
                       (bit >= kCapPerfmon && (effective >> kCapSysAdmin & 1) != 0);
      Add(has ? FindingLevel::kOk : level, "capabilities", name, has ? "yes" : "no",
          has ? "" : why);
    };
    need(kCapBpf, "CAP_BPF", FindingLevel::kProblem, "needed to load the programs");
    need(kCapPerfmon, "CAP_PERFMON", FindingLevel::kProblem, "needed to load the programs");
    // perf_uprobe_event_init() (kernel/events/core.c) asks for no less.
    need(kCapSysAdmin, "CAP_SYS_ADMIN", FindingLevel::kProblem, "needed to place uprobes");
    need(kCapSysPtrace, "CAP_SYS_PTRACE", FindingLevel::kProblem,
         "needed to read and stop other users' processes");
    need(kCapDacOverride, "CAP_DAC_OVERRIDE", FindingLevel::kWarning,
         "needed for other users' processes: their memory is a file of theirs");
    need(kCapCheckpointRestore, "CAP_CHECKPOINT_RESTORE", FindingLevel::kWarning,
         "without it an interpreter whose file was replaced cannot be opened");
    need(kCapSysNice, "CAP_SYS_NICE", FindingLevel::kWarning,
         "without it first calls wait longer on a busy machine");
  }

  absl::Status OpenAndExamine(pid_t pid) {
    absl::StatusOr<TargetProcess> process = TargetProcess::Open(pid);
    if (!process.ok()) {
      Problem("process", "open", process.status());
      return absl::OkStatus();
    }
    // Before it is judged: what it executes after that has another memory.
    absl::StatusOr<RemoteMemory> memory = RemoteMemory::Open(process->proc_dirfd(), pid);
    SB_RETURN_IF_ERROR(authorise_(*process, "", TargetRules()));
    ExamineProcess(*process, memory);
    // It may have executed another program meanwhile, and some of what was found be of that.
    return authorise_(*process, "", TargetRules());
  }

  void ExamineProcess(const TargetProcess& process, const absl::StatusOr<RemoteMemory>& memory) {
    diagnosis_.process.pid = process.pid();
    diagnosis_.process.start_ticks = process.id().start_ticks;
    diagnosis_.process.exe = process.ExePath().value_or("?");
    Add(FindingLevel::kOk, "process", "program", diagnosis_.process.exe);
    // Let go at once: to study an interpreter takes long, and nobody who attaches waits for that.
    const absl::Status lock = TargetLock::Acquire(process.id(), kDoctor).status();
    if (!lock.ok()) Add(FindingLevel::kWarning, "process", "session", std::string(lock.message()));
    if (!memory.ok()) return Problem("process", "memory", memory.status());
    absl::StatusOr<Interpreter> interpreter =
        FindInterpreter(process, *memory, *environment_.files);
    if (!interpreter.ok()) return Problem("interpreter", "found", interpreter.status());
    DescribeInterpreter(*interpreter);
  }

  void DescribeInterpreter(const Interpreter& interpreter) {
    const InterpreterFile& file = *interpreter.file;
    diagnosis_.process.python_version = ToString(file.version);
    diagnosis_.process.python_build = BuildKind(interpreter);
    diagnosis_.process.strategy = StrategyName(interpreter.layout().arming);
    diagnosis_.process.interpreter = interpreter.path;
    diagnosis_.process.build_id = file.build_id;
    Add(FindingLevel::kOk, "interpreter", "file", interpreter.path);
    Add(FindingLevel::kOk, "interpreter", "version", diagnosis_.process.python_version);
    if (!BuildKind(interpreter).empty()) {
      Add(FindingLevel::kOk, "interpreter", "build",
          StrCat(BuildKind(interpreter), ": a delay stops its own thread and no other"));
    }
    Add(FindingLevel::kOk, "interpreter", "build id",
        file.build_id.empty() ? "none" : file.build_id);
    Add(FindingLevel::kOk, "interpreter", "strategy", diagnosis_.process.strategy);
    for (const std::string& path : interpreter.passed_over) {
      Add(FindingLevel::kOk, "interpreter", "passed over", StrCat(path, ": was never started"));
    }
    for (const InterpreterCheck& check : interpreter.checks) {
      Add(FindingLevel::kOk, "offsets", check.name, check.value);
    }
    char text[64];
    snprintf(text, sizeof(text), "%#lx", static_cast<unsigned long>(file.sites.hit.vaddr));
    Add(FindingLevel::kOk, "sites", "frame entry", text);
    if (file.sites.introduce_vaddr) {
      snprintf(text, sizeof(text), "%#lx", static_cast<unsigned long>(*file.sites.introduce_vaddr));
      Add(FindingLevel::kOk, "sites", "introduction of code objects", text);
    }
    snprintf(text, sizeof(text), "%#lx", static_cast<unsigned long>(interpreter.dealloc_site));
    Add(FindingLevel::kOk, "sites", "end of code objects", text);
  }

  void Problem(std::string topic, std::string name, const absl::Status& status) {
    Add(FindingLevel::kProblem, std::move(topic), std::move(name), std::string(status.message()));
  }

  const SessionEnvironment& environment_;
  const Authorise& authorise_;
  Diagnosis diagnosis_;
};

}  // namespace

bool Diagnosis::usable() const {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.level == FindingLevel::kProblem;
  });
}

absl::StatusOr<Diagnosis> Diagnose(pid_t pid, const SessionEnvironment& environment,
                                   const Authorise& authorise) {
  return Doctor(environment, authorise).Run(pid);
}

}  // namespace sbump
