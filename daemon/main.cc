#include <malloc.h>

#include <csignal>

#include "daemon/daemon.h"

int main(int argc, char** argv) {
  sbump::DaemonOptions options;
  const int status = sbump::ParseDaemonOptions(argc, argv, options);
  if (status >= 0) return status;
  signal(SIGPIPE, SIG_IGN);
  // A request may have 32 MB: what it took goes back to the kernel with it. (glibc would learn from
  // the first one to keep such sizes.)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // A thread for each process: with an arena for each of them, their gaps take a tenth of all.
  mallopt(M_ARENA_MAX, 4);
  return sbump::RunDaemon(options);
}
