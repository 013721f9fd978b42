#include "daemon/attach/kernel_features.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/fd.h"

namespace sbump {
namespace {

using Answer = KernelFeature::Answer;

constexpr bpf_insn kReturnZero = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0};
constexpr bpf_insn kExit = {.code = BPF_JMP | BPF_EXIT};

bpf_insn Call(int helper) { return {.code = BPF_JMP | BPF_CALL, .imm = helper}; }

struct Trial {
  int error = 0;
  std::string log;  // what the verifier said
};

template <size_t N>
Trial Load(const std::array<bpf_insn, N>& program, bool sleepable) {
  std::array<char, 4096> log{};
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.prog_flags = sleepable ? BPF_F_SLEEPABLE : 0;
  options.log_level = 1;
  options.log_buf = log.data();
  options.log_size = log.size();
  const Fd loaded(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sb_trial", "GPL", program.data(),
                                program.size(), &options));
  return {.error = loaded.valid() ? 0 : errno, .log = log.data()};
}

// What says nothing about the kernel: no right to try, or no descriptor or memory for it.
bool CannotTry(int error) {
  return error == EPERM || error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

Answer AnswerOf(const Trial& trial) {
  if (trial.error == 0) return Answer::kYes;
  return CannotTry(trial.error) ? Answer::kUnknown : Answer::kNo;
}

Answer SleepablePrograms() { return AnswerOf(Load(std::array{kReturnZero, kExit}, true)); }

Answer Exists(bool exists) { return exists ? Answer::kYes : Answer::kNo; }

}  // namespace

// Called without arguments, which the verifier looks at only where it knows the helper. Its words
// for one that it does not know: kernel/bpf/verifier.c, check_helper_call().
KernelFeature::Answer HasHelper(int helper, bool sleepable) {
  const Trial trial = Load(std::array{Call(helper), kReturnZero, kExit}, sleepable);
  if (CannotTry(trial.error)) return Answer::kUnknown;
  for (std::string_view unknown : {"invalid func ", "unknown func ", "cannot use helper "}) {
    if (trial.log.find(unknown) != std::string::npos) return Answer::kNo;
  }
  return Answer::kYes;
}

std::vector<KernelFeature> ExamineKernelFeatures() {
  const Answer sleepable = SleepablePrograms();
  const auto helper = [&](std::string name, bpf_func_id id) {
    return KernelFeature{std::move(name), HasHelper(id, sleepable == Answer::kYes), ""};
  };
  return {
      {"uprobes (CONFIG_UPROBE_EVENTS)", Exists(UprobesExist()), ""},
      {"BTF (CONFIG_DEBUG_INFO_BTF)", Exists(access("/sys/kernel/btf/vmlinux", R_OK) == 0), ""},
      {"sleepable uprobe programs", sleepable, ""},
      helper("bpf_loop", BPF_FUNC_loop),
      helper("bpf_copy_from_user_task", BPF_FUNC_copy_from_user_task),
      helper("bpf_get_current_task_btf", BPF_FUNC_get_current_task_btf),
      helper("bpf_ringbuf_reserve", BPF_FUNC_ringbuf_reserve),
      {"uprobe_multi links", Exists(UprobeMultiWorks()),
       "perf events instead: a detach takes 0.1 to 0.2 s longer"},
  };
}

std::string MissingOf(const std::vector<KernelFeature>& features) {
  std::string names;
  for (const KernelFeature& feature : features) {
    if (feature.answer != Answer::kNo || !feature.instead.empty()) continue;
    if (!names.empty()) names += ", ";
    names += feature.name;
  }
  return names;
}

}  // namespace sbump
