// YAML files in which nothing is ignored: an unknown or doubled key is a mistake, with its line.
//
// yaml-cpp throws; so do these, as far as ReadStrictYaml and no further.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"

namespace sbump {

// Ends the reading with "FILE:LINE: what".
[[noreturn]] void FailAt(const YAML::Node& node, const std::string& what);

// A scalar, of characters that are text: escapes can make others.
std::string YamlScalar(const YAML::Node& node, std::string_view key);
// One that is not empty.
std::string YamlText(const YAML::Node& node, std::string_view key);

void ForEachYamlItem(const YAML::Node& node, std::string_view key,
                     const std::function<void(const YAML::Node& item)>& take);

struct YamlKey {
  std::string_view name;
  std::function<void(const YAML::Node& value)> read;
};

// Reads the keys of a mapping, each at most once.
void ReadYamlKeys(const YAML::Node& node, std::string_view what, const std::vector<YamlKey>& keys);

// Calls `read` with the file's one document. Every mistake is kInvalidArgument.
absl::Status ReadStrictYaml(const std::string& file, std::string_view text,
                            const std::function<void(const YAML::Node& document)>& read);

}  // namespace sbump
