#include "daemon/session/inventory.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string RowKey(const KnownCode& code) {
  return StrCat(*code.filename, std::string_view("\0", 1), code.qualname, std::string_view("\0", 1),
                code.head.first_line);
}

// True when `pattern` might take the object under the qualified name that could not be learnt: the
// guess is the last part of it.
bool MightMean(const Pattern& pattern, std::string_view guess) {
  const std::string_view text = pattern.text;
  const size_t colon = text.find(':');
  const std::string_view qualname = text.substr(colon + 1, text.find(' ') - colon - 1);
  return qualname.ends_with(guess) && qualname.size() > guess.size() &&
         qualname[qualname.size() - guess.size() - 1] == '.';
}

}  // namespace

Inventory::Inventory(std::shared_ptr<const TargetList> targets)
    : targets_(std::move(targets)),
      rows_by_pattern_(targets_->patterns().size()),
      ambiguous_(targets_->patterns().size()) {}

KnownCode* Inventory::Find(RemoteAddr addr) {
  const auto found = codes_.find(addr.value);
  return found == codes_.end() ? nullptr : &found->second;
}

void Inventory::Unlink(KnownCode& code) {
  if (code.row != kNoRow) --live_[code.row];
  code.row = kNoRow;
}

void Inventory::Forget(RemoteAddr addr) {
  const auto found = codes_.find(addr.value);
  if (found == codes_.end()) return;
  Unlink(found->second);
  codes_.erase(found);
}

KnownCode& Inventory::Learn(const CodeObject& code, const std::vector<std::string>& module_names) {
  KnownCode& known = codes_[code.head.addr.value];
  Unlink(known);
  // What was written into the same object still stands there.
  if (known.head.fingerprint != code.head.fingerprint) known = KnownCode{};
  known.head = code.head;
  known.filename = &*filenames_.insert(code.filename).first;
  known.qualname = code.qualname;
  known.qualname_source = code.qualname_source;
  known.row = Judge(known, module_names);
  if (known.row != kNoRow) ++live_[known.row];
  return known;
}

void Inventory::NoteAmbiguous(const KnownCode& code, const std::vector<std::string>& module_names) {
  const CodeName name{*code.filename, module_names, code.qualname};
  for (size_t i = 0; i < targets_->patterns().size(); ++i) {
    const Pattern& pattern = targets_->patterns()[i];
    if (!pattern.MatchesModule(name, targets_->paths_only())) continue;
    // `*` takes the object whatever it is really called.
    const bool any_name = pattern.qualname.Matches("") && pattern.qualname.Matches("\n");
    if (any_name) continue;
    if (pattern.Matches(name, targets_->paths_only()) || MightMean(pattern, code.qualname))
      ambiguous_[i] = true;
  }
}

uint32_t Inventory::Judge(const KnownCode& code, const std::vector<std::string>& module_names) {
  if (code.qualname_source == QualnameSource::kCoName) NoteAmbiguous(code, module_names);
  const CodeName name{*code.filename, module_names, code.qualname};
  const std::optional<size_t> first = targets_->FirstMatch(name);
  if (!first) return kNoRow;
  return RowFor(code, *first, module_names);
}

uint32_t Inventory::RowFor(const KnownCode& code, size_t pattern,
                           const std::vector<std::string>& module_names) {
  const auto [entry, is_new] =
      row_by_key_.try_emplace(RowKey(code), static_cast<uint32_t>(rows_.size()));
  const uint32_t row = entry->second;
  if (!is_new && rows_[row]->pattern == pattern) return row;
  auto info = std::make_shared<RowInfo>();
  info->pattern = pattern;
  info->filename = *code.filename;
  info->qualname = code.qualname;
  info->first_line = code.head.first_line;
  info->qualname_source = ToString(code.qualname_source);
  info->module_names = module_names;
  if (!is_new) {  // the targets changed
    rows_[row] = std::move(info);
    return row;
  }
  const CodeName name{*code.filename, module_names, code.qualname};
  for (size_t matched : targets_->AllMatches(name)) ++rows_by_pattern_[matched];
  rows_.push_back(std::move(info));
  live_.push_back(0);
  blocked_.emplace_back();
  return row;
}

void Inventory::SetBlocked(KnownCode& code, std::string why) {
  code.blocked = std::move(why);
  if (code.row != kNoRow) blocked_[code.row] = code.blocked;
}

void Inventory::ChangeTargets(std::shared_ptr<const TargetList> targets) {
  targets_ = std::move(targets);
  rows_by_pattern_.assign(targets_->patterns().size(), 0);
  ambiguous_.assign(targets_->patterns().size(), false);
  for (auto& [addr, code] : codes_) {
    Unlink(code);
    code.row = Judge(code, modules_.Find(*code.filename));
    if (code.row != kNoRow) ++live_[code.row];
  }
  // Rows that existed before were not counted above.
  rows_by_pattern_.assign(targets_->patterns().size(), 0);
  for (uint32_t row = 0; row < rows_.size(); ++row) {
    if (live_[row] == 0) continue;
    const RowInfo& info = *rows_[row];
    const CodeName name{info.filename, info.module_names, info.qualname};
    for (size_t matched : targets_->AllMatches(name)) ++rows_by_pattern_[matched];
  }
}

std::vector<Inventory::NameView> Inventory::Names(size_t limit) const {
  std::vector<NameView> names;
  for (const auto& [addr, code] : codes_) {
    if (names.size() == limit) break;
    names.push_back({*code.filename, &modules_.Find(*code.filename), code.qualname});
  }
  return names;
}

}  // namespace sbump
