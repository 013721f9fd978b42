#include "client/metric/http_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kScheme = "://";
constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kExample =
    "; write for example http://127.0.0.1:8000/metrics, or unix:/run/app.sock:/metrics";

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      StrCat("URL \"", Printable(WithoutPassword(text.substr(0, 256))), "\": ", why, kExample));
}

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Empty where there is none.
std::string PartOf(const Url& url, CURLUPart part) {
  char* found = nullptr;
  if (curl_url_get(url.get(), part, &found, 0) != CURLUE_OK || found == nullptr) return "";
  std::string text = found;
  curl_free(found);
  return text;
}

bool IsLoopback(std::string host) {
  absl::AsciiStrToLower(&host);
  return host == "localhost" || host.ends_with(".localhost") || host == "[::1]" ||
         host.starts_with("127.");
}

absl::StatusOr<HttpUrl> ParseUnix(std::string_view text) {
  const std::string_view rest = text.substr(kUnix.size());
  const size_t colon = rest.find(":/");
  if (!rest.starts_with('/') || colon == rest.npos)
    return Bad(text, "of a Unix socket: its path, a colon, and the path of the request");
  HttpUrl url;
  url.text = text;
  url.unix_socket = rest.substr(0, colon);
  url.url = StrCat("http://localhost", rest.substr(colon + 1));
  url.is_loopback = true;
  return url;
}

}  // namespace

std::string WithoutPassword(std::string_view text) {
  const size_t scheme = text.find(kScheme);
  if (scheme == text.npos) return std::string(text);
  const size_t begin = scheme + kScheme.size();
  const size_t at = text.substr(0, text.find_first_of("/?# ", begin)).rfind('@');
  if (at == text.npos || at < begin) return std::string(text);
  return StrCat(text.substr(0, begin), "...", text.substr(at));
}

absl::StatusOr<HttpUrl> ParseHttpUrl(std::string_view text) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; };
  if (text.empty()) return Bad(text, "empty");
  if (text.size() > kLongestUrl) return Bad(text, StrCat("longer than ", kLongestUrl, " bytes"));
  if (!std::ranges::all_of(text, is_plain))
    return Bad(text, "white space or control characters; write them as %20");
  if (text.starts_with(kUnix)) return ParseUnix(text);
  HttpUrl http{.text = std::string(text), .url = std::string(text)};
  if (!text.starts_with("http://") && !text.starts_with("https://"))
    return Bad(text, "does not begin with http:// or https://");
  // libcurl takes the first part of the path for the host then.
  if (text.find(":///") != text.npos) return Bad(text, "no host");
  const Url url(curl_url(), curl_url_cleanup);
  if (url == nullptr) return absl::ResourceExhaustedError("out of memory");
  if (const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, http.url.c_str(), 0);
      code != CURLUE_OK)
    return Bad(text, curl_url_strerror(code));
  if (!PartOf(url, CURLUPART_USER).empty() || !PartOf(url, CURLUPART_PASSWORD).empty()) {
    return absl::InvalidArgumentError(
        "URL: a user or a password in it can be read by everybody who lists processes, and would "
        "stand in reports; put them into ~/.netrc, which is read for this host");
  }
  http.is_loopback = IsLoopback(PartOf(url, CURLUPART_HOST));
  return http;
}

}  // namespace sbump
