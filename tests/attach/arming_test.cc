#include "daemon/attach/arming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using Kind = ArmingDecision::Kind;

constexpr int32_t kArmedFlag = std::numeric_limits<int32_t>::min();

class ArmingTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};
  FakeMemory& memory = python.memory();

  Entries entries = Entries::kStart;

  ArmingDecision Decide(RemoteAddr code, bool introduced = false) {
    const auto decision =
        DecideArming(memory, python.interpreter(), python.Head(code), entries, introduced);
    EXPECT_TRUE(decision.ok()) << decision.status();
    return decision.value_or(ArmingDecision{});
  }
  DisarmingDecision Undo(const ArmedField& armed) {
    return DecideDisarming(memory, python.interpreter(), armed);
  }
  void ExpectBlocked(RemoteAddr code, bool introduced, const std::string& why) {
    const ArmingDecision decision = Decide(code, introduced);
    EXPECT_EQ(decision.kind, Kind::kBlocked);
    EXPECT_THAT(decision.why, HasSubstr(why));
  }
  static ArmedField Only(const ArmingDecision& decision) {
    EXPECT_EQ(decision.fields.size(), 1u);
    return decision.fields.empty() ? ArmedField{} : decision.fields.front();
  }
  // Decides, writes as the session does, and returns what was written.
  ArmedField Arm(RemoteAddr code) {
    const ArmingDecision decision = Decide(code, /*introduced=*/true);
    EXPECT_EQ(decision.kind, Kind::kWrite) << decision.why;
    const ArmedField field = Only(decision);
    EXPECT_TRUE(WriteField(memory, field, field.armed).ok());
    return field;
  }
};

// ---- 3.8 to 3.10: co_opcache_flag ----

class OpcacheFlagTest : public ArmingTest {
 protected:
  RemoteAddr CodeWithFlag(int32_t flag) {
    const RemoteAddr code = python.NewCode({});
    SetFlag(code, flag);
    return code;
  }
  void SetFlag(RemoteAddr code, int32_t flag) {
    memory.Put(code + python.layout().code.co_opcache_flag, flag);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, OpcacheFlagTest, testing::Values(8, 9, 10));

TEST_P(OpcacheFlagTest, ColdCodeComesByItself) {
  for (const int32_t flag : {0, 1, kOpcacheLimit - 1})
    EXPECT_EQ(Decide(CodeWithFlag(flag)).kind, Kind::kLater) << flag;
}

TEST_P(OpcacheFlagTest, HotCodeIsArmed) {
  const RemoteAddr code = CodeWithFlag(kOpcacheLimit);
  const ArmingDecision decision = Decide(code);
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision), (ArmedField{.code = code,
                                        .field = code + python.layout().code.co_opcache_flag,
                                        .size = 4,
                                        .original = kOpcacheLimit,
                                        .armed = kArmedFlag,
                                        .fingerprint = python.Head(code).fingerprint}));
}

TEST_P(OpcacheFlagTest, ArmedCodeOfAKilledDaemonIsAdopted) {
  const ArmingDecision decision = Decide(CodeWithFlag(kArmedFlag + 4711));
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision).original, kOpcacheLimit) << "not the negative value that was found";
}

TEST_P(OpcacheFlagTest, AFlagThatCPythonNeverWrites) {
  ExpectBlocked(CodeWithFlag(kOpcacheLimit + 1), false, "co_opcache_flag is 1025");
}

TEST_P(OpcacheFlagTest, FourBytesAreWrittenAndNoMore) {
  Arm(CodeWithFlag(kOpcacheLimit));
  ASSERT_EQ(memory.writes().size(), 1u);
  EXPECT_EQ(memory.writes()[0].bytes.size(), 4u);
}

TEST_P(OpcacheFlagTest, CallsCountUpFromTheArmedValueAndItIsStillArmed) {
  const RemoteAddr code = CodeWithFlag(kOpcacheLimit);
  const ArmedField armed = Arm(code);
  SetFlag(code, kArmedFlag + 1'000'000'000);
  EXPECT_TRUE(Undo(armed).write);
  SetFlag(code, kOpcacheLimit);
  EXPECT_FALSE(Undo(armed).write);
  EXPECT_EQ(Undo(armed).why_not, "changed back already");
}

// ---- 3.11: RESUME_QUICK ----

class ResumeQuickTest : public ArmingTest {
 protected:
  static constexpr uint8_t kResume = 151, kQuick = 150;
  RemoteAddr NewCode(uint8_t opcode, int16_t warmup, uint8_t oparg = 0) {
    const RemoteAddr code = python.NewCode({.opcode = opcode, .oparg = oparg});
    SetWarmup(code, warmup);
    return code;
  }
  void SetWarmup(RemoteAddr code, int16_t warmup) {
    memory.Put(code + python.layout().code.co_warmup, warmup);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ResumeQuickTest, testing::Values(11));

TEST_P(ResumeQuickTest, QuickenedCodeIsArmed) {
  const RemoteAddr code = NewCode(kQuick, 0);
  const ArmingDecision decision = Decide(code);
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision), (ArmedField{.code = code,
                                        .field = python.Head(code).unit,
                                        .size = 1,
                                        .original = kQuick,
                                        .armed = kResume,
                                        .fingerprint = python.Head(code).fingerprint}));
}

