// What a machine's processors were wanted for, and what its hypervisor did not give of that: a
// program that is to run waits then, for milliseconds, and no clock in it says why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbump {

// Of all processors, in steps of 10 ms (USER_HZ).
struct ProcessorTime {
  uint64_t wanted_ns = 0;  // all but idle and iowait
  uint64_t stolen_ns = 0;  // of that: proc(5) and top(1) call it steal time
};

// Since the start, by the line of /proc/stat that begins with "cpu ". Zeros where that is not what
// it says.
ProcessorTime ParseProcessorTime(std::string_view stat);
ProcessorTime ReadProcessorTime(const std::string& path = "/proc/stat");

// Zeros where one of them is not told. Counters may go back by a step.
ProcessorTime Between(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace sbump
