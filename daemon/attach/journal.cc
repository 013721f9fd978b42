#include "daemon/attach/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr std::string_view kMagic = "sbump-journal 1";

// "key=value key=value ..." after the first word.
std::map<std::string, std::string, std::less<>> ParseFields(std::string_view line) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (const size_t equals = word.find('='); equals != std::string_view::npos) {
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

template <typename T>
absl::Status ParseNumber(const std::map<std::string, std::string, std::less<>>& fields,
                         std::string_view key, T& out) {
  const auto found = fields.find(key);
  if (found == fields.end()) return absl::DataLossError(StrCat("journal line without ", key));
  std::string_view text = found->second;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return absl::DataLossError(StrCat("journal: ", key, "=", found->second, " is no number"));
  }
  return absl::OkStatus();
}

constexpr size_t kMostDead = 50'000;
constexpr size_t kMostDeadInShortened = 1000;

void Forget(ArmedFields& armed, std::deque<ArmedField>& dead, RemoteAddr code) {
  const auto first = armed.lower_bound({code.value, 0});
  const auto last = armed.upper_bound({code.value, UINT64_MAX});
  for (auto it = first; it != last; ++it) dead.push_back(it->second);
  while (dead.size() > kMostDead) dead.pop_front();
  armed.erase(first, last);
}

void Remember(ArmedFields& armed, std::deque<ArmedField>& dead, const ArmedField& field) {
  // Of an object that was at this address before, nothing is left.
  const auto known = armed.lower_bound({field.code.value, 0});
  if (known != armed.end() && known->second.code == field.code &&
      known->second.fingerprint != field.fingerprint)
    Forget(armed, dead, field.code);
  armed[{field.code.value, field.field.value}] = field;
}

std::vector<ArmedField> FieldsOf(const ArmedFields& armed) {
  std::vector<ArmedField> fields;
  for (const auto& [key, field] : armed) fields.push_back(field);
  return fields;
}

absl::Status ParseArm(std::string_view line, ArmedFields& armed, std::deque<ArmedField>& dead) {
  const auto fields = ParseFields(line);
  ArmedField field;
  SB_RETURN_IF_ERROR(ParseNumber(fields, "code", field.code.value));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "field", field.field.value));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "size", field.size));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "original", field.original));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "armed", field.armed));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "fingerprint", field.fingerprint));
  if (field.size != 1 && field.size != 4)
    return absl::DataLossError("journal: a field of an unknown size");
  Remember(armed, dead, field);
  return absl::OkStatus();
}

absl::Status ParseProbe(std::string_view line, std::vector<PlacedProbe>& probes) {
  const auto fields = ParseFields(line);
  PlacedProbe probe;
  SB_RETURN_IF_ERROR(ParseNumber(fields, "address", probe.address.value));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "device", probe.device));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "inode", probe.inode));
  SB_RETURN_IF_ERROR(ParseNumber(fields, "offset", probe.file_offset));
  probes.push_back(probe);
  return absl::OkStatus();
}

absl::Status ParseLine(std::string_view line, ArmedFields& armed, std::deque<ArmedField>& dead,
                       JournalContents& contents) {
  if (line.starts_with("arm ")) return ParseArm(line, armed, dead);
  if (line.starts_with("probe ")) return ParseProbe(line, contents.probes);
  if (line.starts_with("bump ")) {
    contents.bump_begun = line == "bump begin";
    return absl::OkStatus();
  }
  if (line == kUndoneLine) {
    contents.is_undone = true;
    return absl::OkStatus();
  }
  if (line.starts_with("dead ")) {
    RemoteAddr code;
    SB_RETURN_IF_ERROR(ParseNumber(ParseFields(line), "code", code.value));
    Forget(armed, dead, code);
    return absl::OkStatus();
  }
  return absl::DataLossError(StrCat("journal: unknown line: ", line.substr(0, 80)));
}

constexpr std::string_view kBumpBegin = "bump begin\n";

std::string DeadLine(RemoteAddr code) { return StrCat("dead code=", ToString(code), "\n"); }

std::string ArmLine(const ArmedField& field) {
  return StrCat("arm code=", ToString(field.code), " field=", ToString(field.field),
                " size=", field.size, " original=", field.original, " armed=", field.armed,
                " fingerprint=", field.fingerprint, "\n");
}

std::string ProbeLine(const PlacedProbe& probe) {
  return StrCat("probe address=", ToString(probe.address), " device=", probe.device,
                " inode=", probe.inode, " offset=0x", absl::Hex(probe.file_offset), "\n");
}

}  // namespace

