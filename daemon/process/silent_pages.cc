#include "daemon/process/silent_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/base/clock.h"
#include "daemon/process/target_process.h"

namespace sbump {
namespace {

constexpr uint64_t kLookEveryNs = 250'000'000;
constexpr size_t kMaxMapsBytes = size_t{128} << 20;
constexpr size_t kMaxMountinfoBytes = size_t{16} << 20;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62;

bool MayNeverAnswer(std::string_view type) {
  constexpr std::string_view kServed[] = {"9p",  "afs",  "ceph",  "cifs",     "coda", "gfs2",
                                          "nfs", "nfs4", "ocfs2", "orangefs", "smb3"};
  return type.starts_with("fuse") ||
         std::find(std::begin(kServed), std::end(kServed), type) != std::end(kServed);
}

// "8:1"
bool ParseDevice(std::string_view text, uint64_t& device) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  unsigned major = 0, minor = 0;
  const auto first = std::from_chars(text.data(), text.data() + colon, major);
  const auto second = std::from_chars(text.data() + colon + 1, text.data() + text.size(), minor);
  device = makedev(major, minor);
  return first.ec == std::errc() && second.ec == std::errc();
}

// Of memory that has no mount: memfd_create(2), shared anonymous.
uint64_t DeviceOfSharedMemory() {
  const Fd file(memfd_create("sbump", MFD_CLOEXEC));
  struct stat st {};
  return file.valid() && fstat(file.get(), &st) == 0 ? st.st_dev : 0;
}

std::map<uint64_t, bool> KnownDevices(int proc_dirfd, pid_t pid) {
  std::map<uint64_t, bool> known;
  // Files may be mapped from the machine's own mounts, or those of a container below it.
  const Fd self(open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const int dir : {proc_dirfd, self.get()}) {
    const auto text = ReadProcFile(dir, "mountinfo", kMaxMountinfoBytes, pid);
    if (text.ok()) known.merge(ParseMountinfo(*text));
  }
  known.emplace(DeviceOfSharedMemory(), false);
  return known;
}

}  // namespace

std::map<uint64_t, bool> ParseMountinfo(std::string_view text) {
  std::map<uint64_t, bool> devices;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    uint64_t device = 0;
    if (fields.size() < 3 || dash == fields.end() || dash + 1 == fields.end()) continue;
    if (!ParseDevice({fields[2].data(), fields[2].size()}, device)) continue;
    devices[device] = MayNeverAnswer({dash[1].data(), dash[1].size()});
  }
  return devices;
}

absl::StatusOr<SilentPages> SilentPages::Open(int proc_dirfd, pid_t pid) {
  Fd dir(fcntl(proc_dirfd, F_DUPFD_CLOEXEC, 0));
  if (!dir.valid()) return ErrnoStatus(errno, absl::StrCat("pid ", pid, ": duplicate /proc/", pid));
  Fd pagemap(openat(proc_dirfd, "pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.valid())
    return ErrnoStatus(errno, absl::StrCat("pid ", pid, ": open /proc/", pid, "/pagemap"));
  return SilentPages(std::move(dir), std::move(pagemap), pid);
}

absl::Status SilentPages::Check(RemoteAddr addr, size_t size) const {
  const std::lock_guard lock(state_->mutex);
  if (MonotonicNs() - state_->looked_ns >= kLookEveryNs) {
    // Who reads a few bytes now and then need not know the whole map.
    if (size <= kPageBytes && InMemory(addr.value, addr.value + size)) return absl::OkStatus();
    SB_RETURN_IF_ERROR(Look(*state_));
  }
  for (const Mapping& mapping : state_->may_never) {
    const uint64_t begin = std::max(addr.value, mapping.start.value);
    const uint64_t end = std::min(addr.value + size, mapping.end.value);
    if (begin >= end || InMemory(begin, end)) continue;
    return absl::DataLossError(absl::StrCat(
        "pid ", pid_, ": read ", size, " bytes at ", ToString(addr), ": a page of ", mapping.path,
        ", whose file system may never answer (FUSE, network), and which is not in memory"));
  }
  return absl::OkStatus();
}

absl::Status SilentPages::Look(State& state) const {
  const auto text = ReadProcFile(dir_.get(), "maps", kMaxMapsBytes, pid_);
  state.looked_ns = MonotonicNs();
  state.may_never.clear();
  if (!text.ok()) return absl::OkStatus();  // it has ended, and so the read will fail
  SB_ASSIGN_OR_RETURN(std::vector<Mapping> mappings, ParseMaps(*text));
  const std::map<uint64_t, bool> known = KnownDevices(dir_.get(), pid_);
  for (Mapping& mapping : mappings) {
    if (mapping.inode == 0) continue;
    // A device that no mount shows: its mount was taken away while the file was mapped.
    const auto found = known.find(mapping.device);
    if (found == known.end() || found->second) state.may_never.push_back(std::move(mapping));
  }
  return absl::OkStatus();
}

bool SilentPages::InMemory(uint64_t begin, uint64_t end) const {
  std::array<uint64_t, 512> entries;
  for (uint64_t page = begin / kPageBytes; page <= (end - 1) / kPageBytes; page += entries.size()) {
    const size_t count = std::min<uint64_t>(entries.size(), (end - 1) / kPageBytes - page + 1);
    const ssize_t bytes = static_cast<ssize_t>(count * sizeof(uint64_t));
    if (pread(pagemap_.get(), entries.data(), static_cast<size_t>(bytes),
              static_cast<off_t>(page * sizeof(uint64_t))) != bytes) {
      return false;
    }
    const auto is_there = [](uint64_t entry) { return (entry & (kPresent | kSwapped)) != 0; };
    if (!std::all_of(entries.begin(), entries.begin() + count, is_there)) return false;
  }
  return true;
}

}  // namespace sbump
