#include "daemon/attach/arming.h"

#include <limits>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Kind = ArmingDecision::Kind;

constexpr int32_t kOpcacheArmed = std::numeric_limits<int32_t>::min();

ArmingDecision Blocked(std::string why) {
  return {.kind = Kind::kBlocked, .field = {}, .why = std::move(why)};
}

absl::StatusOr<ArmingDecision> DecideOpcacheFlag(const MemoryReader& memory, const Layout& layout,
                                                 const CodeHead& head) {
  const RemoteAddr addr = head.addr + layout.code.co_opcache_flag;
  SB_ASSIGN_OR_RETURN(int32_t flag, memory.ReadValue<int32_t>(addr));
  // Negative: left by a killed daemon; adopted, so that it is undone at the end.
  if (flag >= 0 && flag < kOpcacheLimit) return ArmingDecision{.kind = Kind::kLater};
  if (flag > kOpcacheLimit) return Blocked(StrCat("co_opcache_flag is ", flag));
  return ArmingDecision{.kind = Kind::kWrite,
                        .field = {.code = head.addr,
                                  .field = addr,
                                  .size = 4,
                                  .original = kOpcacheLimit,
                                  .armed = kOpcacheArmed,
                                  .fingerprint = head.fingerprint}};
}

struct CodeUnit {
  uint8_t opcode;
  uint8_t oparg;
};

ArmedField UnitField(const CodeHead& head, int32_t original, int32_t armed) {
  return {.code = head.addr,
          .field = head.unit,
          .size = 1,
          .original = original,
          .armed = armed,
          .fingerprint = head.fingerprint};
}

absl::StatusOr<ArmingDecision> DecideResumeQuick(const MemoryReader& memory, const Layout& layout,
                                                 const CodeHead& head) {
  SB_ASSIGN_OR_RETURN(CodeUnit unit, memory.ReadValue<CodeUnit>(head.unit));
  SB_ASSIGN_OR_RETURN(int16_t warmup, memory.ReadValue<int16_t>(head.addr + layout.code.co_warmup));
  if (unit.oparg != 0) return Blocked(StrCat("its first unit has oparg ", int{unit.oparg}));
  if (unit.opcode == layout.opcode.resume && warmup != 0)
    return ArmingDecision{.kind = Kind::kLater};
  // RESUME in warm code was left by a killed daemon: adopted, so that it is undone at the end.
  if (unit.opcode != layout.opcode.resume_other && unit.opcode != layout.opcode.resume) {
    return Blocked(StrCat("its first unit is opcode ", int{unit.opcode}));
  }
  if (warmup != 0) return Blocked("it is warm and cold at once");
  return ArmingDecision{.kind = Kind::kWrite,
                        .field = UnitField(head, layout.opcode.resume_other, layout.opcode.resume)};
}

absl::StatusOr<bool> ToolWantsStart(const MemoryReader& memory, const Layout& layout,
                                    const CodeHead& head) {
  SB_ASSIGN_OR_RETURN(RemoteAddr monitoring,
                      memory.ReadPointer(head.addr + layout.code.co_monitoring));
  if (!monitoring.Plausible()) return absl::DataLossError("it has no monitoring data yet");
  SB_ASSIGN_OR_RETURN(uint8_t tools,
                      memory.ReadValue<uint8_t>(monitoring + layout.monitoring_py_start_tools));
  return tools != 0;
}

absl::StatusOr<ArmingDecision> DecideInstrumented(const MemoryReader& memory, const Layout& layout,
                                                  const CodeHead& head, bool introduced) {
  if ((head.flags & kCoNoMonitoringEvents) != 0)
    return Blocked("CPython never instruments it (CO_NO_MONITORING_EVENTS)");
  SB_ASSIGN_OR_RETURN(CodeUnit unit, memory.ReadValue<CodeUnit>(head.unit));
  const ArmedField field = UnitField(head, layout.opcode.resume, layout.opcode.instrumented_resume);
  // Instrumented by a tool of the process, or left by a killed daemon: hits come anyway. Undone
  // only if it is no tool's.
  if (unit.opcode == layout.opcode.instrumented_resume)
    return ArmingDecision{.kind = Kind::kWrite, .field = field};
  if (!introduced) return ArmingDecision{.kind = Kind::kLater};
  if (unit.opcode != layout.opcode.resume && unit.opcode != layout.opcode.resume_other) {
    return Blocked(StrCat("its first unit is opcode ", int{unit.opcode}));
  }
  if (unit.oparg != 0) return Blocked(StrCat("its first unit has oparg ", int{unit.oparg}));
  absl::StatusOr<bool> blocked = ToolWantsStart(memory, layout, head);
  if (!blocked.ok()) return Blocked(std::string(blocked.status().message()));
  // A tool whose callback returned DISABLE took the instrumentation out; putting it back would call
  // the tool again.
  if (*blocked)
    return Blocked("blocked by a sys.monitoring tool of the process that watches PY_START");
  return ArmingDecision{.kind = Kind::kWrite, .field = field};
}