std::string ReadBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

struct Journal::OpenOnes {
  std::mutex mutex;
  // By pid and start: of a process that runs another program now, its latest.
  std::map<std::pair<pid_t, uint64_t>, std::weak_ptr<Live>> journals;  // guarded by mutex
};

Journal::OpenOnes& Journal::AllOpen() {
  static OpenOnes all;
  return all;
}

absl::StatusOr<Journal> Journal::Create(const std::string& state_dir, const TargetId& target,
                                        const ImageRandom& random, const TargetId& keeper) {
  const std::string directory = DirectoryOf(state_dir);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoStatus(errno, StrCat("mkdir ", directory));
  const std::string path = PathOf(state_dir, target);
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return ErrnoStatus(errno, StrCat("pid ", target.pid, ": cannot create the journal ", path,
                                     ", and nothing is armed without one"));
  }
  flock(file.get(), LOCK_EX);  // who claimed the empty file lets go of it at once
  Journal journal(std::move(file), path);
  journal.begun_ = {.target = target,
                    .boot_id = ReadBootId(),
                    .begun_ticks = TicksNow(),
                    .random = random,
                    .keeper = keeper};
  absl::Status status = journal.Reserve();
  if (status.ok()) status = journal.Append(journal.Header());
  if (!status.ok()) {
    unlink(path.c_str());
    return Annotate(status,
                    StrCat("pid ", target.pid,
                           ": no journal, so nothing is armed; free space or choose another "
                           "--state-dir"));
  }
  OpenOnes& all = AllOpen();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.journals, [](const auto& entry) { return entry.second.expired(); });
  all.journals[{target.pid, target.start_ticks}] = journal.live_;
  return journal;
}

std::vector<ArmedField> Journal::NotNamed(const TargetId& target, std::vector<ArmedField> fields) {
  OpenOnes& all = AllOpen();
  std::shared_ptr<Live> live;
  {
    std::lock_guard lock(all.mutex);
    const auto found = all.journals.find({target.pid, target.start_ticks});
    if (found != all.journals.end()) live = found->second.lock();
  }
  if (live == nullptr) return fields;
  std::lock_guard lock(live->mutex);
  std::erase_if(fields, [&](const ArmedField& field) {
    const auto named = live->fields.find({field.code.value, field.field.value});
    return named != live->fields.end() && named->second.fingerprint == field.fingerprint;
  });
  return fields;
}

std::string Journal::Header() const {
  const ImageRandom& random = *begun_.random;
  return StrCat(kMagic, " pid=", begun_.target.pid, " start_ticks=", begun_.target.start_ticks,
                " boot_id=", begun_.boot_id, " begun_ticks=", begun_.begun_ticks,
                " random_addr=", ToString(random.addr), " random0=0x", absl::Hex(random.bytes[0]),
                " random1=0x", absl::Hex(random.bytes[1]), " keeper_pid=", begun_.keeper->pid,
                " keeper_start_ticks=", begun_.keeper->start_ticks, "\n");
}

JournalContents Journal::Contents() const {
  JournalContents contents = begun_;
  contents.fields = FieldsOf(live_->fields);
  contents.dead.assign(dead_.begin(), dead_.end());
  contents.probes = probes_;
  contents.bump_begun = bump_begun_;
  return contents;
}

absl::Status Journal::Reserve() {
  if (reserved_ >= written_ + kReserveBytes / 2) return absl::OkStatus();
  const uint64_t want = written_ + kReserveBytes;
  if (const int error = posix_fallocate(file_.get(), 0, static_cast<off_t>(want)); error != 0) {
    return ErrnoStatus(error, StrCat("reserving space in ", path_));
  }
  reserved_ = want;
  return absl::OkStatus();
}

absl::Status Journal::Append(std::string_view lines) {
  SB_RETURN_IF_ERROR(Write(lines));
  return Reserve();
}

