#include "daemon/session/inventory.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Beside the names.
constexpr uint64_t kBytesOfCode = 256;
constexpr uint64_t kBytesOfRow = 640;

std::string RowKey(const KnownCode& code) {
  return StrCat(*code.filename, std::string_view("\0", 1), code.qualname, std::string_view("\0", 1),
                code.head.first_line);
}

// True when `pattern` might take the object under the qualified name that could not be learnt: the
// guess is the last part of it.
bool MightMean(const Pattern& pattern, std::string_view guess) {
  const std::string_view qualname = pattern.qualname.pattern();
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

const std::string* Inventory::UseFile(const std::string& filename) {
  const auto [file, is_new] = filenames_.try_emplace(filename, 0);
  if (is_new) bytes_ += filename.size();
  ++file->second;
  return &file->first;
}

void Inventory::LeaveFile(const std::string& filename) {
  const auto file = filenames_.find(filename);
  if (--file->second != 0) return;
  bytes_ -= filename.size();
  filenames_.erase(file);
}

void Inventory::Forget(RemoteAddr addr) {
  const auto found = codes_.find(addr.value);
  if (found == codes_.end()) return;
  KnownCode& code = found->second;
  Unlink(code);
  bytes_ -= kBytesOfCode + code.qualname.size();
  LeaveFile(*code.filename);
  codes_.erase(found);
}

KnownCode& Inventory::Learn(const CodeObject& code, const std::vector<std::string>& module_names) {
  const std::string* filename = UseFile(code.filename);
  const auto [at, is_new] = codes_.try_emplace(code.head.addr.value);
  KnownCode& known = at->second;
  Unlink(known);
  if (is_new)
    bytes_ += kBytesOfCode;
  else
    LeaveFile(*known.filename);
  bytes_ += code.qualname.size() - known.qualname.size();
  // What was written into the same object still stands there.
  if (known.head.fingerprint != code.head.fingerprint) known = KnownCode{};
  known.head = code.head;
  known.filename = filename;
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

std::shared_ptr<const RowInfo> Inventory::Judged(RowInfo info) const {
  const CodeName name{info.filename, info.module_names, info.qualname};
  info.matches = targets_->AllMatches(name);
  info.pattern = info.matches.empty() ? kNoPattern : info.matches.front();
  return std::make_shared<const RowInfo>(std::move(info));
}

uint32_t Inventory::RowFor(const KnownCode& code, size_t pattern,
                           const std::vector<std::string>& module_names) {
  const auto [entry, is_new] =
      row_by_key_.try_emplace(RowKey(code), static_cast<uint32_t>(rows_.size()));
  const uint32_t row = entry->second;
  if (!is_new && rows_[row]->pattern == pattern) return row;
  if (is_new && (rows_.size() == kMaxRows || !HasRoom())) {
    row_by_key_.erase(entry);
    ++without_row_;
    return kNoRow;
  }
  std::shared_ptr<const RowInfo> info =
      Judged({.filename = *code.filename,
              .qualname = code.qualname,
              .first_line = code.head.first_line,
              .qualname_source = std::string(ToString(code.qualname_source)),
              .module_names = module_names});
  if (!is_new) {  // its file is known by another name now
    for (size_t matched : rows_[row]->matches) --rows_by_pattern_[matched];
    for (size_t matched : info->matches) ++rows_by_pattern_[matched];
    rows_[row] = std::move(info);
    return row;
  }
  for (size_t matched : info->matches) ++rows_by_pattern_[matched];
  bytes_ += kBytesOfRow + 2 * (info->filename.size() + info->qualname.size());
  for (const std::string& name : module_names) bytes_ += name.size();
  rows_.push_back(std::move(info));
  live_.push_back(0);
  blocked_.emplace_back();
  missed_.push_back(0);
  return row;
}

void Inventory::SetBlocked(KnownCode& code, std::string why) {
  code.is_blocked = !why.empty();
  if (code.row != kNoRow) blocked_[code.row] = std::move(why);
}

void Inventory::ChangeTargets(std::shared_ptr<const TargetList> targets) {
  targets_ = std::move(targets);
  rows_by_pattern_.assign(targets_->patterns().size(), 0);
  ambiguous_.assign(targets_->patterns().size(), false);
  for (std::shared_ptr<const RowInfo>& row : rows_) {
    row = Judged(*row);
    for (size_t matched : row->matches) ++rows_by_pattern_[matched];
  }
  for (auto& [addr, code] : codes_) {
    Unlink(code);
    code.row = Judge(code, modules_.Find(*code.filename));
    if (code.row != kNoRow) ++live_[code.row];
  }
}

}  // namespace sbump