TEST_P(ResumeQuickTest, ColdCodeComesByItself) {
  EXPECT_EQ(Decide(NewCode(kResume, -8)).kind, Kind::kLater);
  EXPECT_EQ(Decide(NewCode(kResume, -1)).kind, Kind::kLater);
}

TEST_P(ResumeQuickTest, ArmedCodeOfAKilledDaemonIsAdopted) {
  const ArmingDecision decision = Decide(NewCode(kResume, 0));
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision).original, kQuick);
}

TEST_P(ResumeQuickTest, AnythingElseIsBlocked) {
  ExpectBlocked(NewCode(kQuick, -3), false, "warm and cold");
  ExpectBlocked(NewCode(kQuick, 0, /*oparg=*/1), false, "oparg 1");
  ExpectBlocked(NewCode(kResume, 0, /*oparg=*/3), false, "oparg 3");
  ExpectBlocked(NewCode(100, 0), false, "opcode 100");
}

TEST_P(ResumeQuickTest, OneByteIsWrittenAndNoMore) {
  const RemoteAddr code = NewCode(kQuick, 0);
  Arm(code);
  ASSERT_EQ(memory.writes().size(), 1u);
  EXPECT_EQ(memory.writes()[0].addr, python.Head(code).unit);
  EXPECT_EQ(memory.writes()[0].bytes, std::vector<std::byte>{std::byte{kResume}});
}

TEST_P(ResumeQuickTest, CodeThatBecameColdAgainIsLeftAlone) {
  const RemoteAddr code = NewCode(kQuick, 0);
  const ArmedField armed = Arm(code);
  EXPECT_TRUE(Undo(armed).write);
  SetWarmup(code, -8);
  EXPECT_FALSE(Undo(armed).write);
}

// ---- 3.12 on: INSTRUMENTED_RESUME ----

class InstrumentedResumeTest : public ArmingTest {
 protected:
  const uint8_t resume = static_cast<uint8_t>(python.layout().opcode.resume);
  const uint8_t instrumented = static_cast<uint8_t>(python.layout().opcode.instrumented_resume);

  // With the monitoring data that _Py_Instrument() gives each code object.
  RemoteAddr NewCode(uint8_t opcode, uint8_t oparg = 0, uint32_t flags = kCoOptimized) {
    const RemoteAddr code = python.NewCode({.flags = flags, .opcode = opcode, .oparg = oparg});
    memory.Put(code + python.layout().code.co_monitoring, python.Allocate(64));
    return code;
  }
  void SetTools(RemoteAddr code, uint8_t tools) {
    const RemoteAddr data = *memory.ReadPointer(code + python.layout().code.co_monitoring);
    memory.Put(data + python.layout().monitoring_py_start_tools, tools);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, InstrumentedResumeTest, testing::Values(12, 13, 14, 15));

class ResumeCheckTest : public InstrumentedResumeTest {};
INSTANTIATE_TEST_SUITE_P(Versions, ResumeCheckTest, testing::Values(13, 14, 15));

TEST_P(InstrumentedResumeTest, OnlyIntroducedCodeIsArmed) {
  const RemoteAddr code = NewCode(resume);
  EXPECT_EQ(Decide(code, /*introduced=*/false).kind, Kind::kLater);
  const ArmingDecision decision = Decide(code, /*introduced=*/true);
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision), (ArmedField{.code = code,
                                        .field = python.Head(code).unit,
                                        .size = 1,
                                        .original = resume,
                                        .armed = instrumented,
                                        .fingerprint = python.Head(code).fingerprint}));
}

TEST_P(ResumeCheckTest, SpecialisedCodeGoesBackToThePlainForm) {
  const auto check = static_cast<uint8_t>(python.layout().opcode.resume_other);
  const ArmingDecision decision = Decide(NewCode(check), true);
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision).original, resume);
}

