// What doctor found, as text and as an exit status.
#pragma once

#include <string>
#include <vector>

#include "client/exit_code.h"
#include "client/terminal.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

std::string FindingsText(const v1::InspectReply& reply, const Palette& palette);

// What one of several daemons answered.
struct HostFindings {
  std::string host;
  v1::InspectReply reply;
};
// One table with a column for the host, then a line for each of them.
std::string FindingsText(const std::vector<HostFindings>& hosts, const Palette& palette);

// kOk where an attach is expected to work; else by what the first problem is about: rights, the
// interpreter, or the kernel and the process's state.
ExitCode FindingsExitCode(const v1::InspectReply& reply);

}  // namespace sbump
