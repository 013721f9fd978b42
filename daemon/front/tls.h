// TLS for clients from other machines: version 1.3, certificates on both sides.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace sbump {

// PEM files. All three, or none.
struct TlsFiles {
  std::string ca;    // whose certificates are accepted
  std::string cert;  // the daemon's own, with the chain to its CA
  std::string key;

  bool complete() const { return !ca.empty() && !cert.empty() && !key.empty(); }
  bool any() const { return !ca.empty() || !cert.empty() || !key.empty(); }
};

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// kInvalidArgument or what the file system says, naming the file. The key must be nobody else's to
// read.
absl::StatusOr<TlsContext> MakeServerContext(const TlsFiles& files);

// The subject alternative names of a certificate: "dns:dash.example", "uri:spiffe://site/dash",
// "email:a@b", "ip:192.0.2.1". A name that is not printable ASCII is left out.
std::vector<std::string> SubjectNames(const X509* certificate);

}  // namespace sbump
