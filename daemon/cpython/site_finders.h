// The parts of FindSites(), one per shape of frame entry. Inside this package only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/cpython/layout.h"
#include "daemon/cpython/sites.h"
#include "daemon/cpython/straight_line.h"
#include "daemon/text/control_flow.h"

namespace sbump {

// 3.8 to 3.10. `loop` is what is reached from _PyEval_EvalFrameDefault.
absl::StatusOr<HitSite> FindOpcacheSite(const ElfFile& elf, const Layout& layout,
                                        const ReachedCode& loop);

// 3.11 on. `handler` is that of RESUME (3.11) or INSTRUMENTED_RESUME; `loop`, what is reached from
// all handlers.
absl::StatusOr<HitSite> FindResumeSite(const ElfFile& elf, const Layout& layout, uint64_t handler,
                                       const ReachedCode& loop);

// 3.14 on: as FindResumeSite(), for a handler whose first line BeginsWithTracingTest().
bool BeginsWithTracingTest(const Layout& layout, Line line);
absl::StatusOr<HitSite> FindResumeJoinSite(const ElfFile& elf, const Layout& layout,
                                           uint64_t handler, const ReachedCode& loop);

// 3.11: _PyCode_Quicken, from RESUME's hit site.
absl::StatusOr<uint64_t> FindQuicken(const ElfFile& elf, const Layout& layout, const HitSite& hit);

// 3.12 on: _Py_Instrument, from RESUME's handler.
absl::StatusOr<uint64_t> FindInstrument(const ElfFile& elf, const Layout& layout,
                                        uint64_t resume_handler);

// kUnimplemented: "FILE: no probe site at 0xADDRESS: WHY".
absl::Status NotProven(const ElfFile& elf, uint64_t vaddr, std::string_view why);

}  // namespace sbump
