#include "daemon/cpython/inline_caches.h"

#include <array>
#include <cstddef>
#include <initializer_list>

#include "daemon/cpython/layout.h"

namespace sbump {
namespace {

struct Range {
  uint8_t first;
  uint8_t last;
};

struct WithCache {
  int units;
  std::initializer_list<Range> opcodes;
};

using Table = std::array<int8_t, 256>;

Table MakeTable(int minor, std::initializer_list<WithCache> with_cache,
                std::initializer_list<uint8_t> stand_ins) {
  Table table{};
  for (const auto& [units, opcodes] : with_cache) {
    for (const auto& [first, last] : opcodes) {
      for (int opcode = first; opcode <= last; ++opcode)
        table[static_cast<size_t>(opcode)] = static_cast<int8_t>(units);
    }
  }
  for (uint8_t opcode : UnusedOpcodes(minor)) table[opcode] = kNoLength;
  for (uint8_t opcode : stand_ins) table[opcode] = kNoLength;
  return table;
}

constexpr uint8_t kCache = 0, kReserved = 17;

// Each version's own opcode module: _inline_cache_entries, and for the specialised forms
// _specializations (3.11, 3.12) or _opcode_metadata._specialized_opmap (3.13 on). A live test
// compares them with all interpreters that are found.
const Table& TableOf(int minor) {
  // 255 is DO_TRACING: in a table of handlers only, never in a code object.
  static const Table k311 = MakeTable(
      11,
      {{1,
        {{3, 8},
         {13, 14},
         {16, 16},
         {60, 60},
         {64, 67},
         {72, 73},
         {76, 81},
         {92, 92},
         {113, 113},
         {121, 122},
         {127, 127},
         {141, 141},
         {143, 143},
         {166, 166},
         {168, 170},
         {177, 180}}},
       {2, {{26, 29}, {107, 107}}},
       {4, {{17, 25}, {39, 43}, {95, 95}, {106, 106}, {153, 154}, {158, 159}, {171, 171}}},
       {5, {{47, 48}, {55, 55}, {116, 116}}},
       {10, {{56, 59}, {62, 63}, {160, 160}}}},
      {kCache, 255});
  static const Table k312 =
      MakeTable(12,
                {{1,
                  {{6, 8},
                   {10, 10},
                   {13, 14},
                   {16, 16},
                   {18, 22},
                   {25, 25},
                   {57, 60},
                   {62, 67},
                   {92, 93},
                   {107, 107},
                   {122, 123},
                   {141, 141},
                   {159, 161},
                   {166, 168},
                   {237, 237},
                   {248, 248}}},
                 {3, {{23, 24}, {28, 29}, {34, 34}, {38, 48}, {56, 56}, {171, 171}, {241, 241}}},
                 {4, {{95, 95}, {111, 113}, {116, 116}, {148, 148}, {153, 153}}},
                 {9, {{70, 70}, {72, 73}, {76, 82}, {106, 106}}}},
                {kCache, kReserved, /*INSTRUMENTED_INSTRUCTION*/ 253, /*INSTRUMENTED_LINE*/ 254});
  static const Table k313 =
      MakeTable(13,
                {{1,
                  {{3, 3},
                   {5, 5},
                   {39, 39},
                   {45, 45},
                   {58, 59},
                   {72, 72},
                   {77, 77},
                   {93, 93},
                   {97, 100},
                   {104, 104},
                   {117, 117},
                   {150, 161},
                   {182, 190},
                   {205, 206},
                   {208, 208},
                   {212, 213},
                   {220, 222},
                   {242, 243},
                   {249, 253}}},
                 {3, {{40, 40}, {53, 53}, {162, 181}, {214, 219}, {244, 244}}},
                 {4, {{91, 91}, {108, 108}, {203, 204}, {209, 211}}},
                 {9, {{82, 82}, {191, 202}}}},
                {kCache, kReserved, /*ENTER_EXECUTOR*/ 70, /*INSTRUMENTED_INSTRUCTION*/ 247,
                 /*INSTRUMENTED_LINE*/ 254});
  static const Table k314 =
      MakeTable(14,
                {{1,
                  {{38, 38},
                   {56, 57},
                   {70, 70},
                   {75, 75},
                   {96, 96},
                   {100, 103},
                   {106, 106},
                   {119, 119},
                   {166, 176},
                   {194, 195},
                   {197, 197},
                   {201, 202},
                   {209, 211},
                   {237, 237},
                   {241, 244},
                   {249, 249},
                   {253, 253}}},
                 {3, {{39, 39}, {52, 52}, {55, 55}, {143, 165}, {203, 208}, {250, 251}}},
                 {4, {{92, 92}, {110, 110}, {192, 193}, {198, 200}}},
                 {5, {{3, 3}, {44, 44}, {129, 142}}},
                 {9, {{80, 80}, {177, 189}}}},
                {kCache, kReserved, /*INSTRUMENTED_INSTRUCTION*/ 238, /*INSTRUMENTED_LINE*/ 254,
                 /*ENTER_EXECUTOR*/ 255});
  static const Table k315 = MakeTable(
      15,
      {{1, {{4, 4},     {36, 36},   {54, 55},   {68, 68},   {70, 70},   {74, 74},   {95, 95},
            {99, 102},  {105, 105}, {118, 118}, {128, 128}, {151, 152}, {169, 182}, {198, 204},
            {208, 209}, {216, 218}, {236, 236}, {240, 244}, {248, 248}, {251, 252}}},
       {3, {{37, 37}, {50, 50}, {53, 53}, {144, 150}, {153, 168}, {210, 215}, {249, 250}}},
       {4, {{91, 91}, {109, 109}, {196, 197}, {205, 207}}},
       {5, {{3, 3}, {42, 42}, {129, 143}}},
       {9, {{79, 79}, {183, 195}}}},
      {kCache, kReserved, /*INSTRUMENTED_INSTRUCTION*/ 237, /*INSTRUMENTED_LINE*/ 253,
       /*ENTER_EXECUTOR*/ 254, /*TRACE_RECORD*/ 255});
  static const Table kNone = [] {
    Table table;
    table.fill(kNoLength);
    return table;
  }();
  switch (minor) {
    case 11:
      return k311;
    case 12:
      return k312;
    case 13:
      return k313;
    case 14:
      return k314;
    case 15:
      return k315;
    default:
      return kNone;
  }
}

}  // namespace

int InlineCacheUnits(int minor, uint8_t opcode) { return TableOf(minor)[opcode]; }

}  // namespace sbump
