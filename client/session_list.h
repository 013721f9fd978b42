// Sessions, detach answers and findings as text.
#pragma once

#include <string>
#include <vector>

#include "client/terminal.h"
#include "client/text_table.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

std::string SessionListText(const v1::ListSessionsReply& reply, const Palette& palette,
                            size_t max_width = kUnlimitedWidth);

// What one of several daemons answered.
struct HostSessions {
  std::string host;
  v1::ListSessionsReply reply;
};
// One table, with a column for the host.
std::string SessionListText(const std::vector<HostSessions>& hosts, const Palette& palette,
                            size_t max_width = kUnlimitedWidth);

std::string DetachText(const v1::DetachReply& reply, const Palette& palette);
bool AllProofsClean(const v1::DetachReply& reply);

}  // namespace sbump
