// Reads one question a line and answers each on its own line, for fnmatch_compare.py. Texts are hex
// of generalised UTF-8, so that newlines and lone surrogates pass.
//
//   m PATTERN TEXT   1 or 0: does the glob take the text
//   s TEXT           hex of the text without white space around it
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/base/utf8.h"
#include "daemon/match/glob.h"

namespace {

std::string FromHex(const std::string& hex) {
  std::string out;
  for (size_t i = 1; i + 1 < hex.size(); i += 2) {  // after the leading x
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

std::string ToHex(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "x";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string Answer(const std::string& question) {
  std::istringstream words(question);
  std::string verb, first, second;
  words >> verb >> first >> second;
  if (verb == "s") return ToHex(sbump::StripPythonSpace(FromHex(first)));
  const absl::StatusOr<sbump::Glob> glob = sbump::Glob::Compile(FromHex(first));
  if (!glob.ok()) return "error";
  return glob->Matches(FromHex(second)) ? "1" : "0";
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) std::cout << Answer(line) << '\n';
}
