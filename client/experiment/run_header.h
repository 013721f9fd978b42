// What a .sbump file says first: of which format it is, and where, when and how the run was made.
#pragma once

#include <span>
#include <string>

#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

// Of this machine, now; `command` as it was typed. What the machine does not tell stays empty.
v1::RunFileHeader HeaderOfThisMachine(std::span<const std::string> command);

// The command as a line for a POSIX shell, words quoted where they must be. Control characters are
// written as Printable() does, so that the line is one line, whatever the file says.
std::string ShellLine(const v1::RunFileHeader& header);

}  // namespace sbump
