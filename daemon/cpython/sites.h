// Where in an interpreter's text sbump's probes go: found by disassembly of the ELF file, proven or
// refused. Pure functions of the file: nothing here looks at a process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/cpython/layout.h"
#include "daemon/cpython/version.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/register.h"
#include "daemon/text/return_sites.h"
#include "daemon/text/saved_registers.h"

namespace sbump {

// The probe on frame entry: an instruction that the kernel emulates (push, jcc, jmp rel, call
// rel32: never a 5-byte nop), and what the registers hold when it is reached.
struct HitSite {
  uint64_t vaddr = 0;
  // PyCodeObject*; kNoRegister from 3.14 on, and in free-threaded builds: to be read from the
  // frame.
  RegisterNumber code = kNoRegister;
  RegisterNumber frame = kNoRegister;  // _PyInterpreterFrame* (3.11 on)
  RegisterNumber unit =
      kNoRegister;  // address of the RESUME code unit that is being executed (3.11 on)
  RegisterNumber thread = kNoRegister;  // PyThreadState* (3.13)
  // 3.8 to 3.10: where a thread stands (what it executes next) that has read co_opcache_flag and
  // has yet to write it back: over whatever is written there meanwhile. Sorted.
  std::vector<uint64_t> counting;
  // Reached only where the versions of code and interpreter agree, or are not compared: once for
  // each start. Else, from 3.12 on, a stale version passes here before it is made current, too.
  bool passed_once = false;
};

struct Sites {
  HitSite hit;
  // First byte of the function every code object passes before it can be armed: 3.11
  // _PyCode_Quicken, 3.12 on _Py_Instrument; rdi = code. Absent in 3.8 to 3.10.
  std::optional<uint64_t> introduce_vaddr;
};

// kUnimplemented, with what was missing, when any part cannot be proven.
//
// 3.8 to 3.10: in _PyEval_EvalFrameDefault the one store of co_opcache_flag that follows its
// increment; the site is
//   the jcc after it, `code` the base register of the store. Each way to the increment comes from a
//   load of the field, `counting` is what lies between.
// 3.11: RESUME's handler; the site is the first jcc, after the load of co_warmup. _PyCode_Quicken
// is the first direct
//   call behind the jcc that follows the store of co_warmup.
// 3.12, 3.13: INSTRUMENTED_RESUME's handler; the site is the jcc after the compare with
// _co_instrumentation_version: in
//   BPF its zero flag tells a current version (counted) from a stale one (the unit will be
//   dispatched again).
// 3.14 on: there the compare is made only where tstate->tracing is 0; the site is the first jcc
//   behind the place where both ways meet again.
// 3.12 on: _Py_Instrument is the first direct call on the unequal side of that compare
//   in RESUME's handler. Where the file has a symbol _Py_Instrument (or _PyCode_Quicken) it must be
//   the same address.
// From 3.11 on `unit` is the register stored to frame->prev_instr in the handler before the site,
// and neither it nor `code` is written between there and the site.
absl::StatusOr<Sites> FindSites(const ElfFile& elf, const Layout& layout);

// 3.11 on: the table of 256 handler addresses. It is the one run of code pointers in which exactly
// the version's unused opcodes share one value.
absl::StatusOr<std::vector<uint64_t>> FindOpcodeTable(const ElfFile& elf, const Layout& layout);

// The best place for a probe that sees rdi as the function at `function_vaddr` got it: the first
// instruction that the kernel emulates on the straight line from the entry before rdi changes, else
// the entry itself (costs 4 us a hit).
absl::StatusOr<uint64_t> FindArgumentSite(const ElfFile& elf, uint64_t function_vaddr);

// Where calls of a function are seen from begin to end.
struct CallSites {
  uint64_t begin = 0;  // all arguments are in their registers, the return address at %rsp
  std::vector<ReturnSite> ends;
  SavedRegisters saved{};
};
// kUnimplemented, saying why: they cannot be proven.
absl::StatusOr<CallSites> FindCallSites(const ElfFile& elf, uint64_t function_vaddr);

// The version of the interpreter in this file: Py_Version (3.11 on), else the string that
// Py_GetVersion() formats first, found by disassembly. kUnimplemented when the file has no CPython
// in it.
absl::StatusOr<PythonVersion> FindPythonVersion(const ElfFile& elf);

}  // namespace sbump
