// Where CPython keeps what sbump reads and writes, per minor version: only what the target cannot
// be asked. Each number was taken with offsetof() from that version's own headers (release build,
// x86-64) and is checked again at attach against what the target says of itself (interpreter.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "daemon/cpython/version.h"

namespace sbump {

// How one code object is made to run through the probe site (design.md, "Why selective arming").
enum class ArmingKind {
  kOpcacheFlag,         // 3.8 to 3.10: co_opcache_flag = INT_MIN
  kResumeQuick,         // 3.11: RESUME_QUICK back to RESUME
  kInstrumentedResume,  // 3.12 on: RESUME to INSTRUMENTED_RESUME
};

inline constexpr int32_t kAbsent = -1;  // the field does not exist in this version
// As the BPF programs are told it: no field of theirs is at an object's begin.
constexpr uint32_t OffsetOrZero(int32_t offset) {
  return offset == kAbsent ? 0 : static_cast<uint32_t>(offset);
}

struct Layout {
  int minor = 0;  // of CPython 3
  bool free_threaded = false;
  ArmingKind arming{};
  // How much longer PyObject is than 16 bytes: what follows it is so much further on.
  int32_t head_shift = 0;

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

  // _PyCoMonitoringData.active_monitors.tools[PY_START]: bit mask of tools (uint8). PY_RESUME's is
  // the next one.
  int32_t monitoring_py_start_tools = kAbsent;

  struct {
    int32_t resume = kAbsent;
    int32_t resume_other = kAbsent;  // 3.11 RESUME_QUICK, 3.13 on RESUME_CHECK
    int32_t resume_jit = kAbsent;    // 3.15 RESUME_CHECK_JIT, where PYTHON_JIT=1
    int32_t instrumented_resume = kAbsent;
    int32_t yield_value = kAbsent;
    int32_t instrumented_yield_value = kAbsent;
  } opcode;

  struct {
    int32_t code = kAbsent;        // 3.8-3.10 PyFrameObject.f_code; 3.11, 3.12 f_code; 3.13
                                   // on f_executable (from 3.14 on a tagged _PyStackRef: low bit)
    int32_t lasti = kAbsent;       // int32, 3.8 to 3.10
    int32_t prev_instr = kAbsent;  // pointer, 3.11 on (called instr_ptr from 3.13 on)
  } frame;

  struct {
    int32_t next = kAbsent;
    int32_t frame = kAbsent;         // 3.8 to 3.10 PyFrameObject*; 3.13 on _PyInterpreterFrame*
    int32_t eval_breaker = kAbsent;  // 3.13 on: version in bits 8..63
    int32_t curexc_type = kAbsent;   // 3.8 to 3.10
    int32_t tracing = kAbsent;       // int32, 3.13 on
  } thread;

  struct {
    int32_t next = kAbsent;
    int32_t threads_head = kAbsent;
    int32_t modules = kAbsent;  // dict: sys.modules
    int32_t gc = kAbsent;       // 3.13 on
    // kAbsent in 3.8: the collector is in _PyRuntime. From 3.13 on kAbsent until the process was
    // asked (published_offsets.h): micro versions differ.
    int32_t gc_generations = kAbsent;
    int32_t gc_permanent = kAbsent;
    int32_t gc_collecting = kAbsent;
    int32_t instrumentation_version =
        kAbsent;  // 3.12 monitoring_version (uint64); 3.13 on ceval.instrumentation_version
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
    int32_t items = 24;  // PyTupleObject.ob_item: from 3.14 on behind ob_hash
  } tuple;

  struct {
    int32_t qualname = kAbsent;     // PyHeapTypeObject.ht_qualname
    int32_t cached_keys = kAbsent;  // ht_cached_keys: those of its instances' split dicts
  } heap_type;

  // Where an instance whose type has Py_TPFLAGS_MANAGED_DICT keeps its attributes (3.11 on), from
  // the object's address. Include/internal/pycore_object.h, Objects/dictobject.c.
  struct {
    int32_t dict = kAbsent;    // PyDictObject*; 3.12: with the low bit set, its values instead
    int32_t values = kAbsent;  // 3.11: PyDictValues*, used where it is not null
    bool tagged = false;       // 3.12
    bool inlined = false;      // 3.13 on: values may lie behind the object itself
  } managed_dict;

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
    int32_t values_items = 0;  // PyDictValues.values, of a split dict
  } dict;

  // 3.13 on. `generations`: where struct _gc_runtime_state may have them; which of these, the lists
  // themselves show.
  struct {
    std::array<int32_t, 2> generations = {kAbsent, kAbsent};
    int32_t permanent = kAbsent;
    int32_t collecting = kAbsent;
  } gc_state;

  // 3.13 on: which 8-byte word of _Py_DebugOffsets holds what.
  struct {
    int32_t gc = kAbsent;
    int32_t imports_modules = kAbsent;
    int32_t thread_next = kAbsent;
    int32_t thread_interp = kAbsent;
    int32_t thread_current_frame = kAbsent;
    int32_t frame_executable = kAbsent;
    int32_t frame_instr_ptr = kAbsent;
    int32_t code_size = kAbsent;  // then filename, name, qualname, linetable, firstlineno
    int32_t code_adaptive = kAbsent;
    int32_t tuple_ob_item = kAbsent;
  } word;
};

// The same in every version here (Include/object.h, Include/cpython/object.h, tupleobject.h,
// dictobject.h, gc.h), but for Layout::head_shift, which is to be added up to kUnicodeState.
inline constexpr int32_t kObType = 8;
inline constexpr int32_t kTpName = 24;
inline constexpr int32_t kTpBasicsize = 32;
inline constexpr int32_t kTpDealloc = 48;
inline constexpr int32_t kTpCall = 128;
inline constexpr int32_t kTpFlags = 168;
inline constexpr int32_t kTpMembers = 240;
inline constexpr int32_t kTpDict = 264;
inline constexpr int32_t kTpDictoffset = 288;
inline constexpr int32_t kTpMro = 344;
inline constexpr int32_t kVarSize = 16;
inline constexpr int32_t kModuleDict = 16;
inline constexpr int32_t kDictUsed = 16;
inline constexpr int32_t kDictKeys = 32;
inline constexpr int32_t kDictValues = 40;
inline constexpr int32_t kUnicodeLength = 16;
inline constexpr int32_t kUnicodeState = 32;
inline constexpr int32_t kThreadInterpreter = 16;  // PyThreadState.interp
inline constexpr int32_t kGcHeadSize = 16;
inline constexpr int32_t kGcGenerationSize = 24;

// The opcodes that CPython 3.MINOR does not use: they share one entry of its dispatch table (3.11
// on).
std::span<const uint8_t> UnusedOpcodes(int minor);

// Null for a version that has no table: 3.8 to 3.15 have one, but their alphas and betas do not; of
// the free-threaded builds only 3.13.
const Layout* FindLayout(const PythonVersion& version, bool free_threaded = false);

}  // namespace sbump
