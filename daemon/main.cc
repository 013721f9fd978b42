#include <csignal>

#include "daemon/daemon.h"

int main(int argc, char** argv) {
  sbump::DaemonOptions options;
  const int status = sbump::ParseDaemonOptions(argc, argv, options);
  if (status >= 0) return status;
  signal(SIGPIPE, SIG_IGN);
  return sbump::RunDaemon(options);
}