absl::Status Journal::Write(std::string_view lines) {
  uint64_t at = written_;
  while (!lines.empty()) {
    const ssize_t n = pwrite(file_.get(), lines.data(), lines.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    // What was half written is written over by the next lines.
    if (n <= 0) return ErrnoStatus(errno, StrCat("writing ", path_));
    at += static_cast<uint64_t>(n);
    lines.remove_prefix(static_cast<size_t>(n));
  }
  written_ = at;
  return absl::OkStatus();
}

std::string Journal::Text(size_t most_dead) const {
  std::string text = Header();
  for (const PlacedProbe& probe : probes_) text += ProbeLine(probe);
  for (size_t i = dead_.size() - std::min(dead_.size(), most_dead); i < dead_.size(); ++i)
    text += ArmLine(dead_[i]) + DeadLine(dead_[i].code);
  for (const auto& [key, field] : live_->fields) text += ArmLine(field);
  if (bump_begun_) text += kBumpBegin;
  return text;
}

// The new file takes the old one's name in one step: at any moment there is a whole journal.
absl::Status Journal::Compact() {
  const std::string text = Text(kMostDeadInShortened);
  compact_at_ = std::max<uint64_t>(kCompactBytes, 2 * text.size());
  const std::string path = path_ + ".new";
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return ErrnoStatus(errno, StrCat("creating ", path));
  flock(file.get(), LOCK_EX | LOCK_NB);
  Journal fresh(std::move(file), path);
  absl::Status status = fresh.Reserve();
  if (status.ok()) status = fresh.Append(text);
  if (status.ok() && rename(path.c_str(), path_.c_str()) != 0)
    status = ErrnoStatus(errno, StrCat("renaming ", path));
  if (!status.ok()) {
    unlink(path.c_str());
    return status;
  }
  file_ = std::move(fresh.file_);
  written_ = fresh.written_;
  reserved_ = fresh.reserved_;
  return absl::OkStatus();
}

absl::Status Journal::WillArm(const std::vector<ArmedField>& fields) {
  std::string lines;
  for (const ArmedField& field : fields) lines += ArmLine(field);
  SB_RETURN_IF_ERROR(Append(lines));
  std::lock_guard lock(live_->mutex);
  for (const ArmedField& field : fields) Remember(live_->fields, dead_, field);
  return absl::OkStatus();
}

absl::Status Journal::WillProbe(const std::vector<PlacedProbe>& probes) {
  std::string lines;
  std::vector<PlacedProbe> fresh;
  for (const PlacedProbe& probe : probes) {
    if (std::find(probes_.begin(), probes_.end(), probe) != probes_.end()) continue;
    lines += ProbeLine(probe);
    fresh.push_back(probe);
  }
  SB_RETURN_IF_ERROR(Append(lines));
  probes_.insert(probes_.end(), fresh.begin(), fresh.end());
  return absl::OkStatus();
}

absl::Status Journal::WillBump() {
  bump_begun_ = true;
  return Append(kBumpBegin);
}

absl::Status Journal::DidBump() {
  bump_begun_ = false;
  return Append("bump done\n");
}

void Journal::Died(RemoteAddr code) {
  {
    std::lock_guard lock(live_->mutex);
    Forget(live_->fields, dead_, code);
  }
  Append(DeadLine(code)).IgnoreError();
}

void Journal::Tidy() {
  if (written_ >= compact_at_) Compact().IgnoreError();  // the long one is as good
}

bool Journal::NeverBegun(std::string_view text) {
  return text.substr(0, text.find('\0')).find('\n') == std::string_view::npos;
}

absl::StatusOr<JournalContents> Journal::Parse(std::string_view text) {
  // The reserved rest of the file is zeros.
  text = text.substr(0, text.find('\0'));
  JournalContents contents;
  ArmedFields armed;
  std::deque<ArmedField> dead;
  bool first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // never acted on
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!first) {
      if (!ParseLine(line, armed, dead, contents).ok()) ++contents.bad_lines;
      continue;
    }
    first = false;
    if (!line.starts_with(StrCat(kMagic, " ")))
      return absl::DataLossError("not a journal of sbump");
    const auto fields = ParseFields(line);
    SB_RETURN_IF_ERROR(ParseNumber(fields, "pid", contents.target.pid));
    SB_RETURN_IF_ERROR(ParseNumber(fields, "start_ticks", contents.target.start_ticks));
    if (const auto boot = fields.find("boot_id"); boot != fields.end())
      contents.boot_id = boot->second;
    ImageRandom random;
    if (ParseNumber(fields, "begun_ticks", contents.begun_ticks).ok() &&
        ParseNumber(fields, "random_addr", random.addr.value).ok() &&
        ParseNumber(fields, "random0", random.bytes[0]).ok() &&
        ParseNumber(fields, "random1", random.bytes[1]).ok())
      contents.random = random;
    TargetId keeper;
    if (ParseNumber(fields, "keeper_pid", keeper.pid).ok() &&
        ParseNumber(fields, "keeper_start_ticks", keeper.start_ticks).ok())
      contents.keeper = keeper;
  }
  if (first) return absl::DataLossError("an empty journal");
  contents.fields = FieldsOf(armed);
  contents.dead.assign(dead.begin(), dead.end());
  return contents;
}

}  // namespace sbump
