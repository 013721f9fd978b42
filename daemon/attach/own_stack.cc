#include "daemon/attach/own_stack.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint32_t kMostCodeBytes = 4 * 1024 * 1024;

absl::StatusOr<bpf_prog_info> InfoOf(int program_fd, std::string* machine_code) {
  bpf_prog_info info{};
  if (machine_code != nullptr) {
    info.jited_prog_len = static_cast<uint32_t>(machine_code->size());
    info.jited_prog_insns = reinterpret_cast<uint64_t>(machine_code->data());
  }
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program_fd, &info, &size) != 0)
    return ErrnoStatus(errno, "asking for a BPF program's machine code");
  return info;
}

}  // namespace

bool UsesStackOfProcessor(std::string_view machine_code) {
  constexpr std::string_view kAddToR9 = "\x65\x4c\x03\x0c\x25";  // add %gs:ADDRESS, %r9
  return machine_code.find(kAddToR9) != std::string_view::npos;
}

absl::Status CheckOwnStack(int program_fd) {
  SB_ASSIGN_OR_RETURN(const bpf_prog_info about, InfoOf(program_fd, nullptr));
  std::string machine_code(std::min(about.jited_prog_len, kMostCodeBytes), '\0');
  SB_ASSIGN_OR_RETURN(const bpf_prog_info info, InfoOf(program_fd, &machine_code));
  if (!UsesStackOfProcessor(machine_code)) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat(
      "this kernel gives the BPF program ", info.name,
      " one stack per processor, which threads that wait at a probe would overwrite; nothing "
      "is attached. Please tell the makers of sbump the kernel's version"));
}

}  // namespace sbump
