// Whether the kernel keeps the variables of a program on the stack of the thread that runs it.
// bpf/own_stack.bpf.h asks for that, and says what happens else; a kernel to come may not listen.
#pragma once

#include <string_view>

#include "daemon/base/status.h"

namespace sbump {

// Of what the JIT of x86-64 made: that it begins with the address of a stack per processor, as in
// Linux 6.13 and later (arch/x86/net/bpf_jit_comp.c, emit_priv_frame_ptr()).
bool UsesStackOfProcessor(std::string_view machine_code);

// kFailedPrecondition: two threads may be in the program at once, with one stack. OK also where
// the kernel does not show its machine code (kernel.kptr_restrict) or made none.
absl::Status CheckOwnStack(int program_fd);

}  // namespace sbump
