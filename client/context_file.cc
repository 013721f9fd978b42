#include "client/context_file.h"

#include <unistd.h>

#include <algorithm>

#include "client/bounded_file.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/strict_yaml.h"

namespace sbump {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

std::string Variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

std::string Below(const std::string& file, const std::string& path) {
  return path.starts_with('/') ? path : StrCat(file.substr(0, file.rfind('/') + 1), path);
}

Host ReadContext(const std::string& file, const std::string& name, const YAML::Node& node) {
  Host host{.name = name};
  bool has_endpoint = false;
  const auto path = [&](std::string& to, std::string_view key) {
    return [&to, &file, key](const YAML::Node& value) { to = Below(file, YamlText(value, key)); };
  };
  ReadYamlKeys(node, "a context",
               {{"endpoint",
                 [&](const YAML::Node& value) {
                   absl::StatusOr<Endpoint> endpoint = ParseEndpoint(YamlText(value, "endpoint"));
                   if (!endpoint.ok()) FailAt(value, std::string(endpoint.status().message()));
                   host.endpoint = *std::move(endpoint);
                   has_endpoint = true;
                 }},
                {"tls_ca", path(host.tls.ca, "tls_ca")},
                {"tls_cert", path(host.tls.cert, "tls_cert")},
                {"tls_key", path(host.tls.key, "tls_key")}});
  if (!has_endpoint) FailAt(node, StrCat("the context ", name, " has no endpoint"));
  return host;
}

void ReadContexts(ContextFile& file, const YAML::Node& node) {
  if (!node.IsMap()) FailAt(node, "contexts: write `NAME: {endpoint: ...}` lines");
  for (const auto& pair : node) {
    const std::string name = YamlText(pair.first, "contexts");
    if (file.Find(name) != nullptr) FailAt(pair.first, StrCat("`", name, "` is there twice"));
    file.contexts.push_back(ReadContext(file.path, name, pair.second));
  }
}

}  // namespace

const Host* ContextFile::Find(std::string_view name) const {
  const auto found = std::find_if(contexts.begin(), contexts.end(),
                                  [name](const Host& host) { return host.name == name; });
  return found == contexts.end() ? nullptr : &*found;
}

std::string ContextFilePath(const Environment& environment) {
  if (std::string named = Variable(environment, "SBUMP_CONFIG"); !named.empty()) return named;
  const std::string config = Variable(environment, "XDG_CONFIG_HOME");
  if (config.starts_with('/')) return config + "/sbump/config.yaml";
  const std::string home = Variable(environment, "HOME");
  return home.starts_with('/') ? home + "/.config/sbump/config.yaml" : "";
}

absl::StatusOr<ContextFile> ParseContextFile(const std::string& path, std::string_view text) {
  ContextFile file{.path = path};
  SB_RETURN_IF_ERROR(ReadStrictYaml(path, text, [&](const YAML::Node& document) {
    YAML::Node current;
    ReadYamlKeys(document, "the file",
                 {{"contexts", [&](const YAML::Node& node) { ReadContexts(file, node); }},
                  {"current", [&](const YAML::Node& node) { current = node; }}});
    if (!current.IsDefined() || current.IsNull()) return;
    file.current = YamlText(current, "current");
    if (file.Find(file.current) == nullptr)
      FailAt(current, StrCat("current: there is no context \"", file.current, "\""));
  }));
  return file;
}

absl::StatusOr<ContextFile> LoadContextFile(const Environment& environment) {
  const std::string path = ContextFilePath(environment);
  const bool named = !Variable(environment, "SBUMP_CONFIG").empty();
  if (path.empty() || (!named && access(path.c_str(), F_OK) != 0)) return ContextFile{.path = path};
  absl::StatusOr<std::string> text = ReadBoundedFile(path, kMaxBytes);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  return ParseContextFile(path, *text);
}

}  // namespace sbump
