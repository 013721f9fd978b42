#include "daemon/base/strict_yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

struct Mistake {
  int line;  // from 1
  std::string what;
};

struct Ignore : YAML::EventHandler {
  using Mark = YAML::Mark;
  using Text = std::string;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, YAML::anchor_t) override {}
  void OnAlias(const Mark&, YAML::anchor_t) override {}
  void OnScalar(const Mark&, const Text&, YAML::anchor_t, const Text&) override {}
  void OnSequenceStart(const Mark&, const Text&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const Text&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// 0, 1, or 2 for more. YAML::LoadAll would never end on a file with a lone comma (0.7).
int CountDocuments(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  for (int count = 0; count < 2; ++count) {
    if (!parser.HandleNextDocument(ignore)) return count;
  }
  return 2;
}

// YAML's "printable" (YAML 1.2, 5.1), as far as bytes tell. yaml-cpp takes the others as they come,
// or U+FFFD for them, and writes what it does not read again.
bool IsYaml(std::string_view text) {
  const auto is_control = [](char c) {
    return (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  };
  return IsStrictUtf8(text) && std::ranges::none_of(text, is_control);
}

// What yaml-cpp writes as it is: "\N" and "\_" are one byte each to it (0.7), and for what Unicode
// calls noncharacters it writes U+FFFD. Control characters are written by escapes.
bool IsText(std::string_view text) {
  const auto decoded = IsStrictUtf8(text) ? DecodeAll(text) : std::nullopt;
  return decoded && std::ranges::none_of(*decoded, [](char32_t value) {
           return value == 0x7F || (value & 0xFFFE) == 0xFFFE ||
                  (value >= 0xFDD0 && value <= 0xFDEF);
         });
}

// From 1; 0 where all is well.
int LineThatIsNotYaml(std::string_view text) {
  for (int line = 1; !text.empty(); ++line) {
    const size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!IsYaml(text.substr(0, size))) return line;
    text.remove_prefix(size);
  }
  return 0;
}

}  // namespace

void FailAt(const YAML::Node& node, const std::string& what) {
  throw Mistake{node.Mark().line + 1, what};
}

std::string YamlScalar(const YAML::Node& node, std::string_view key) {
  if (!node.IsScalar()) FailAt(node, StrCat(key, ": write one value"));
  if (!IsText(node.Scalar()))
    FailAt(node, StrCat(key, ": an escape, or a character, that is no text in UTF-8"));
  return node.Scalar();
}

std::string YamlText(const YAML::Node& node, std::string_view key) {
  std::string text = YamlScalar(node, key);
  if (text.empty()) FailAt(node, StrCat(key, ": write one value"));
  return text;
}

void ForEachYamlItem(const YAML::Node& node, std::string_view key,
                     const std::function<void(const YAML::Node& item)>& take) {
  if (!node.IsSequence() || node.size() == 0) FailAt(node, StrCat(key, ": write a list: [a, b]"));
  for (const YAML::Node& item : node) take(item);
}

void ReadYamlKeys(const YAML::Node& node, std::string_view what, const std::vector<YamlKey>& keys) {
  if (!node.IsMap()) FailAt(node, StrCat(what, ": write `key: value` lines"));
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string name = YamlText(pair.first, what);
    if (!seen.insert(name).second) FailAt(pair.first, StrCat("`", name, "` is there twice"));
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const YamlKey& one) { return one.name == name; });
    if (key == keys.end()) FailAt(pair.first, StrCat("unknown key `", name, "` in ", what));
    key->read(pair.second);
  }
}

absl::Status ReadStrictYaml(const std::string& file, std::string_view text,
                            const std::function<void(const YAML::Node& document)>& read) {
  const auto mistake = [&](int line, std::string_view what) {
    return absl::InvalidArgumentError(StrCat(file, ":", std::max(line, 1), ": ", what));
  };
  if (text.size() > kMaxBytes) return mistake(1, "the file has more than 1 MB");
  if (const int line = LineThatIsNotYaml(text))
    return mistake(line,
                   "a byte that no YAML has: write text in UTF-8, without control characters");
  try {
    const int documents = CountDocuments(std::string(text));
    if (documents != 1)
      return mistake(1, documents == 0 ? "the file is empty"
                                       : "something stands behind the end of the document");
    read(YAML::Load(std::string(text)));
    return absl::OkStatus();
  } catch (const Mistake& found) {
    return mistake(found.line, found.what);
  } catch (const YAML::Exception& error) {
    return mistake(error.mark.line + 1, error.msg);
  }
}

}  // namespace sbump
