// What a machine's processors were wanted for, and what its hypervisor gave to other machines of
// that: a program that is to run waits then, for milliseconds, and no clock in it says why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbump {

// Of all processors since the start, in ticks of 10 ms (USER_HZ). Both 0: not told.
struct ProcessorTime {
  uint64_t wanted = 0;  // all but idle and iowait
  uint64_t stolen = 0;  // of that
};

// proc(5), /proc/stat: the line that begins with "cpu ". Nothing where that is not what it says.
ProcessorTime ParseProcessorTime(std::string_view stat);
ProcessorTime ReadProcessorTime(const std::string& path = "/proc/stat");

// 0 to 1; 0 where nothing was wanted, or one of them is not told.
double StolenShare(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace sbump