TEST_P(InstrumentedResumeTest, InstrumentedCodeIsAdopted) {
  const ArmingDecision decision = Decide(NewCode(instrumented), true);
  EXPECT_EQ(decision.kind, Kind::kWrite);
  EXPECT_EQ(Only(decision).original, resume);
  EXPECT_EQ(Only(decision).armed, instrumented);
}

TEST_P(InstrumentedResumeTest, AToolThatWatchesStartsBlocks) {
  const RemoteAddr code = NewCode(resume);
  SetTools(code, 1 << 2);
  ExpectBlocked(code, true, "sys.monitoring tool");
}

TEST_P(InstrumentedResumeTest, CodeThatCPythonNeverInstruments) {
  const RemoteAddr code = NewCode(resume, 0, kCoOptimized | kCoNoMonitoringEvents);
  ExpectBlocked(code, true, "CO_NO_MONITORING_EVENTS");
  ExpectBlocked(code, false, "CO_NO_MONITORING_EVENTS");
}

TEST_P(InstrumentedResumeTest, AnythingElseIsBlocked) {
  ExpectBlocked(NewCode(resume, /*oparg=*/1), true, "oparg 1");
  ExpectBlocked(NewCode(100), true, "opcode 100");
  ExpectBlocked(python.NewCode({}), true, "no monitoring data");
}

TEST_P(InstrumentedResumeTest, AToolsInstrumentationIsTheTools) {
  const RemoteAddr code = NewCode(resume);
  const ArmedField armed = Arm(code);
  EXPECT_TRUE(Undo(armed).write);
  SetTools(code, 1);
  EXPECT_FALSE(Undo(armed).write);
  EXPECT_THAT(Undo(armed).why_not, HasSubstr("tool"));
}

TEST_P(InstrumentedResumeTest, InstrumentationThatAToolTookOutIsNotOurs) {
  const RemoteAddr code = NewCode(resume);
  const ArmedField armed = Arm(code);
  memory.Put(python.Head(code).unit, resume);
  EXPECT_FALSE(Undo(armed).write);
}

// ---- 3.11 on: where a frame is resumed ----

class ResumptionsTest : public ArmingTest {
 protected:
  const bool quick = python.layout().arming == ArmingKind::kResumeQuick;
  const uint8_t resume = static_cast<uint8_t>(python.layout().opcode.resume);
  // As it stands in warm code, and armed.
  const uint8_t plain = quick ? uint8_t{150} : resume;
  const uint8_t mark =
      quick ? resume : static_cast<uint8_t>(python.layout().opcode.instrumented_resume);
  RemoteAddr code;
  CodeHead head;
  RemoteAddr resumption;

