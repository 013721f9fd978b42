#include <array>
#include <cstddef>

#include "daemon/cpython/layout.h"

namespace sbump {
namespace {

struct Range {
  uint8_t first;
  uint8_t last;
};

template <size_t kCount, size_t kRanges>
constexpr std::array<uint8_t, kCount> Expand(const Range (&ranges)[kRanges]) {
  std::array<uint8_t, kCount> opcodes{};
  size_t next = 0;
  for (const Range& range : ranges) {
    for (int opcode = range.first; opcode <= range.last; ++opcode) {
      opcodes.at(next++) = static_cast<uint8_t>(opcode);
    }
  }
  // Too few or too many does not compile: a constant expression must not throw.
  if (next != kCount) throw next;
  return opcodes;
}

// Include/opcode.h, v3.11.7: used are CACHE 0 to 180 (the specialised ones included) and DO_TRACING
// 255.
constexpr auto kUnused311 = Expand<74>({{181, 254}});

// Include/opcode.h, v3.12.1: 169 and 170 lie between the specialised forms; from
// INSTRUMENTED_LOAD_SUPER_ATTR 237 to INSTRUMENTED_LINE 254 all are used; pseudo-opcodes begin at
// 256.
constexpr auto kUnused312 = Expand<63>({{169, 170}, {177, 236}, {255, 255}});

// Include/opcode_ids.h, v3.13.0: CACHE 0 to 118, RESUME 149 and the specialised forms up to 222,
// INSTRUMENTED_RESUME 236 to INSTRUMENTED_LINE 254; pseudo-opcodes begin at 256.
constexpr auto kUnused313 = Expand<44>({{119, 148}, {223, 235}, {255, 255}});

// Include/opcode_ids.h, v3.14.10: RESUME 128, the specialised forms 129 to 211, from
// INSTRUMENTED_END_FOR 234 to ENTER_EXECUTOR 255.
constexpr auto kUnused314 = Expand<29>({{121, 127}, {212, 233}});

// Include/opcode_ids.h, v3.15.2: TRACE_RECORD is 255.
constexpr auto kUnused315 = Expand<22>({{120, 127}, {219, 232}});

}  // namespace

std::span<const uint8_t> UnusedOpcodes(int minor) {
  switch (minor) {
    case 11:
      return kUnused311;
    case 12:
      return kUnused312;
    case 13:
      return kUnused313;
    case 14:
      return kUnused314;
    case 15:
      return kUnused315;
    default:
      return {};
  }
}

}  // namespace sbump
