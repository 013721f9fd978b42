// The daemon's configuration file: whatever stands in it, the daemon is told to run or not to, and
// never to listen where anybody could come in.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>

#include "daemon/base/fd.h"
#include "daemon/options.h"
#include "tests/fuzz/require.h"

namespace {

using sbump::Require;

void CheckOptions(const sbump::DaemonOptions& options) {
  Require(!options.front.listen.empty() && !options.state_dir.empty());
  const bool tcp = std::ranges::any_of(
      options.front.listen, [](const std::string& one) { return one.starts_with("tcp:"); });
  Require(!tcp || (options.front.tls.complete() && !options.gate.policy_file.empty()));
  Require(options.front.socket_group.empty() || !options.gate.policy_file.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Mistakes are explained to whoever reads.
  std::cout.setstate(std::ios::failbit);
  std::cerr.setstate(std::ios::failbit);
  const sbump::Fd file(memfd_create("sbumpd.conf", MFD_CLOEXEC));
  if (!file.valid() || write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  std::string program = "sbumpd", flag = "--config",
              path = "/proc/self/fd/" + std::to_string(file.get());
  char* argv[] = {program.data(), flag.data(), path.data(), nullptr};
  sbump::DaemonOptions options;
  const int code = sbump::ParseDaemonOptions(3, argv, options);
  Require(code == -1 || code == 0 || code == 2);
  if (code == -1) CheckOptions(options);
  return 0;
}