  void SetUp() override {
    entries = Entries::kAll;
    code = python.NewCode({.flags = kCoOptimized | kCoResumable, .opcode = plain});
    const auto& at = python.layout().code;
    if (at.co_monitoring != kAbsent) memory.Put(code + at.co_monitoring, python.Allocate(64));
    head = python.Head(code);
    // RESUME with its cache, if it has one; YIELD_VALUE; RESUME with its cache.
    const int64_t length = python.layout().minor >= 15 ? 4 : 2;
    resumption = head.unit + length + 2;
    Put(head.unit + length, static_cast<uint8_t>(python.layout().opcode.yield_value), 1);
    Put(resumption, plain, 1);
    memory.Put(code + kVarSize,
               (static_cast<int64_t>(resumption.value - head.unit.value) + length) / 2);
  }
  void Put(RemoteAddr addr, uint8_t opcode, uint8_t oparg) {
    memory.Put(addr, opcode);
    memory.Put(addr + 1, oparg);
  }
  void SetResumeTools(uint8_t tools) {
    const RemoteAddr data = *memory.ReadPointer(code + python.layout().code.co_monitoring);
    memory.Put(data + python.layout().monitoring_py_start_tools + 1, tools);
  }
  std::vector<RemoteAddr> Armed() {
    std::vector<RemoteAddr> addrs;
    for (const ArmedField& field : Decide(code, true).fields) addrs.push_back(field.field);
    return addrs;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, ResumptionsTest, testing::Values(11, 12, 13, 14, 15));

TEST_P(ResumptionsTest, AreArmedBesideTheStart) {
  const ArmingDecision decision = Decide(code, true);
  EXPECT_EQ(decision.why, "");
  ASSERT_EQ(decision.fields.size(), 2u);
  EXPECT_EQ(decision.fields[0].field, head.unit);
  EXPECT_EQ(decision.fields[1], (ArmedField{.code = code,
                                            .field = resumption,
                                            .size = 1,
                                            .original = plain,
                                            .armed = mark,
                                            .fingerprint = head.fingerprint}));
}

TEST_P(ResumptionsTest, OnlyWhereTheyAreWanted) {
  entries = Entries::kStart;
  EXPECT_EQ(Armed(), std::vector{head.unit});
}

TEST_P(ResumptionsTest, CodeThatCannotBeFollowedIsArmedAtItsStart) {
  Put(resumption + -2, UnusedOpcodes(python.layout().minor)[0], 0);
  const ArmingDecision decision = Decide(code, true);
  EXPECT_EQ(Only(decision).field, head.unit);
  EXPECT_THAT(decision.why, HasSubstr("counted at its start only"));
}

TEST_P(ResumptionsTest, GoBack) {
  const ArmedField field = Decide(code, true).fields.at(1);
  ASSERT_TRUE(WriteField(memory, field, field.armed).ok());
  EXPECT_TRUE(Undo(field).write) << Undo(field).why_not;
  ASSERT_TRUE(WriteField(memory, field, field.original).ok());
  EXPECT_EQ(Undo(field).why_not, "changed back already");
}

TEST_P(ResumptionsTest, AnotherUnitIsLeftAlone) {
  ArmedField field = Decide(code, true).fields.at(1);
  Put(resumption, mark, 1);
  Put(resumption + -2, 100, 0);  // no yield before it
  EXPECT_EQ(Undo(field).why_not, "another code object is at its address");
  field.field = resumption + 1024;
  EXPECT_EQ(Undo(field).why_not, "another code object is at its address");
}

TEST_P(ResumptionsTest, AToolThatWatchesResumptionsHasThemToItself) {
  if (quick) return;  // no tools on 3.11
  const ArmedField field = Decide(code, true).fields.at(1);
  SetResumeTools(1);
  const ArmingDecision decision = Decide(code, true);
  EXPECT_EQ(Only(decision).field, head.unit);
  EXPECT_THAT(decision.why, HasSubstr("sys.monitoring tool"));
  Put(resumption, mark, 1);
  EXPECT_THAT(Undo(field).why_not, HasSubstr("tool"));
}

// ---- Every version: what is no longer there is left alone ----

class DisarmingTest : public ArmingTest {
 protected:
  // Code that can be armed, and is.
  RemoteAddr code;
  ArmedField armed;

  void SetUp() override {
    const auto& at = python.layout().code;
    const bool quick = python.layout().arming == ArmingKind::kResumeQuick;
    code = python.NewCode(
        {.first_line = 40, .first_traceable = 2, .opcode = quick ? uint8_t{150} : uint8_t{0}});
    if (at.co_opcache_flag != kAbsent) memory.Put(code + at.co_opcache_flag, kOpcacheLimit);
    if (at.co_monitoring != kAbsent) memory.Put(code + at.co_monitoring, python.Allocate(64));
    armed = Arm(code);
  }
  void ExpectLeftAlone(const std::string& why) {
    const DisarmingDecision decision = Undo(armed);
    EXPECT_FALSE(decision.write);
    EXPECT_EQ(decision.why_not, why);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, DisarmingTest, testing::ValuesIn(kFakeMinors));

TEST_P(DisarmingTest, WhatWasArmedGoesBack) {
  const DisarmingDecision decision = Undo(armed);
  EXPECT_TRUE(decision.write) << decision.why_not;
  EXPECT_EQ(decision.field, armed);
  ASSERT_TRUE(WriteField(memory, armed, armed.original).ok());
  EXPECT_EQ(*ReadField(memory, armed), armed.original);
  ExpectLeftAlone("changed back already");
}

TEST_P(DisarmingTest, MemoryThatIsGone) {
  armed.code = RemoteAddr{0x7000'0000'0000};
  ExpectLeftAlone("the code object is gone");
}

TEST_P(DisarmingTest, AnotherObjectAtTheAddress) {
  memory.Put(code + kObType, python.interpreter().tuple_type);
  ExpectLeftAlone("the code object is gone");
}

TEST_P(DisarmingTest, AnotherCodeObjectAtTheAddress) {
  memory.Put(code + python.layout().code.co_firstlineno, uint32_t{41});
  ExpectLeftAlone("another code object is at its address");
}

TEST_P(DisarmingTest, AFieldThatIsNotWhereThisCodeHasIt) {
  armed.field = armed.field + 2;
  ExpectLeftAlone("another code object is at its address");
}

TEST_P(DisarmingTest, NothingIsWrittenByADecision) {
  const size_t before = memory.writes().size();
  Undo(armed);
  Decide(code, true);
  EXPECT_EQ(memory.writes().size(), before);
}

}  // namespace
}  // namespace sbump
