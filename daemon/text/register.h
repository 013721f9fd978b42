// x86-64 general purpose registers by number.
#pragma once

namespace sbump {

// In the order of their encoding: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15
// r8..r15.
using RegisterNumber = int;
inline constexpr RegisterNumber kNoRegister = -1;
inline constexpr RegisterNumber kRsp = 4;
inline constexpr RegisterNumber kRdi = 7;
inline constexpr RegisterNumber kRip = 16;  // only as the base of a memory operand
inline constexpr int kRegisterCount = 16;

}  // namespace sbump
