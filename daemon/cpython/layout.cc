#include "daemon/cpython/layout.h"

#include <array>

namespace sbump {
namespace {

// offsetof() over the installed headers of CPython 3.8.18 (Include/internal/pycore_pystate.h,
// code.h, frameobject.h); dict keys: Objects/dict-common.h, v3.8.18.
constexpr Layout kLayout38 = {
    .minor = 8,
    .arming = ArmingKind::kOpcacheFlag,
    .code = {.size = 176,
             .co_flags = 36,
             .co_firstlineno = 40,
             .co_consts = 56,
             .co_filename = 104,
             .co_name = 112,
             .co_opcache_flag = 168,
             .fingerprint = 16},
    .frame = {.code = 32, .lasti = 104},
    .thread = {.next = 8, .frame = 24, .curexc_type = 88},
    .interpreter = {.next = 0, .threads_head = 8, .modules = 56},
    .runtime = {.interpreters_head = 32,
                .current_thread = 1368,
                .gc_generations = 368,
                .gc_permanent = 448,
                .gc_collecting = 544},
    .function = {.func_code = 16, .func_globals = 24, .func_qualname = 104, .func_module = 88},
    .function_type = {.size = 120},
    .heap_type = {.qualname = 864, .cached_keys = 872},
    .unicode = {.ascii_data = 48, .compact_data = 72},
    .dict = {.keys_size = 8, .keys_nentries = 32, .keys_indices = 40},
};

constexpr Layout MakeLayout39() {
  Layout layout = kLayout38;
  layout.minor = 9;
  layout.interpreter.modules = 856;
  layout.interpreter.gc_generations = 640;
  layout.interpreter.gc_permanent = 720;
  layout.interpreter.gc_collecting = 816;
  layout.runtime = {.interpreters_head = 32, .current_thread = 568};
  layout.heap_type = {.qualname = 856, .cached_keys = 864};
  return layout;
}
constexpr Layout kLayout39 = MakeLayout39();

constexpr Layout MakeLayout310() {
  Layout layout = kLayout39;
  layout.minor = 10;
  layout.frame.lasti = 96;
  layout.function = {.func_code = 48, .func_globals = 16, .func_qualname = 40, .func_module = 104};
  layout.function_type = {.size = 128};
  layout.heap_type = {.qualname = 864, .cached_keys = 872};
  return layout;
}
constexpr Layout kLayout310 = MakeLayout310();

// CPython 3.11.7: Include/internal/pycore_frame.h, pycore_interp.h, pycore_dict.h,
// Include/opcode.h.
constexpr Layout kLayout311 = {
    .minor = 11,
    .arming = ArmingKind::kResumeQuick,
    .code = {.size = 192,
             .co_flags = 48,
             .co_firstlineno = 72,
             .co_consts = 24,
             .co_filename = 112,
             .co_name = 120,
             .co_qualname = 128,
             .co_warmup = 52,
             .co_firsttraceable = 168,
             .co_code_adaptive = 184,
             .fingerprint = 56},
    .opcode = {.resume = 151, .resume_other = 150, .yield_value = 86},
    .frame = {.code = 32, .prev_instr = 56},
    .thread = {.next = 8},
    .interpreter = {.next = 0,
                    .threads_head = 16,
                    .modules = 888,
                    .gc_generations = 672,
                    .gc_permanent = 752,
                    .gc_collecting = 848},
    .runtime = {.interpreters_head = 40, .current_thread = 576},
    .function = {.func_code = 48, .func_globals = 16, .func_qualname = 40, .func_module = 104},
    .function_type = {.size = 136},
    .heap_type = {.qualname = 864, .cached_keys = 872},
    .managed_dict = {.dict = -24, .values = -32},
    .unicode = {.ascii_data = 48, .compact_data = 72},
    .dict = {.keys_log2_index_bytes = 9, .keys_kind = 10, .keys_nentries = 24, .keys_indices = 32},
};

// CPython 3.12.1.
constexpr Layout kLayout312 = {
    .minor = 12,
    .arming = ArmingKind::kInstrumentedResume,
    .code = {.size = 200,
             .co_flags = 48,
             .co_firstlineno = 68,
             .co_consts = 24,
             .co_filename = 112,
             .co_name = 120,
             .co_qualname = 128,
             .co_instrumentation_version = 160,
             .co_monitoring = 168,
             .co_firsttraceable = 176,
             .co_code_adaptive = 192,
             .fingerprint = 48},
    .monitoring_py_start_tools = 15,
    .opcode = {.resume = 151,
               .instrumented_resume = 240,
               .yield_value = 150,
               .instrumented_yield_value = 243},
    .frame = {.code = 0, .prev_instr = 56},
    .thread = {.next = 8},
    .interpreter = {.next = 0,
                    .threads_head = 72,
                    .modules = 944,
                    .gc_generations = 136,
                    .gc_permanent = 216,
                    .gc_collecting = 312,
                    .instrumentation_version = 48},
    .runtime = {.interpreters_head = 40},
    .function = {.func_code = 48, .func_globals = 16, .func_qualname = 40, .func_module = 104},
    .function_type = {.size = 144},
    .heap_type = {.qualname = 872, .cached_keys = 880},
    .managed_dict = {.dict = -24, .tagged = true},
    .unicode = {.ascii_data = 40, .compact_data = 56},
    .dict = {.keys_log2_index_bytes = 9, .keys_kind = 10, .keys_nentries = 24, .keys_indices = 32},
};

// CPython 3.13.0, 3.13.5 and 3.13.18. What the process itself publishes in _Py_DebugOffsets counts
// (Include/internal/pycore_runtime.h); PyGC_Head is packed more tightly from some micro version on.
constexpr Layout MakeLayout313() {
  Layout layout = kLayout312;
  layout.minor = 13;
  layout.code.size = 208;
  layout.code.co_instrumentation_version = 168;
  layout.code.co_monitoring = 176;
  layout.code.co_firsttraceable = 184;
  layout.code.co_code_adaptive = 200;
  layout.monitoring_py_start_tools = 10;
  layout.opcode = {.resume = 149,
                   .resume_other = 207,
                   .instrumented_resume = 236,
                   .yield_value = 118,
                   .instrumented_yield_value = 241};
  layout.thread = {.next = 8, .frame = 72, .eval_breaker = 24, .tracing = 60};
  layout.interpreter = {.next = 7264,
                        .threads_head = 7344,
                        .modules = 7656,
                        .gc = 7400,
                        .instrumentation_version = 0};
  layout.runtime = {.interpreters_head = 632};
  layout.managed_dict = {.dict = -24, .inlined = true};
  layout.dict.values_items = 8;
  layout.gc_state = {.generations = {24, 20}, .permanent = 104, .collecting = 200};
  layout.word = {.gc = 10,
                 .imports_modules = 11,
                 .thread_next = 21,
                 .thread_interp = 22,
                 .thread_current_frame = 23,
                 .frame_executable = 30,
                 .frame_instr_ptr = 31,
                 .code_size = 34,
                 .code_adaptive = 43,
                 .tuple_ob_item = 51};
  return layout;
}
constexpr Layout kLayout313 = MakeLayout313();

// CPython 3.13.5 --disable-gil. Its objects are on no lists of a collector.
constexpr Layout MakeLayout313FreeThreaded() {
  Layout layout = kLayout313;
  layout.free_threaded = true;
  layout.head_shift = 16;
  layout.code = {.size = 224,
                 .co_flags = 64,
                 .co_firstlineno = 84,
                 .co_consts = 40,
                 .co_filename = 128,
                 .co_name = 136,
                 .co_qualname = 144,
                 .co_instrumentation_version = 184,
                 .co_monitoring = 192,
                 .co_firsttraceable = 200,
                 .co_code_adaptive = 216,
                 .fingerprint = 64};
  layout.interpreter.modules = 7664;
  layout.function = {.func_code = 64, .func_globals = 32, .func_qualname = 56, .func_module = 120};
  layout.function_type = {.size = 160};
  layout.heap_type = {.qualname = 888, .cached_keys = 896};
  layout.managed_dict.dict = -8;
  layout.tuple = {.items = 40};
  layout.unicode = {.ascii_data = 56, .compact_data = 72};
  layout.gc_state = {};
  return layout;
}
constexpr Layout kLayout313FreeThreaded = MakeLayout313FreeThreaded();

// CPython 3.14.10: Include/internal/pycore_interp_structs.h, pycore_debug_offsets.h.
constexpr Layout MakeLayout314() {
  Layout layout = kLayout313;
  layout.minor = 14;
  layout.code.size = 216;
  layout.code.co_firsttraceable = 192;
  layout.code.co_code_adaptive = 208;
  layout.monitoring_py_start_tools = 11;
  layout.opcode = {.resume = 128,
                   .resume_other = 196,
                   .instrumented_resume = 245,
                   .yield_value = 120,
                   .instrumented_yield_value = 247};
  layout.interpreter = {.next = 7272,
                        .threads_head = 7344,
                        .modules = 7688,
                        .gc = 7408,
                        .instrumentation_version = 0};
  layout.runtime = {.interpreters_head = 808};
  layout.function_type = {.size = 152};
  layout.tuple = {.items = 32};
  layout.gc_state = {.generations = {24, 20}, .permanent = 96, .collecting = 192};
  layout.word = {.gc = 11,
                 .imports_modules = 12,
                 .thread_next = 24,
                 .thread_interp = 25,
                 .thread_current_frame = 26,
                 .frame_executable = 33,
                 .frame_instr_ptr = 34,
                 .code_size = 39,
                 .code_adaptive = 48,
                 .tuple_ob_item = 57};
  return layout;
}
constexpr Layout kLayout314 = MakeLayout314();

// CPython 3.15.2.
constexpr Layout MakeLayout315() {
  Layout layout = kLayout314;
  layout.minor = 15;
  layout.monitoring_py_start_tools = 16;
  layout.opcode = {.resume = 128,
                   .resume_other = 200,
                   .resume_jit = 201,
                   .instrumented_resume = 244,
                   .yield_value = 119,
                   .instrumented_yield_value = 246};
  layout.thread.tracing = 64;
  layout.interpreter = {.next = 7264,
                        .threads_head = 7336,
                        .modules = 7592,
                        .gc = 7400,
                        .instrumentation_version = 0};
  layout.runtime = {.interpreters_head = 936};
  layout.heap_type = {.qualname = 880, .cached_keys = 888};
  layout.gc_state = {.generations = {8, kAbsent}, .permanent = 80, .collecting = 112};
  layout.word.frame_executable = 41;
  layout.word.frame_instr_ptr = 42;
  layout.word.code_size = 47;
  layout.word.code_adaptive = 56;
  layout.word.tuple_ob_item = 69;
  return layout;
}
constexpr Layout kLayout315 = MakeLayout315();

constexpr int kReleaseCandidate = 0xC;

constexpr std::array kLayouts = {&kLayout38,  &kLayout39,  &kLayout310,
                                 &kLayout311, &kLayout312, &kLayout313,
                                 &kLayout314, &kLayout315, &kLayout313FreeThreaded};

}  // namespace

const Layout* FindLayout(const PythonVersion& version, bool free_threaded) {
  // Offsets and opcodes move until the first release candidate.
  if (version.major != 3 || version.release_level < kReleaseCandidate) return nullptr;
  for (const Layout* layout : kLayouts) {
    if (layout->minor == version.minor && layout->free_threaded == free_threaded) return layout;
  }
  return nullptr;
}

}  // namespace sbump
