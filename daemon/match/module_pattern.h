// Which modules of a tree are meant: by path, or by type.
//
//   top.layers.*.attn     a glob over the whole path; `*` takes dots, too (glob.h)
//   re:top\.layers\.\d+   a regular expression that must match at the path's begin, as Python's
//                         re.match() does; RE2's syntax (no look-around, no back references)
//   type:Linear           a glob over the name of the module's class or of a class that it is
//                         derived from, or over such a name with its module
//                         ("type:torch.nn.modules.conv.*")
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/match/glob.h"
#include "daemon/match/overrides.h"

namespace re2 {
class RE2;
}

namespace sbump {

// Immutable, copyable, safe to use from several threads.
class ModulePattern {
 public:
  static constexpr size_t kLongestText = 4096;

  // kInvalidArgument: empty, too long, no regular expression, a type that is missing.
  static absl::StatusOr<ModulePattern> Compile(std::string_view text);

  // `types`: full names, of its class and of those that this is derived from.
  bool Matches(std::string_view path, const std::vector<std::string>& types) const;

  const std::string& text() const { return text_; }

 private:
  struct Path {
    Glob glob;
  };
  struct Type {
    Glob glob;
  };
  using Regex = std::shared_ptr<const re2::RE2>;

  ModulePattern(std::string text, std::variant<Path, Type, Regex> how)
      : text_(std::move(text)), how_(std::move(how)) {}
  static absl::StatusOr<ModulePattern> CompileRegex(std::string_view text);

  std::string text_;
  std::variant<Path, Type, Regex> how_;
};

// A pattern as a target, with overrides behind it as a line of a targets file has them:
// `top.layers.3.* @delay=10us`.
struct ModuleTarget {
  ModulePattern pattern;
  Overrides overrides;
  std::string text;  // normalised; ParseModuleTarget(text) gives an equal one
};

// kInvalidArgument, as ParsePattern().
absl::StatusOr<ModuleTarget> ParseModuleTarget(std::string_view text);

// Whether `glob` takes the full name, or what is behind its last dot.
bool TakesType(const Glob& glob, std::string_view full_name);

}  // namespace sbump
