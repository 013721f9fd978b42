#include "daemon/session/native_rows.h"

#include "daemon/base/str_cat.h"

namespace sbump {

std::shared_ptr<const RowInfo> InfoOf(const NativeTarget& target, const TrapCosts& costs,
                                      size_t first_pattern) {
  auto info = std::make_shared<RowInfo>();
  for (size_t pattern : target.patterns) info->matches.push_back(first_pattern + pattern);
  info->pattern = info->matches.front();
  info->filename = target.filename;
  info->qualname = target.name;
  info->qualname_source = "ELF symbol";
  info->native = NativeRowInfo{.vaddr = target.site.vaddr,
                               .file_offset = target.site.file_offset,
                               .entry_vaddr = target.site.entry_vaddr,
                               .instruction = target.site.instruction,
                               .emulated = target.site.emulated,
                               .hit_cost_ns = CostOf(target, costs)};
  if (target.name.starts_with("+0x")) info->qualname_source = "offset";
  return info;
}

std::vector<NearMissText> NearMissesOf(const NativeAnswer& answer) {
  std::vector<NearMissText> texts;
  if (answer.targets != 0) return texts;
  if (!answer.refused.ok()) texts.push_back({"", StrCat(answer.refused.message())});
  for (const NativeAnswer::Hint& hint : answer.hints)
    texts.push_back({hint.suggestion, hint.reason});
  return texts;
}

std::vector<std::string> WarningsOf(const std::vector<NativeAnswer>& answers) {
  std::vector<std::string> warnings;
  for (const NativeAnswer& answer : answers) {
    for (const std::string& left_out : answer.left_out)
      warnings.push_back(StrCat("not probed: ", left_out));
  }
  return warnings;
}

std::string SteppedWarning(const NativeTarget& target, const TrapCosts& costs) {
  return StrCat(target.filename, ":", target.name, " is probed at \"", target.site.instruction,
                "\", which the kernel single-steps: each call costs ", costs.stepped_ns,
                " ns more instead of ", costs.emulated_ns, " (taken off the delay, too)");
}

}  // namespace sbump
