#include "daemon/front/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/base/owned_file.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

namespace ssl = boost::asio::ssl;

constexpr unsigned char kHttp2[] = {2, 'h', '2'};

constexpr size_t kMaxCaBytes = 4 << 20;

std::string LastError() {
  char text[256] = "unknown error";
  if (const unsigned long code = ERR_peek_last_error())
    ERR_error_string_n(code, text, sizeof(text));
  ERR_clear_error();
  return text;
}

absl::Status CheckKeyIsPrivate(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, StrCat("--tls-key ", path));
  if (st.st_uid != 0 && st.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        StrCat("--tls-key ", path, " is another user's: chown it to this one"));
  }
  if ((st.st_mode & 0027) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      StrCat("--tls-key ", path, " is open to others: chmod it 0600, or 0640 for a group"));
}

absl::Status Load(SSL_CTX* context, const TlsFiles& files) {
  const auto bad = [](std::string_view flag, const std::string& path) {
    return absl::InvalidArgumentError(StrCat(flag, " ", path, ": ", LastError()));
  };
  ERR_clear_error();
  // Whoever can write it lets in whom it likes.
  if (const auto ca = ReadOwnedFile(files.ca, kMaxCaBytes); !ca.ok())
    return Annotate(ca.status(), "--tls-ca");
  if (SSL_CTX_load_verify_file(context, files.ca.c_str()) != 1) return bad("--tls-ca", files.ca);
  if (SSL_CTX_use_certificate_chain_file(context, files.cert.c_str()) != 1)
    return bad("--tls-cert", files.cert);
  SB_RETURN_IF_ERROR(CheckKeyIsPrivate(files.key));
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return bad("--tls-key", files.key);
  if (SSL_CTX_check_private_key(context) != 1) return bad("--tls-key", files.key);
  // Tells clients whose certificates are of use.
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(files.ca.c_str()));
  return absl::OkStatus();
}

// gRPC's clients insist on the name of its protocol.
int ChooseHttp2(SSL*, const unsigned char** out, unsigned char* out_bytes,
                const unsigned char* offered, unsigned offered_bytes, void*) {
  const int chosen = SSL_select_next_proto(const_cast<unsigned char**>(out), out_bytes, kHttp2,
                                           sizeof(kHttp2), offered, offered_bytes);
  return chosen == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// All of these are IA5String (RFC 5280, 4.2.1.6). "root.example\0.evil.example" is nobody's name,
// nor is what no message or log could say.
std::string TextOf(const ASN1_STRING* value) {
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
  std::string text(bytes, static_cast<size_t>(ASN1_STRING_length(value)));
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  return std::all_of(text.begin(), text.end(), is_printable) ? text : "";
}

std::string AddressOf(const ASN1_OCTET_STRING* value) {
  char text[INET6_ADDRSTRLEN] = "";
  const int bytes = ASN1_STRING_length(value);
  if (bytes == 4) inet_ntop(AF_INET, ASN1_STRING_get0_data(value), text, sizeof(text));
  if (bytes == 16) inet_ntop(AF_INET6, ASN1_STRING_get0_data(value), text, sizeof(text));
  return text;
}

// Kind and value; an empty value where it is of no kind that is used here.
std::pair<std::string_view, std::string> NameOf(const GENERAL_NAME* name) {
  switch (name->type) {
    case GEN_DNS:
      return {"dns:", TextOf(name->d.dNSName)};
    case GEN_URI:
      return {"uri:", TextOf(name->d.uniformResourceIdentifier)};
    case GEN_EMAIL:
      return {"email:", TextOf(name->d.rfc822Name)};
    case GEN_IPADD:
      return {"ip:", AddressOf(name->d.iPAddress)};
    default:
      return {};
  }
}

}  // namespace

absl::StatusOr<TlsContext> MakeServerContext(const TlsFiles& files) {
  if (!files.complete())
    return absl::InvalidArgumentError("a tcp listener needs --tls-ca, --tls-cert and --tls-key");
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // A session that is resumed has shown no certificate anew: each connection shows it.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_alpn_select_cb(native, ChooseHttp2, nullptr);
  SB_RETURN_IF_ERROR(Load(native, files));
  return context;
}

std::vector<std::string> SubjectNames(const X509* certificate) {
  std::vector<std::string> names;
  auto* list = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    const auto [kind, value] = NameOf(sk_GENERAL_NAME_value(list, i));
    if (!value.empty()) names.push_back(StrCat(kind, value));
  }
  GENERAL_NAMES_free(list);
  return names;
}

}  // namespace sbump
