// ParseProcStat(), declared in target_process.h.
#include <charconv>

#include "absl/strings/str_cat.h"
#include "daemon/process/target_process.h"

namespace sbump {
namespace {

// proc(5) counts from 1; the state, field 3, is the first after the command name.
constexpr int kStateField = 3;
constexpr int kParentField = 4;
constexpr int kFlagsField = 9;
constexpr int kStartTimeField = 22;

absl::Status Malformed(int field) {
  return absl::DataLossError(absl::StrCat("/proc/PID/stat: no usable field ", field));
}

absl::StatusOr<uint64_t> ParseNumber(std::string_view text, int field) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return Malformed(field);
  return value;
}

}  // namespace

absl::StatusOr<ProcStat> ParseProcStat(std::string_view text) {
  const size_t name_end = text.rfind(')');  // the name may hold ')', nothing after it does
  if (name_end == std::string_view::npos) return Malformed(kStateField);
  text.remove_prefix(name_end + 1);
  ProcStat stat;
  for (int field = kStateField; field <= kStartTimeField; ++field) {
    if (text.empty() || text.front() != ' ') return Malformed(field);
    text.remove_prefix(1);
    const std::string_view value = text.substr(0, text.find_first_of(" \n"));
    if (value.empty()) return Malformed(field);
    if (field == kStateField) stat.state = value.front();
    if (field == kParentField) {
      SB_ASSIGN_OR_RETURN(const uint64_t parent, ParseNumber(value, field));
      stat.parent_pid = static_cast<pid_t>(parent);
    }
    if (field == kFlagsField) {
      SB_ASSIGN_OR_RETURN(stat.flags, ParseNumber(value, field));
    }
    if (field == kStartTimeField) {
      SB_ASSIGN_OR_RETURN(stat.start_ticks, ParseNumber(value, field));
    }
    text.remove_prefix(value.size());
  }
  return stat;
}

}  // namespace sbump
