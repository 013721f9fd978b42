// What sbump wrote into one process, on disk before it is written there: a restarted daemon undoes
// what a killed one left. One file per process in STATE_DIR/journal; removed when everything is
// undone. Text lines, so that a person can read them; a last line without its end was never acted
// on.
//
//   sbump-journal 1 pid=1234 start_ticks=567 boot_id=... begun_ticks=890 random_addr=0x...
//       random0=0x... random1=0x... keeper_pid=1230 keeper_start_ticks=560      (in one line)
//   arm code=0x... field=0x... size=1 original=151 armed=240 fingerprint=3735928559
//   dead code=0x...
//   probe address=0x... device=2049 inode=1234 offset=0x...
//   bump begin
//   bump done
//   undone
//
// Space for kReserveBytes more is always allocated beforehand, so that a full disk is found at
// attach and not in a hold.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/process/image_random.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

// One field of one code object that was (or is about to be) changed.
struct ArmedField {
  RemoteAddr code;
  RemoteAddr field;
  uint32_t size = 0;  // 1 or 4 bytes
  int32_t original = 0;
  int32_t armed = 0;
  uint32_t fingerprint = 0;

  bool operator==(const ArmedField&) const = default;
};

// A probe on a native function. (Those on the interpreter are known by its file.)
struct PlacedProbe {
  RemoteAddr address;
  uint64_t device = 0, inode = 0;  // of the mapped file
  uint64_t file_offset = 0;

  bool operator==(const PlacedProbe&) const = default;
};

// By code object and field: a journal may have a hundred thousand of them.
using ArmedFields = std::map<std::pair<uint64_t, uint64_t>, ArmedField>;

// The line of KeepForCopies().
inline constexpr std::string_view kUndoneLine = "undone";

struct JournalContents {
  TargetId target;
  std::string boot_id;
  // On the clock of TargetId's, before anything was armed: what it forked earlier has no copies.
  uint64_t begun_ticks = 0;
  std::optional<ImageRandom> random;  // of its program's image: what it forks has the same
  std::optional<TargetId> keeper;     // the process that holds the probes (link_keeper.h)
  std::vector<ArmedField> fields;     // armed and not known to be dead
  // The last of those that died: what was forked before has them still.
  std::vector<ArmedField> dead;
  std::vector<PlacedProbe> probes;
  bool bump_begun = false;  // a version bump may be half done
  bool is_undone = false;   // in the process itself: only what it forked is left to look at
  int bad_lines = 0;        // that could not be read, and were left out
};

class Journal {
 public:
  static constexpr uint64_t kReserveBytes = 256 * 1024;
  // A process that makes and drops code objects all the time must not fill the disk: from this size
  // on the file is rewritten with no more than the last of the dead.
  static constexpr uint64_t kCompactBytes = 1024 * 1024;

  // Creates STATE_DIR/journal/PID-START (0600). kResourceExhausted when the disk is full,
  // kAlreadyExists when there is one already (recovery has not been possible).
  static absl::StatusOr<Journal> Create(const std::string& state_dir, const TargetId& target,
                                        const ImageRandom& random, const TargetId& keeper);

  // Returns only when the lines are in the file: then the fields may be written.
  absl::Status WillArm(const std::vector<ArmedField>& fields);
  absl::Status WillProbe(const std::vector<PlacedProbe>& probes);
  absl::Status WillBump();
  absl::Status DidBump();
  // Best effort: without it recovery re-validates a dead object and leaves it alone.
  void Died(RemoteAddr code);
  // To be called now and then, not while a thread waits: shortens a long journal.
  void Tidy();

  // What a daemon that reads the file would find.
  JournalContents Contents() const;

  // Makes room for the next journal of the process: until Remove() this one lies beside it.
  absl::Status StepAside();
  // The process itself is undone, and something that it forked is not yet: steps aside until then.
  // After an error it stays as it is.
  absl::Status KeepForCopies();
  // The same for one that was left at `path`, and claimed.
  static absl::Status KeepForCopies(const std::string& path, std::string_view text);
  // Everything is undone: removes the file.
  absl::Status Remove();
  // Keeps the file for a later recovery.
  const std::string& path() const { return path_; }

  static std::string PathOf(const std::string& state_dir, const TargetId& target);
  // Without a whole first line: its daemon died before it could arm anything.
  static bool NeverBegun(std::string_view text);
  static absl::StatusOr<JournalContents> Parse(std::string_view text);
  // To be held while a journal that was left is read and undone. kAlreadyExists while its session
  // lives, in any daemon (flock(2)); kNotFound where there is none any more.
  static absl::StatusOr<Fd> Claim(const std::string& path);
  // Removes one that was claimed, unless another one has its path.
  static void RemoveClaimed(const std::string& path, const Fd& claim);
  // Those of `fields` that no journal which this daemon has open about that process names: the
  // others are undone with that one.
  static std::vector<ArmedField> NotNamed(const TargetId& target, std::vector<ArmedField> fields);
  // Paths of the journals in STATE_DIR.
  static std::vector<std::string> List(const std::string& state_dir);

 private:
  // What of it other threads may ask for.
  struct Live {
    std::mutex mutex;
    ArmedFields fields;  // guarded by mutex; changed by the journal's own thread only
  };
  struct OpenOnes;

  Journal(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  static OpenOnes& AllOpen();
  static std::string DirectoryOf(const std::string& state_dir);
  std::string Header() const;
  std::string Text(size_t most_dead) const;
  absl::Status Write(std::string_view lines);
  absl::Status Append(std::string_view lines);
  absl::Status Compact();
  absl::Status Reserve();

  Fd file_;
  std::string path_;
  bool is_aside_ = false;
  JournalContents begun_;                                  // its first line
  std::shared_ptr<Live> live_ = std::make_shared<Live>();  // what a shorter journal has to say
  std::deque<ArmedField> dead_;
  std::vector<PlacedProbe> probes_;
  bool bump_begun_ = false;
  uint64_t compact_at_ = kCompactBytes;
  uint64_t written_ = 0;
  uint64_t reserved_ = 0;
};

// This boot's id: a journal of another boot is about processes that are gone.
std::string ReadBootId();

}  // namespace sbump
