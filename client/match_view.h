// The answer of `match` as text, and what it means for the exit status.
#pragma once

#include <string>

#include "client/terminal.h"
#include "client/text_table.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

std::string MatchText(const v1::MatchReply& reply, const Palette& palette,
                      size_t max_width = kUnlimitedWidth);

bool MatchedNothing(const v1::MatchReply& reply);

}  // namespace sbump
