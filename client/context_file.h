// Named daemons in a file of the user's:
//
//   current: here
//   contexts:
//     here: {endpoint: "unix:/run/sbumpd/sbumpd.sock"}
//     gpu-1: {endpoint: "gpu-1.example:7443", tls_ca: ca.pem, tls_cert: me.pem, tls_key: me.key}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/endpoint.h"
#include "client/terminal.h"

namespace sbump {

// Paths of PEM files. Empty: not given.
struct TlsPaths {
  std::string ca;
  std::string cert;
  std::string key;
};

// A daemon to ask: by the name of its context, or by its endpoint.
struct Host {
  std::string name;
  Endpoint endpoint;
  TlsPaths tls;
};

struct ContextFile {
  std::string path;
  std::vector<Host> contexts;  // in the file's order
  std::string current;         // empty: none

  const Host* Find(std::string_view name) const;
};

// $SBUMP_CONFIG, else sbump/config.yaml below $XDG_CONFIG_HOME or ~/.config; empty without a home.
std::string ContextFilePath(const Environment& environment);

// Relative paths in it start where the file is. Every mistake is kInvalidArgument, "FILE:LINE:
// what".
absl::StatusOr<ContextFile> ParseContextFile(const std::string& path, std::string_view text);

// Empty where there is no such file, unless $SBUMP_CONFIG names it.
absl::StatusOr<ContextFile> LoadContextFile(const Environment& environment);

}  // namespace sbump
