#include "daemon/session/name_filter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bpf/shared/text.h"

namespace sbump {
namespace {

constexpr size_t kMostFiles = 16384;  // as known_files has room for (bpf/wanted.bpf.h)

}  // namespace

std::optional<uint64_t> NameHash(std::string_view name) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (name.empty() || name.size() > SB_TEXT_BYTES ||
      !std::all_of(name.begin(), name.end(), is_ascii)) {
    return std::nullopt;
  }
  std::array<__u64, SB_TEXT_WORDS> words{};
  std::memcpy(words.data(), name.data(), name.size());
  return sb_text_hash(words.data(), name.size());
}

std::optional<std::vector<uint64_t>> WantedNames(const TargetList& targets, bool last_part_only) {
  std::vector<uint64_t> hashes;
  for (const Pattern& pattern : targets.patterns()) {
    std::string_view name = pattern.qualname.pattern();
    // A set may hide a dot: only the tail of a pattern without sets is certain to be a last part.
    if (last_part_only && name.find('[') == std::string_view::npos) {
      name.remove_prefix(name.rfind('.') + 1);
    }
    if (name.find_first_of("*?[") != std::string_view::npos) return std::nullopt;
    // What has no hash always gets to the daemon.
    if (const std::optional<uint64_t> hash = NameHash(name)) hashes.push_back(*hash);
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

// `<string>` and the like are no files of modules: what eval() and exec() run. Before 3.11 such
// code tells the qualnames of what it encloses, too: of a file that is wanted it is looked at.
uint8_t KnownOfFile(const std::string& filename, bool is_wanted, bool last_part_only) {
  const bool tells_nothing = filename.starts_with('<') && !(is_wanted && last_part_only);
  return static_cast<uint8_t>((is_wanted ? 0 : SB_FILE_UNWANTED) |
                              (tells_nothing ? SB_FILE_OF_NO_MODULE : 0));
}

absl::Status NameFilter::Use(Programs& programs, const TargetList& targets) {
  for (const auto& [filename, known] : known_) {
    const std::optional<uint64_t> hash = NameHash(filename);
    if (known != 0 && hash) programs.SetFile(*hash, 0);
  }
  known_.clear();
  // Before 3.11 a module's code tells the qualnames of what it encloses.
  programs.control().asks_modules = last_part_only_ || targets.AnyTakesDottedNames();
  return programs.SetWantedNames(WantedNames(targets, last_part_only_));
}

void NameFilter::NoteFile(Programs& programs, const TargetList& targets,
                          const std::string& filename,
                          const std::vector<std::string>& module_names) {
  const std::optional<uint64_t> hash = NameHash(filename);
  if (!hash || (known_.size() == kMostFiles && !known_.contains(filename))) return;
  const bool is_wanted = targets.AnyTakesModule({filename, module_names, ""});
  uint8_t& known = known_[filename];
  const uint8_t known_now = KnownOfFile(filename, is_wanted, last_part_only_);
  if (std::exchange(known, known_now) != known_now) programs.SetFile(*hash, known_now);
}

}  // namespace sbump
