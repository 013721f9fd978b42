#include "daemon/policy/policy_file.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <optional>

#include "daemon/base/owned_file.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/strict_yaml.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxEntries = 10'000;

template <typename Number>
Number WholeNumber(const YAML::Node& node, std::string_view key) {
  const std::string text = YamlText(node, key);
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size())
    FailAt(node, StrCat(key, ": \"", text, "\" is no whole number"));
  return number;
}

uint64_t Duration(const YAML::Node& node, std::string_view key) {
  const absl::StatusOr<uint64_t> ns = ParseDuration(YamlText(node, key));
  if (!ns.ok()) FailAt(node, StrCat(key, ": ", ns.status().message()));
  return *ns;
}

// "20%"
double Share(const YAML::Node& node, std::string_view key) {
  const std::string text = YamlText(node, key);
  unsigned percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || percent > 100 || std::string_view(stop) != "%")
    FailAt(node, StrCat(key, ": \"", text, "\": write a share of 0% to 100%"));
  return percent / 100.0;
}

// A uid, or the name of a user that this machine knows now.
uid_t User(const YAML::Node& node, std::string_view key) {
  const std::string text = YamlText(node, key);
  if (text.find_first_not_of("0123456789") == text.npos) return WholeNumber<uid_t>(node, key);
  const passwd* entry = getpwnam(text.c_str());
  if (entry == nullptr) FailAt(node, StrCat(key, ": there is no user \"", text, "\""));
  return entry->pw_uid;
}

gid_t Group(const YAML::Node& node, std::string_view key) {
  const std::string text = YamlText(node, key);
  if (text.find_first_not_of("0123456789") == text.npos) return WholeNumber<gid_t>(node, key);
  const group* entry = getgrnam(text.c_str());
  if (entry == nullptr) FailAt(node, StrCat(key, ": there is no group \"", text, "\""));
  return entry->gr_gid;
}

std::string CertificateName(const YAML::Node& node, std::string_view key) {
  const std::string text = YamlText(node, key);
  for (const std::string_view kind : {"dns:", "uri:", "email:", "ip:"}) {
    if (text.starts_with(kind) && text.size() > kind.size()) return text;
  }
  FailAt(node,
         StrCat(key, ": \"", text, "\": write dns:NAME, uri:URI, email:ADDRESS or ip:ADDRESS"));
}

std::vector<Glob> Globs(const YAML::Node& node, std::string_view key) {
  std::vector<Glob> globs;
  ForEachYamlItem(node, key, [&](const YAML::Node& item) {
    absl::StatusOr<Glob> glob = Glob::Compile(YamlText(item, key));
    if (!glob.ok()) FailAt(item, StrCat(key, ": ", glob.status().message()));
    globs.push_back(*std::move(glob));
  });
  return globs;
}

Limits ReadLimits(const YAML::Node& node) {
  Limits limits;
  const auto number = [](const YAML::Node& value, std::string_view key) {
    return WholeNumber<size_t>(value, key);
  };
  ReadYamlKeys(
      node, "limits",
      {{"target_uids",
        [&](const YAML::Node& value) {
          limits.target_uids.emplace();
          ForEachYamlItem(value, "target_uids", [&](const YAML::Node& item) {
            limits.target_uids->insert(User(item, "target_uids"));
          });
        }},
       {"cgroups", [&](const YAML::Node& v) { limits.cgroups = Globs(v, "cgroups"); }},
       {"cmdlines", [&](const YAML::Node& v) { limits.cmdlines = Globs(v, "cmdlines"); }},
       {"max_delay", [&](const YAML::Node& v) { limits.max_delay_ns = Duration(v, "max_delay"); }},
       {"max_ttl", [&](const YAML::Node& v) { limits.max_ttl_ns = Duration(v, "max_ttl"); }},
       {"max_stop", [&](const YAML::Node& v) { limits.max_stop_ns = Duration(v, "max_stop"); }},
       {"max_duty", [&](const YAML::Node& v) { limits.max_duty = Share(v, "max_duty"); }},
       {"max_sessions",
        [&](const YAML::Node& v) { limits.max_sessions = number(v, "max_sessions"); }}});
  return limits;
}

Role ReadRole(const YAML::Node& node) {
  const std::string text = YamlText(node, "role");
  if (text == "viewer") return Role::kViewer;
  if (text == "operator") return Role::kOperator;
  FailAt(node, StrCat("role: \"", text, "\": write viewer or operator"));
}

bool ReadSessions(const YAML::Node& node) {
  const std::string text = YamlText(node, "sessions");
  if (text != "own" && text != "all")
    FailAt(node, StrCat("sessions: \"", text, "\": write own or all"));
  return text == "all";
}

Policy::Entry ReadEntry(const std::string& file, const YAML::Node& node) {
  Policy::Entry entry;
  std::optional<Role> role;
  int subjects = 0;
  const auto subject = [&](auto read) {
    return [&subjects, read](const YAML::Node& value) {
      ++subjects;
      read(value);
    };
  };
  ReadYamlKeys(
      node, "a caller",
      {{"user", subject([&](auto& v) { entry.subject.uid = User(v, "user"); })},
       {"group", subject([&](auto& v) { entry.subject.gid = Group(v, "group"); })},
       {"certificate",
        subject([&](auto& v) { entry.subject.name = CertificateName(v, "certificate"); })},
       {"role", [&](const YAML::Node& v) { role = ReadRole(v); }},
       {"sessions", [&](const YAML::Node& v) { entry.grant.others_sessions = ReadSessions(v); }},
       {"limits", [&](const YAML::Node& v) { entry.grant.limits = ReadLimits(v); }}});
  if (subjects != 1) FailAt(node, "a caller is one of user, group and certificate");
  if (!role) FailAt(node, "a caller needs a role: viewer or operator");
  entry.grant.role = *role;
  entry.grant.source = StrCat(file, ":", node.Mark().line + 1);
  return entry;
}

Policy ReadDocument(const std::string& file, const YAML::Node& document) {
  std::vector<Policy::Entry> entries;
  ReadYamlKeys(document, "a policy", {{"callers", [&](const YAML::Node& callers) {
                                         if (!callers.IsSequence())
                                           FailAt(callers,
                                                  "callers: write a list, each begun by `- `");
                                         if (callers.size() > kMaxEntries)
                                           FailAt(callers, "callers: more than 10,000");
                                         for (const YAML::Node& node : callers)
                                           entries.push_back(ReadEntry(file, node));
                                       }}});
  return Policy(std::move(entries));
}

}  // namespace

absl::StatusOr<Policy> ParsePolicy(const std::string& file, std::string_view text) {
  std::optional<Policy> policy;
  SB_RETURN_IF_ERROR(ReadStrictYaml(
      file, text, [&](const YAML::Node& document) { policy = ReadDocument(file, document); }));
  return *std::move(policy);
}

absl::StatusOr<Policy> LoadPolicy(const std::string& file) {
  absl::StatusOr<std::string> text = ReadOwnedFile(file, kMaxBytes);
  if (!text.ok()) return Annotate(text.status(), "--policy");
  return ParsePolicy(file, *text);
}

}  // namespace sbump
