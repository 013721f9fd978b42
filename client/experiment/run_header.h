// What a .sbump file says first: of which format it is, and where, when and how the run was made.
#pragma once

#include <span>
#include <string>

#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

// Now; of the daemon's machine, as it tells it; `command` as it was typed.
v1::RunFileHeader HeaderOf(const v1::GetInfoReply& daemon, std::span<const std::string> command);

// The command as a line for a POSIX shell, words quoted where they must be. Control characters are
// written as Printable() does, so that the line is one line, whatever the file says.
std::string ShellLine(const v1::RunFileHeader& header);

}  // namespace sbump
