// Where CPython keeps what sbump reads and writes, per minor version: only what the target cannot
// be asked. Each number was taken with offsetof() from that version's own headers (release build,
// x86-64) and is checked again at attach against what the target says of itself (interpreter.h).
#pragma once

#include <cstdint>
#include <span>

#include "daemon/cpython/version.h"

namespace sbump {

// How one code object is made to run through the probe site (design.md, "Why selective arming").
enum class ArmingKind {
  kOpcacheFlag,         // 3.8 to 3.10: co_opcache_flag = INT_MIN
  kResumeQuick,         // 3.11: RESUME_QUICK back to RESUME
  kInstrumentedResume,  // 3.12, 3.13: RESUME to INSTRUMENTED_RESUME
};

inline constexpr int32_t kAbsent = -1;  // the field does not exist in this version

struct Layout {
  int minor = 0;  // of CPython 3
  ArmingKind arming{};

  struct {
    int32_t size = kAbsent;  // PyCode_Type.tp_basicsize
    int32_t co_flags = kAbsent;
    int32_t co_firstlineno = kAbsent;
    int32_t co_consts = kAbsent;
    int32_t co_filename = kAbsent;
    int32_t co_name = kAbsent;
    int32_t co_qualname = kAbsent;
    int32_t co_opcache_flag = kAbsent;             // int32
    int32_t co_warmup = kAbsent;                   // int16
    int32_t co_instrumentation_version = kAbsent;  // uint64
    int32_t co_monitoring = kAbsent;               // _PyCoMonitoringData*
    int32_t co_firsttraceable = kAbsent;           // int32
    int32_t co_code_adaptive = kAbsent;
    // 32 bytes that never change in the life of a code object: argument counts, flags, first line.
    int32_t fingerprint = kAbsent;
  } code;

  // _PyCoMonitoringData.active_monitors.tools[PY_START]: bit mask of tools (uint8).
  int32_t monitoring_py_start_tools = kAbsent;

  struct {
    int32_t resume = kAbsent;
    int32_t resume_other = kAbsent;  // 3.11 RESUME_QUICK, 3.13 RESUME_CHECK
    int32_t instrumented_resume = kAbsent;
  } opcode;

  struct {
    int32_t code = kAbsent;   // 3.8-3.10 PyFrameObject.f_code; 3.11, 3.12 f_code; 3.13 f_executable
    int32_t lasti = kAbsent;  // int32, 3.8 to 3.10
    int32_t prev_instr = kAbsent;  // pointer, 3.11 on (3.13 calls it instr_ptr)
  } frame;

  struct {
    int32_t next = kAbsent;
    int32_t frame = kAbsent;         // 3.8 to 3.10 PyFrameObject*; 3.13 _PyInterpreterFrame*
    int32_t eval_breaker = kAbsent;  // 3.13: version in bits 8..63
    int32_t curexc_type = kAbsent;   // 3.8 to 3.10
    int32_t tracing = kAbsent;       // int32, 3.13: read when a stale version passes the site
  } thread;

  struct {
    int32_t next = kAbsent;
    int32_t threads_head = kAbsent;
    int32_t modules = kAbsent;         // dict: sys.modules
    int32_t gc_generations = kAbsent;  // kAbsent in 3.8: the collector is in _PyRuntime
    int32_t gc_permanent = kAbsent;
    int32_t gc_collecting = kAbsent;
    int32_t instrumentation_version =
        kAbsent;  // 3.12 monitoring_version (uint64); 3.13 ceval.instrumentation_version
  } interpreter;

  struct {
    int32_t interpreters_head = kAbsent;
    int32_t current_thread = kAbsent;  // 3.8 to 3.11: gilstate.tstate_current
    int32_t gc_generations = kAbsent;  // 3.8 only
    int32_t gc_permanent = kAbsent;
    int32_t gc_collecting = kAbsent;
  } runtime;

  struct {
    int32_t func_code = kAbsent;
    int32_t func_globals = kAbsent;
    int32_t func_qualname = kAbsent;
    int32_t func_module = kAbsent;
  } function;

  struct {
    int32_t size = kAbsent;  // sizeof(PyFunctionObject): PyFunction_Type.tp_basicsize
  } function_type;

  struct {
    int32_t ascii_data = kAbsent;    // sizeof(PyASCIIObject)
    int32_t compact_data = kAbsent;  // sizeof(PyCompactUnicodeObject)
  } unicode;

  struct {
    int32_t keys_size = kAbsent;  // int64, 3.8 to 3.10
    int32_t keys_log2_index_bytes = kAbsent;
    int32_t keys_kind =
        kAbsent;  // 3.11 on: 0 general (hash, key, value), else unicode (key, value)
    int32_t keys_nentries = kAbsent;
    int32_t keys_indices = kAbsent;
  } dict;
};

// The same in every version here (Include/object.h, Include/cpython/object.h, tupleobject.h,
// dictobject.h, gc.h).
inline constexpr int32_t kObType = 8;
inline constexpr int32_t kTpName = 24;
inline constexpr int32_t kTpBasicsize = 32;
inline constexpr int32_t kTpDealloc = 48;
inline constexpr int32_t kTpMembers = 240;
inline constexpr int32_t kVarSize = 16;
inline constexpr int32_t kTupleItems = 24;
inline constexpr int32_t kModuleDict = 16;
inline constexpr int32_t kDictKeys = 32;
inline constexpr int32_t kDictValues = 40;
inline constexpr int32_t kGcHeadSize = 16;
inline constexpr int32_t kGcGenerationSize = 24;
inline constexpr int32_t kUnicodeLength = 16;
inline constexpr int32_t kUnicodeState = 32;

// The opcodes that CPython 3.MINOR does not use: they share one entry of its dispatch table (3.11
// on).
std::span<const uint8_t> UnusedOpcodes(int minor);

// Null for a version that has no table: 3.8 to 3.13 have one.
const Layout* FindLayout(const PythonVersion& version);

}  // namespace sbump
