#include "daemon/attach/arming.h"

#include <limits>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/resume_units.h"

namespace sbump {
namespace {

using Kind = ArmingDecision::Kind;

constexpr int32_t kOpcacheArmed = std::numeric_limits<int32_t>::min();
constexpr char kAnotherObject[] = "another code object is at its address";

ArmingDecision Blocked(std::string why) { return {.kind = Kind::kBlocked, .why = std::move(why)}; }

ArmingDecision Write(const ArmedField& field) { return {.kind = Kind::kWrite, .fields = {field}}; }

absl::StatusOr<ArmingDecision> DecideOpcacheFlag(const MemoryReader& memory, const Layout& layout,
                                                 const CodeHead& head) {
  const RemoteAddr addr = head.addr + layout.code.co_opcache_flag;
  SB_ASSIGN_OR_RETURN(int32_t flag, memory.ReadValue<int32_t>(addr));
  // Negative: left by a killed daemon; adopted, so that it is undone at the end.
  if (flag >= 0 && flag < kOpcacheLimit) return ArmingDecision{.kind = Kind::kLater};
  if (flag > kOpcacheLimit) return Blocked(StrCat("co_opcache_flag is ", flag));
  return Write({.code = head.addr,
                .field = addr,
                .size = 4,
                .original = kOpcacheLimit,
                .armed = kOpcacheArmed,
                .fingerprint = head.fingerprint});
}

ArmedField UnitField(const CodeHead& head, RemoteAddr unit, int32_t original, int32_t armed) {
  return {.code = head.addr,
          .field = unit,
          .size = 1,
          .original = original,
          .armed = armed,
          .fingerprint = head.fingerprint};
}

// The unit at the start of a function has oparg 0; the others no more need to be looked at.
bool HasOtherOparg(const CodeHead& head, RemoteAddr addr, CodeUnit unit) {
  return addr == head.unit && unit.oparg != 0;
}

absl::StatusOr<ArmingDecision> DecideResumeQuick(const MemoryReader& memory, const Layout& layout,
                                                 const CodeHead& head, RemoteAddr addr) {
  SB_ASSIGN_OR_RETURN(CodeUnit unit, memory.ReadValue<CodeUnit>(addr));
  SB_ASSIGN_OR_RETURN(int16_t warmup, memory.ReadValue<int16_t>(head.addr + layout.code.co_warmup));
  if (HasOtherOparg(head, addr, unit))
    return Blocked(StrCat("its first unit has oparg ", int{unit.oparg}));
  if (unit.opcode == layout.opcode.resume && warmup != 0)
    return ArmingDecision{.kind = Kind::kLater};
  // RESUME in warm code was left by a killed daemon: adopted, so that it is undone at the end.
  if (unit.opcode != layout.opcode.resume_other && unit.opcode != layout.opcode.resume) {
    return Blocked(StrCat("the unit at its entry is opcode ", int{unit.opcode}));
  }
  if (warmup != 0) return Blocked("it is warm and cold at once");
  return Write(UnitField(head, addr, layout.opcode.resume_other, layout.opcode.resume));
}

// Its event is PY_START at the start of the function, and PY_RESUME, the next one, at the others.
absl::StatusOr<bool> ToolWants(const MemoryReader& memory, const Layout& layout,
                               const CodeHead& head, RemoteAddr unit) {
  SB_ASSIGN_OR_RETURN(RemoteAddr monitoring,
                      memory.ReadPointer(head.addr + layout.code.co_monitoring));
  if (!monitoring && layout.free_threaded) {
    // Held where _Py_Instrument() begins: it gives the code object its data before its version,
    // which INSTRUMENTED_RESUME compares first of all.
    SB_ASSIGN_OR_RETURN(uint64_t version, memory.ReadValue<uint64_t>(
                                              head.addr + layout.code.co_instrumentation_version));
    if (version == 0) return false;
  }
  if (!monitoring.Plausible()) return absl::DataLossError("it has no monitoring data yet");
  const int event = unit == head.unit ? 0 : 1;
  SB_ASSIGN_OR_RETURN(uint8_t tools, memory.ReadValue<uint8_t>(
                                         monitoring + layout.monitoring_py_start_tools + event));
  return tools != 0;
}

absl::StatusOr<ArmingDecision> DecideInstrumented(const MemoryReader& memory, const Layout& layout,
                                                  const CodeHead& head, RemoteAddr addr,
                                                  bool introduced) {
  if ((head.flags & kCoNoMonitoringEvents) != 0)
    return Blocked("CPython never instruments it (CO_NO_MONITORING_EVENTS)");
  SB_ASSIGN_OR_RETURN(CodeUnit unit, memory.ReadValue<CodeUnit>(addr));
  const ArmedField field =
      UnitField(head, addr, layout.opcode.resume, layout.opcode.instrumented_resume);
  // Instrumented by a tool of the process, or left by a killed daemon: hits come anyway. Undone
  // only if it is no tool's.
  if (unit.opcode == layout.opcode.instrumented_resume) return Write(field);
  if (!introduced) return ArmingDecision{.kind = Kind::kLater};
  // (-1, where a version has none of a kind, is no opcode.)
  if (unit.opcode != layout.opcode.resume && unit.opcode != layout.opcode.resume_other &&
      unit.opcode != layout.opcode.resume_jit) {
    return Blocked(StrCat("the unit at its entry is opcode ", int{unit.opcode}));
  }
  if (HasOtherOparg(head, addr, unit))
    return Blocked(StrCat("its first unit has oparg ", int{unit.oparg}));
  absl::StatusOr<bool> blocked = ToolWants(memory, layout, head, addr);
  if (!blocked.ok()) return Blocked(std::string(blocked.status().message()));
  // A tool whose callback returned DISABLE took the instrumentation out; putting it back would call
  // the tool again.
  if (*blocked)
    return Blocked("blocked by a sys.monitoring tool of the process that watches its entries");
  return Write(field);
}

absl::StatusOr<ArmingDecision> DecideUnit(const MemoryReader& memory, const Layout& layout,
                                          const CodeHead& head, RemoteAddr addr, bool introduced) {
  return layout.arming == ArmingKind::kResumeQuick
             ? DecideResumeQuick(memory, layout, head, addr)
             : DecideInstrumented(memory, layout, head, addr, introduced);
}

// Adds what else of `head` is to be armed: where it is resumed. Its start is armed in any case.
absl::Status AddResumptions(const MemoryReader& memory, const Layout& layout, const CodeHead& head,
                            bool introduced, ArmingDecision& decision) {
  absl::StatusOr<std::vector<RemoteAddr>> units = ReadResumeUnits(memory, layout, head);
  if (!units.ok()) {
    decision.why = StrCat("counted at its start only: ", ToStd(units.status().message()));
    return absl::OkStatus();
  }
  for (RemoteAddr addr : *units) {
    if (addr == head.unit) continue;
    SB_ASSIGN_OR_RETURN(ArmingDecision one, DecideUnit(memory, layout, head, addr, introduced));
    if (one.kind == Kind::kWrite)
      decision.fields.push_back(one.fields.front());
    else
      decision.why = one.why;
  }
  return absl::OkStatus();
}

// True when restoring the field cannot mean anything else than it did.
absl::StatusOr<bool> SafeToRestore(const MemoryReader& memory, const Interpreter& interpreter,
                                   const CodeHead& head, RemoteAddr field) {
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
      SB_ASSIGN_OR_RETURN(bool tool, ToolWants(memory, layout, head, field));
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

absl::StatusOr<bool> IsFieldOf(const MemoryReader& memory, const Layout& layout,
                               const CodeHead& head, RemoteAddr field) {
  if (layout.arming == ArmingKind::kOpcacheFlag)
    return field == head.addr + layout.code.co_opcache_flag;
  return MayBeResumeUnit(memory, layout, head, field);
}

}  // namespace

absl::StatusOr<ArmingDecision> DecideArming(const MemoryReader& memory,
                                            const Interpreter& interpreter, const CodeHead& head,
                                            Entries entries, bool introduced) {
  const Layout& layout = interpreter.layout();
  // One flag stands for all entries of a frame.
  if (layout.arming == ArmingKind::kOpcacheFlag) return DecideOpcacheFlag(memory, layout, head);
  SB_ASSIGN_OR_RETURN(ArmingDecision decision,
                      DecideUnit(memory, layout, head, head.unit, introduced));
  const bool is_resumed = entries == Entries::kAll && (head.flags & kCoResumable) != 0;
  if (is_resumed && decision.kind == Kind::kWrite)
    SB_RETURN_IF_ERROR(AddResumptions(memory, layout, head, introduced, decision));
  return decision;
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
  if (head->fingerprint != armed.fingerprint) return leave(kAnotherObject);
  absl::StatusOr<bool> is_field = IsFieldOf(memory, interpreter.layout(), *head, armed.field);
  if (!is_field.ok() && !IsGone(is_field.status())) return unknown(is_field.status());
  if (!is_field.ok() || !*is_field) return leave(kAnotherObject);
  absl::StatusOr<int32_t> value = ReadField(memory, armed);
  if (!value.ok()) return unknown(value.status());
  if (!IsArmed(armed, *value)) return leave("changed back already");
  absl::StatusOr<bool> safe = SafeToRestore(memory, interpreter, *head, armed.field);
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
