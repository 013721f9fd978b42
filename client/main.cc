#include "client/commands/command_line.h"

int main(int argc, char** argv) { return sbump::RunCommandLine(argc, argv); }