// True when restoring the field cannot mean anything else than it did.
absl::StatusOr<bool> SafeToRestore(const MemoryReader& memory, const Interpreter& interpreter,
                                   const CodeHead& head) {
  const Layout& layout = interpreter.layout();
  switch (layout.arming) {
    case ArmingKind::kOpcacheFlag:
      return true;
    case ArmingKind::kResumeQuick: {
      SB_ASSIGN_OR_RETURN(int16_t warmup,
                          memory.ReadValue<int16_t>(head.addr + layout.code.co_warmup));
      return warmup == 0;
    }
    case ArmingKind::kInstrumentedResume: {
      SB_ASSIGN_OR_RETURN(bool tool, ToolWantsStart(memory, layout, head));
      return !tool;  // else the instrumentation is the tool's, and goes with it
    }
  }
  return false;
}

// co_opcache_flag counts up from INT_MIN with every call: any negative value is ours.
bool IsArmed(const ArmedField& armed, int32_t value) {
  return armed.size == 4 ? value < 0 : value == armed.armed;
}

// Its memory is unmapped or holds no code object, or the process runs no more.
bool IsGone(const absl::Status& status) {
  return status.code() == absl::StatusCode::kDataLoss ||
         status.code() == absl::StatusCode::kNotFound;
}

RemoteAddr ExpectedField(const Interpreter& interpreter, const CodeHead& head) {
  const Layout& layout = interpreter.layout();
  return layout.arming == ArmingKind::kOpcacheFlag ? head.addr + layout.code.co_opcache_flag
                                                   : head.unit;
}

}  // namespace

absl::StatusOr<ArmingDecision> DecideArming(const MemoryReader& memory,
                                            const Interpreter& interpreter, const CodeHead& head,
                                            bool introduced) {
  const Layout& layout = interpreter.layout();
  switch (layout.arming) {
    case ArmingKind::kOpcacheFlag:
      return DecideOpcacheFlag(memory, layout, head);
    case ArmingKind::kResumeQuick:
      return DecideResumeQuick(memory, layout, head);
    case ArmingKind::kInstrumentedResume:
      return DecideInstrumented(memory, layout, head, introduced);
  }
  return absl::InternalError("an unknown way of arming");
}

DisarmingDecision DecideDisarming(const MemoryReader& memory, const Interpreter& interpreter,
                                  const ArmedField& armed) {
  const auto leave = [](std::string why) { return DisarmingDecision{.why_not = std::move(why)}; };
  const auto unknown = [](const absl::Status& status) {
    return DisarmingDecision{.unknown = true, .why_not = std::string(status.message())};
  };
  absl::StatusOr<CodeHead> head =
      ReadCodeHead(memory, interpreter.layout(), interpreter.code_type, armed.code);
  if (!head.ok()) {
    return IsGone(head.status()) ? leave("the code object is gone") : unknown(head.status());
  }
  if (head->fingerprint != armed.fingerprint || ExpectedField(interpreter, *head) != armed.field) {
    return leave("another code object is at its address");
  }
  absl::StatusOr<int32_t> value = ReadField(memory, armed);
  if (!value.ok()) return unknown(value.status());
  if (!IsArmed(armed, *value)) return leave("changed back already");
  absl::StatusOr<bool> safe = SafeToRestore(memory, interpreter, *head);
  if (!safe.ok()) return unknown(safe.status());
  if (!*safe) return leave("instrumented by a tool of the process");
  return DisarmingDecision{.write = true, .field = armed};
}

absl::StatusOr<int32_t> ReadField(const MemoryReader& memory, const ArmedField& field) {
  if (field.size == 4) return memory.ReadValue<int32_t>(field.field);
  SB_ASSIGN_OR_RETURN(uint8_t byte, memory.ReadValue<uint8_t>(field.field));
  return int32_t{byte};
}

absl::Status WriteField(MemoryWriter& memory, const ArmedField& field, int32_t value) {
  if (field.size == 4) return memory.WriteValue(field.field, value);
  return memory.WriteValue(field.field, static_cast<uint8_t>(value));
}

}  // namespace sbump
