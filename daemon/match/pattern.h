// One line of a target file: `module_pattern:qualified_name_pattern`, and what it overrides.
//
//   */vllm/worker/*:ModelRunner.execute_model
//   transformers.models.llama.modeling_llama:LlamaAttention.*
//   *:Engine.step  @delay=10us @every=3
//
// The first `:` separates. White space (Python's, as str.strip() takes it) around the line and
// around both sides is dropped; inside a side it counts. Both sides are globs (glob.h).
//
// Overrides: words at the end of the line, each white space then `@name=value`.
//   @delay=DURATION  this pattern's delay instead of the session's (duration.h); 0 only counts
//   @every=N         delay each Nth call, N from 1 to 4294967295
// Any word `@name=` after the first `:` is taken for one, and an unknown name is an error. An `@`
// without white space before it, or without `name=` after it, is an ordinary character; to match
// such a word itself write `[@]delay=`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/match/code_name.h"
#include "daemon/match/glob.h"

namespace sbump {

inline constexpr size_t kMaxPatternBytes = 64 * 1024;

struct Pattern {
  // `module:qualname`, then ` @delay=...` and ` @every=...` where given. ParsePattern(text) gives
  // an equal pattern, so this is also what travels from client to daemon.
  std::string text;
  Glob module;
  Glob qualname;
  std::optional<uint64_t> delay_ns;
  std::optional<uint32_t> every;
  std::optional<uint32_t> group{};  // as in Overrides
  bool is_exempt = false;           // from excludes

  // The module side takes the file name or, unless `paths_only`, one of the dotted module names.
  bool MatchesModule(const CodeName& name, bool paths_only) const;
  bool Matches(const CodeName& name, bool paths_only) const;
};

// kInvalidArgument, with a message that says what is wrong and what to write instead but does not
// repeat the line: the caller knows whether that came from a file, a flag or the wire. `line` has
// to be UTF-8 without NUL and at most kMaxPatternBytes.
absl::StatusOr<Pattern> ParsePattern(std::string_view line);

// The same grammar without overrides: what `--exclude` takes.
absl::StatusOr<Pattern> ParseExclude(std::string_view line);

}  // namespace sbump
