// The answer of `modules` as a tree.
#pragma once

#include <string>

#include "client/terminal.h"
#include "client/text_table.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// MODULE TYPE PARAMETERS SETTINGS, children below their parents, then what is to be said of it all.
std::string ModulesText(const v1::ListModulesReply& reply, const Palette& palette,
                        size_t max_width = kUnlimitedWidth);

}  // namespace sbump
