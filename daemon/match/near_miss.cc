#include "daemon/match/near_miss.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/edit_distance.h"

namespace sbump {
namespace {

// How far one side of the pattern is from one code object. Costs only order the suggestions.
struct Fit {
  int cost;
  std::string_view reason;

  bool exact() const { return cost == 0; }
};
constexpr int kSpellingCost = 4;  // plus the edit distance
constexpr int kSameBasenameCost = 8;
constexpr int kOtherFileCost = 10;
constexpr int kNoFitCost = 1000;
constexpr Fit kExact{0, ""};
constexpr Fit kNoFit{kNoFitCost, ""};

// How many slips a name of this size may hold before a likeness is chance.
size_t AllowedSlips(size_t bytes) {
  if (bytes < 3) return 0;
  if (bytes < 6) return 1;
  return bytes < 12 ? 2 : 3;
}

// ASCII only: names in other scripts keep their case.
std::string Lower(std::string_view text) { return absl::AsciiStrToLower(ToAbsl(text)); }

// Takes what stands before the next dot off `rest`; nullopt once nothing is left.
std::optional<std::string_view> TakePart(std::optional<std::string_view>* rest) {
  if (!rest->has_value()) return std::nullopt;
  const size_t dot = (*rest)->find('.');
  const std::string_view part = (*rest)->substr(0, dot);
  *rest = dot == std::string_view::npos ? std::nullopt : std::optional((*rest)->substr(dot + 1));
  return part;
}

std::optional<Glob> TryCompile(std::string_view pattern) {
  absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  if (!glob.ok()) return std::nullopt;
  return *std::move(glob);
}

bool Takes(const std::optional<Glob>& glob, std::string_view text) {
  return glob.has_value() && glob->Matches(text);
}

std::string_view Basename(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "model_runner" for "*/worker/model_runner.py".
std::string_view Stem(std::string_view path) {
  std::string_view stem = Basename(path);
  while (stem.starts_with('*')) stem.remove_prefix(1);
  while (stem.ends_with('*')) stem.remove_suffix(1);
  if (stem.ends_with(".py")) stem.remove_suffix(3);
  return stem;
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

bool LooksDotted(std::string_view module) {
  return module.find_first_of("/*?[ ") == module.npos && !module.ends_with(".py");
}

// The qualified-name side, prepared once per pattern.
class QualnameSide {
 public:
  explicit QualnameSide(const Glob& glob)
      : glob_(glob),
        lower_(TryCompile(Lower(glob.pattern()))),
        as_member_(TryCompile(StrCat("*.", glob.pattern()))) {
    if (glob.pattern().find('[') != std::string::npos) return;  // it may hold a dot
    size_t literal_bytes = 0;
    const std::string lower = Lower(glob.pattern());
    std::optional<std::string_view> rest = lower;
    while (const std::optional<std::string_view> taken = TakePart(&rest)) {
      const std::string_view part = *taken;
      if (!HasWildcard(part)) literal_bytes += part.size();
      if (std::optional<Glob> compiled = TryCompile(part)) parts_.push_back(*std::move(compiled));
    }
    slips_ = AllowedSlips(literal_bytes);
  }

  bool everything() const { return glob_.MatchesEverything(); }

  Fit FitOf(std::string_view qualname) const {
    if (glob_.Matches(qualname)) return kExact;
    const std::string lower = Lower(qualname);
    if (Takes(lower_, lower)) return {1, "the name differs in case only"};
    if (qualname.find("<locals>") != qualname.npos &&
        glob_.Matches(absl::StrReplaceAll(ToAbsl(qualname), {{"<locals>.", ""}}))) {
      return {2, "a nested function has <locals> in its name"};
    }
    if (Takes(as_member_, qualname)) return {3, "the name has a class or function before it"};
    const size_t slips = Slips(lower);
    if (slips > slips_) return kNoFit;
    return {kSpellingCost + static_cast<int>(slips), "the name is spelled alike"};
  }

 private:
  // Summed over the parts between dots; above slips_ where the names are not alike.
  size_t Slips(std::string_view lower) const {
    const size_t none = slips_ + 1;
    if (slips_ == 0) return none;
    size_t sum = 0, part = 0;
    std::optional<std::string_view> rest = lower;
    while (const std::optional<std::string_view> have = TakePart(&rest)) {
      if (part == parts_.size()) return none;
      const Glob& want = parts_[part++];
      if (want.Matches(*have)) continue;
      if (!want.IsLiteral()) return none;
      sum += EditDistance(want.pattern(), *have, slips_ - sum);
      if (sum > slips_) return none;
    }
    return part == parts_.size() ? sum : none;
  }

  const Glob& glob_;
  std::optional<Glob> lower_, as_member_;
  std::vector<Glob> parts_;  // lower case
  size_t slips_ = 0;
};

// The module side, prepared once per pattern.
class ModuleSide {
 public:
  ModuleSide(const Pattern& pattern, bool paths_only)
      : pattern_(pattern),
        paths_only_(paths_only),
        lower_text_(Lower(pattern.module.pattern())),
        lower_(TryCompile(lower_text_)),
        stem_(Stem(lower_text_)) {
    const std::string& text = pattern.module.pattern();
    if (Stem(text).size() >= 3) starred_ = TryCompile(StrCat("*", text, "*"));
    const std::string_view basename = Basename(text);
    if (basename.find_first_not_of('*') != basename.npos) basename_ = TryCompile(basename);
    if (HasWildcard(stem_)) stem_ = {};
  }

  Fit FitOf(const CodeName& name) const {
    if (pattern_.MatchesModule(name, paths_only_)) return kExact;
    if (paths_only_ && pattern_.MatchesModule(name, false)) {
      return {1, "the dotted module name matches, and dotted names are turned off"};
    }
    const std::string lower = Lower(name.filename);
    if (Takes(lower_, lower) ||
        AnyModule(name, [&](const std::string& dotted) { return Takes(lower_, Lower(dotted)); })) {
      return {1, "the file differs in case only"};
    }
    if (Takes(starred_, name.filename) ||
        AnyModule(name, [&](const std::string& dotted) { return Takes(starred_, dotted); })) {
      return {2, "the module part must cover the whole path or module name; add a *"};
    }
    const size_t slips = Slips(lower, name);
    if (slips > AllowedSlips(stem_.size())) return kNoFit;
    return {kSpellingCost + static_cast<int>(slips), "the file is spelled alike"};
  }

  bool SameBasename(std::string_view filename) const {
    return Takes(basename_, Basename(filename));
  }

 private:
  template <typename Predicate>
  bool AnyModule(const CodeName& name, Predicate predicate) const {
    return !paths_only_ &&
           std::any_of(name.module_names.begin(), name.module_names.end(), predicate);
  }

  size_t Slips(std::string_view lower_filename, const CodeName& name) const {
    const size_t allowed = AllowedSlips(stem_.size());
    if (allowed == 0) return 1;
    size_t least = EditDistance(stem_, Stem(lower_filename), allowed);
    if (paths_only_ || !LooksDotted(lower_text_)) return least;
    for (const std::string& dotted : name.module_names) {
      least = std::min(least, EditDistance(lower_text_, Lower(dotted), allowed));
    }
    return least;
  }

  const Pattern& pattern_;
  const bool paths_only_;
  const std::string lower_text_;
  std::optional<Glob> lower_, starred_, basename_;
  std::string_view stem_;  // of lower_text_; empty where it has wildcards
};

struct Candidate {
  int cost;
  size_t index;
  std::string_view module_reason, qualname_reason;
};

std::optional<Candidate> Judge(const ModuleSide& module, const QualnameSide& qualname,
                               const Fit& module_fit, const CodeName& name, size_t index) {
  const Fit fit = qualname.FitOf(name.qualname);
  if (fit.cost == kNoFitCost) return std::nullopt;
  if (module_fit.cost == kNoFitCost) {
    if (!fit.exact() || qualname.everything()) return std::nullopt;
    const int cost = module.SameBasename(name.filename) ? kSameBasenameCost : kOtherFileCost;
    return Candidate{cost, index, "the same qualified name in another file", ""};
  }
  if (module_fit.cost >= kSpellingCost && fit.cost >= kSpellingCost) return std::nullopt;
  return Candidate{module_fit.cost + fit.cost, index, module_fit.reason, fit.reason};
}

std::string Why(const Pattern& pattern, bool paths_only, bool seen_any, bool module_matched,
                bool matched) {
  const std::string& module = pattern.module.pattern();
  if (matched) return "every function that it matches is excluded";
  if (!seen_any) return "no function has been seen in the process yet";
  if (module_matched) {
    return StrCat("loaded files match the module part, but none has a function \"",
                  pattern.qualname.pattern(), "\"");
  }
  if (!LooksDotted(module)) {
    return StrCat("no loaded file matches the module part \"", module, "\"");
  }
  if (paths_only) {
    return StrCat("no loaded file matches the module part \"", module,
                  "\"; it looks like a module name, and dotted names are turned off");
  }
  return StrCat("no loaded file matches the module part; the module \"", module,
                "\" is not imported");
}

std::vector<NearMiss> Best(std::vector<Candidate> candidates, std::span<const CodeName> inventory,
                           bool any_qualname, size_t limit) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  std::vector<NearMiss> best;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Candidate& candidate : candidates) {
    if (best.size() == limit) break;
    const CodeName& name = inventory[candidate.index];
    const std::string_view qualname = any_qualname ? "*" : name.qualname;
    if (!seen.emplace(name.filename, qualname).second) continue;
    const bool both = !candidate.module_reason.empty() && !candidate.qualname_reason.empty();
    best.push_back({std::string(name.filename), std::string(qualname),
                    StrCat(candidate.module_reason, both ? "; " : "", candidate.qualname_reason),
                    candidate.index});
  }
  return best;
}

}  // namespace

std::string NearMiss::Text() const { return StrCat(filename, ":", qualname); }

NearMissReport ExplainNoMatch(const Pattern& pattern, std::span<const CodeName> inventory,
                              bool paths_only, size_t limit) {
  NearMissReport report;
  report.complete = inventory.size() <= kMaxNearMissInventory;
  inventory = inventory.first(std::min(inventory.size(), kMaxNearMissInventory));

  const ModuleSide module(pattern, paths_only);
  const QualnameSide qualname(pattern.qualname);
  bool module_matched = false, matched = false;
  std::vector<Candidate> candidates;
  Fit module_fit = kNoFit;
  for (size_t i = 0; i < inventory.size(); ++i) {
    const CodeName& name = inventory[i];
    const bool same_file = i > 0 && inventory[i - 1].filename == name.filename;
    if (!same_file) module_fit = module.FitOf(name);
    module_matched |= module_fit.exact();
    const std::optional<Candidate> found = Judge(module, qualname, module_fit, name, i);
    if (!found.has_value()) continue;
    if (found->cost == 0) {
      matched = true;
    } else {
      candidates.push_back(*found);
    }
  }
  report.why = Why(pattern, paths_only, !inventory.empty(), module_matched, matched);
  if (!matched) {
    report.suggestions = Best(std::move(candidates), inventory, qualname.everything(), limit);
  }
  return report;
}

}  // namespace sbump
