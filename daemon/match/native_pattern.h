// A native target: `PATH:SYMBOL` or `PATH+0xOFFSET`, with overrides as a line of a target file has
// them.
//
//   libc.so.6:write
//   /usr/lib/x86_64-linux-gnu/libssl.so.3:SSL_write  @delay=50us
//   */libfoo.so*:ns::Class::method(*)
//   libc.so.6:memcpy@GLIBC_2.2.5
//   libfoo.so+0x1139
//
// PATH is the file as the process sees it, a glob (glob.h). With a `/` it is compared with the
// whole path, without one with the last part. The first `:` separates; write ? for one in a path.
//
// SYMBOL is the name of an ELF symbol, perhaps with its version. With `*`, `?`, `[`, `(` or `::` in
// it it is a glob over the names as C++ has them (demangled, parameters included).
//
// OFFSET is one in the file, in bytes, as uprobes have it: not an address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/match/glob.h"
#include "daemon/match/overrides.h"

namespace sbump {

struct NativePattern {
  // Normalised; ParseNativePattern(text) gives an equal pattern.
  std::string text;
  Glob path;
  std::string symbol;   // without the version; empty with an offset
  std::string version;  // "GLIBC_2.2.5"; empty: none was asked for
  std::optional<uint64_t> file_offset;
  std::optional<Glob> name;  // where `symbol` is a glob over demangled names
  Overrides overrides;

  // The path is one file's, written out with its directories: it may lead there by symbolic links.
  bool NamesOnePath() const;
  bool MatchesPath(std::string_view mapped_path) const;
  // The right side as it was written: "write@GLIBC_2.2.5", "+0x1139".
  std::string What() const;
};

// kInvalidArgument, as ParsePattern().
absl::StatusOr<NativePattern> ParseNativePattern(std::string_view text);

}  // namespace sbump
