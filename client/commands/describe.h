// The flags that were declared, read back as data (command_doc.h).
#pragma once

#include "CLI/CLI.hpp"
#include "client/command_doc.h"

namespace sbump {

CommandDoc Describe(const CLI::App& app);

}  // namespace sbump
