#include "client/schedule/primitives.h"

#include <algorithm>
#include <charconv>

#include "client/limits.h"
#include "client/module_path.h"
#include "client/schedule/path_pattern.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/strict_yaml.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr size_t kLongestTag = 64;

v1::ModuleTarget& TargetOf(v1::AttachRequest& request) {
  auto& targets = *request.mutable_selection()->mutable_modules();
  return targets[targets.size() - 1];
}

bool ReadBool(const YAML::Node& node, std::string_view name) {
  const std::string text = YamlText(node, name);
  if (text != "true" && text != "false") FailAt(node, StrCat(name, ": write true or false"));
  return text == "true";
}

// One that an entry has or has not.
class Flag : public Primitive {
 public:
  explicit Flag(bool ScheduleEntry::*flag) : flag_(flag) {}
  std::string_view value() const override { return "true"; }
  void Read(const YAML::Node& node, ScheduleEntry& entry) const override {
    entry.*flag_ = ReadBool(node, name());
  }
  std::optional<std::string> Write(const ScheduleEntry& entry) const override {
    return entry.*flag_ ? std::optional<std::string>("true") : std::nullopt;
  }

 private:
  bool ScheduleEntry::*const flag_;
};

class Delay : public Primitive {
 public:
  std::string_view name() const override { return "delay"; }
  std::string_view value() const override { return "DURATION"; }
  std::string_view text() const override {
    return "delay each call, at most 10ms, with `mode: sleep` 10s";
  }
  void Read(const YAML::Node& node, ScheduleEntry& entry) const override {
    const absl::StatusOr<uint64_t> ns = ParseDuration(YamlText(node, name()));
    if (!ns.ok()) FailAt(node, StrCat(name(), ": ", ns.status().message()));
    entry.delay_ns = *ns;
  }
  std::optional<std::string> Write(const ScheduleEntry& entry) const override {
    return entry.delay_ns ? std::optional(FormatDuration(*entry.delay_ns)) : std::nullopt;
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>&,
                     v1::AttachRequest& request) const override {
    TargetOf(request).set_delay_ns(*entry.delay_ns);
    return absl::OkStatus();
  }
};

class Sample : public Primitive {
 public:
  std::string_view name() const override { return "sample"; }
  std::string_view value() const override { return "N"; }
  std::string_view text() const override { return "delay each Nth call only"; }
  void Read(const YAML::Node& node, ScheduleEntry& entry) const override {
    const std::string text = YamlText(node, name());
    uint64_t every = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
    if (error != std::errc() || end != text.data() + text.size() || every < 1 || every > kMaxEvery)
      FailAt(node, StrCat(name(), ": write a whole number from 1 to ", kMaxEvery));
    entry.sample = every;
  }
  std::optional<std::string> Write(const ScheduleEntry& entry) const override {
    return entry.sample ? std::optional<std::string>(StrCat(*entry.sample)) : std::nullopt;
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>&,
                     v1::AttachRequest& request) const override {
    TargetOf(request).set_every(*entry.sample);
    return absl::OkStatus();
  }
};

// Calls of each target are counted.
class Count : public Flag {
 public:
  Count() : Flag(&ScheduleEntry::count) {}
  std::string_view name() const override { return "count"; }
  std::string_view text() const override { return "count calls"; }
};

class Spans : public Flag {
 public:
  Spans() : Flag(&ScheduleEntry::span) {}
  std::string_view name() const override { return "span"; }
  std::string_view text() const override {
    return "follow each call from begin to end, with shapes; of Identity and Dropout, too";
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>&,
                     v1::AttachRequest& request) const override {
    request.mutable_spans()->add_modules(entry.pattern);
    request.mutable_spans()->set_no_default_skip_types(true);
    return absl::OkStatus();
  }
};

class Shapes : public Primitive {
 public:
  std::string_view name() const override { return "shapes"; }
  std::string_view value() const override { return "true|false"; }
  std::string_view text() const override {
    return "whether spans look at tensors (default: true); the same for all entries with a span";
  }
  void Read(const YAML::Node& node, ScheduleEntry& entry) const override {
    entry.shapes = ReadBool(node, name());
  }
  std::optional<std::string> Write(const ScheduleEntry& entry) const override {
    if (!entry.shapes) return std::nullopt;
    return *entry.shapes ? "true" : "false";
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>&,
                     v1::AttachRequest& request) const override {
    request.mutable_spans()->set_no_shapes(!*entry.shapes);
    return absl::OkStatus();
  }
};

class Skip : public Flag {
 public:
  Skip() : Flag(&ScheduleEntry::skip) {}
  std::string_view name() const override { return "skip"; }
  std::string_view text() const override {
    return "leave these modules alone, whatever other entries say";
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>&,
                     v1::AttachRequest& request) const override {
    request.mutable_selection()->add_module_exclude(entry.pattern);
    return absl::OkStatus();
  }
};

class Until : public Flag {
 public:
  Until() : Flag(&ScheduleEntry::until) {}
  std::string_view name() const override { return "until"; }
  std::string_view text() const override {
    return "leave alone what is deeper than the children of this module; `module` must be a path";
  }
  absl::Status Apply(const ScheduleEntry& entry, const std::vector<ScheduleNode>& nodes,
                     v1::AttachRequest& request) const override {
    const auto named = std::ranges::find_if(nodes, [&](const ScheduleNode& node) {
      return node.path == entry.pattern || PatternOf(node.path) == entry.pattern;
    });
    if (named == nodes.end()) {
      return absl::InvalidArgumentError(
          StrCat("until: the model has no module ", entry.pattern, ": name one by its path"));
    }
    for (const ScheduleNode& node : nodes)
      if (node.parent == named->path && IsBelow(node.path, named->path))
        request.mutable_selection()->add_module_exclude(PatternBelow(node.path));
    return absl::OkStatus();
  }
};

// The client's own: the daemon knows of none.
class Tag : public Primitive {
 public:
  std::string_view name() const override { return "tag"; }
  std::string_view value() const override { return "NAME"; }
  std::string_view text() const override {
    return "a name for these modules: figures are summed up by it at the end";
  }
  void Read(const YAML::Node& node, ScheduleEntry& entry) const override {
    entry.tag = YamlText(node, name());
    if (entry.tag.size() > kLongestTag)
      FailAt(node, StrCat(name(), ": longer than ", kLongestTag, " bytes"));
  }
  std::optional<std::string> Write(const ScheduleEntry& entry) const override {
    return entry.tag.empty() ? std::nullopt : std::optional(entry.tag);
  }
};

constexpr std::string_view kRewrites = "it rewrites the program: sbump changes nothing in it";
constexpr MissingPrimitive kMissing[] = {
    {"annotate", "it writes into the program's parameters; a tag of sbump's own is `tag`"},
    {"checkpoint", kRewrites},
    {"cut_pipeline_stage", kRewrites},
    {"decompose", kRewrites},
    {"fork_rng", kRewrites},
    {"fuse", kRewrites},
    {"replace", kRewrites},
    {"replace_all", kRewrites},
    {"shard", kRewrites},
    {"sync", kRewrites}};

}  // namespace

std::span<const Primitive* const> Primitives() {
  static const Delay delay;
  static const Sample sample;
  static const Count count;
  static const Spans span;
  static const Shapes shapes;
  static const Skip skip;
  static const Until until;
  static const Tag tag;
  static const Primitive* const all[] = {&delay,  &sample, &count, &span,
                                         &shapes, &skip,   &until, &tag};
  return all;
}
std::span<const MissingPrimitive> MissingPrimitives() { return kMissing; }

}  // namespace sbump
