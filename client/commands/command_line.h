// The whole of sbumpctl behind main().
#pragma once

namespace sbump {

// Reads the arguments, runs the command, returns the exit status.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace sbump
