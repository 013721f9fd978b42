#include "daemon/session/program_config.h"

#include "daemon/session/inventory.h"
#include "daemon/session/name_filter.h"

namespace sbump {
namespace {

uint32_t Arming(ArmingKind kind) {
  switch (kind) {
    case ArmingKind::kOpcacheFlag:
      return SB_ARMING_OPCACHE_FLAG;
    case ArmingKind::kResumeQuick:
      return SB_ARMING_RESUME_QUICK;
    case ArmingKind::kInstrumentedResume:
      return SB_ARMING_INSTRUMENTED_RESUME;
  }
  return SB_ARMING_OPCACHE_FLAG;
}

uint8_t RegisterOrNone(RegisterNumber number) {
  return number == kNoRegister ? 0xff : static_cast<uint8_t>(number);
}

}  // namespace

sb_config MakeConfig(const Interpreter& interpreter, uint64_t trap_cost_ns) {
  const Layout& layout = interpreter.layout();
  const HitSite& hit = interpreter.file->sites.hit;
  sb_config config{};
  config.trap_cost_ns = trap_cost_ns;
  config.arming = Arming(layout.arming);
  config.code_register = RegisterOrNone(hit.code);
  config.frame_register = RegisterOrNone(hit.frame);
  config.unit_register = RegisterOrNone(hit.unit);
  config.thread_register = RegisterOrNone(hit.thread);
  config.passed_once = hit.passed_once ? 1 : 0;
  config.co_filename = OffsetOrZero(layout.code.co_filename);
  config.code_name = OffsetOrZero(layout.code.co_qualname == kAbsent ? layout.code.co_name
                                                                     : layout.code.co_qualname);
  config.ascii_data = OffsetOrZero(layout.unicode.ascii_data);
  config.module_code_name = *NameHash(kModuleCodeName);
  config.instrumented_opcode =
      static_cast<uint8_t>(OffsetOrZero(layout.opcode.instrumented_resume));
  config.head_shift = static_cast<uint16_t>(layout.head_shift);
  config.holds_at_entry = layout.free_threaded ? 1 : 0;
  config.fingerprint = OffsetOrZero(layout.code.fingerprint);
  config.co_opcache_flag = OffsetOrZero(layout.code.co_opcache_flag);
  config.co_firsttraceable = OffsetOrZero(layout.code.co_firsttraceable);
  config.co_code_adaptive = OffsetOrZero(layout.code.co_code_adaptive);
  config.thread_frame = OffsetOrZero(layout.thread.frame);
  config.thread_tracing = OffsetOrZero(layout.thread.tracing);
  config.thread_exception = OffsetOrZero(layout.thread.curexc_type);
  config.frame_lasti = OffsetOrZero(layout.frame.lasti);
  config.frame_code = OffsetOrZero(layout.frame.code);
  return config;
}

void NoteAddresses(const Interpreter& interpreter, sb_control& control) {
  control.code_type_addr = interpreter.code_type.value;
  const int32_t current_thread = interpreter.layout().runtime.current_thread;
  if (current_thread != kAbsent)
    control.current_thread_addr = (interpreter.runtime + current_thread).value;
}

}  // namespace sbump
