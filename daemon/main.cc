#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "daemon/daemon.h"

int main(int argc, char** argv) {
  sbump::DaemonOptions options;
  const int status = sbump::ParseDaemonOptions(argc, argv, options);
  if (status >= 0) return status;
  signal(SIGPIPE, SIG_IGN);
  // What large pieces took goes back to the kernel with them: a request may have 32 MB, and the
  // names that a process gives to its functions 64 KB each. (glibc would learn from the first one
  // to keep such sizes.)
  mallopt(M_MMAP_THRESHOLD, 32 << 10);
  // Eight for each processor, which is usual, have gaps that take a tenth of all memory.
  mallopt(M_ARENA_MAX, 2 * static_cast<int>(std::max(2u, std::thread::hardware_concurrency())));
  return sbump::RunDaemon(options);
}
