// One set of programs that is loaded already, for the next process of a session that runs the same
// interpreter: loading keeps the verifier busy for 15 ms and more, in which a new process would
// run, or stand.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "daemon/attach/programs.h"

namespace sbump {

// Safe from any thread.
class ProgramReserve {
 public:
  using Loaded = absl::StatusOr<std::unique_ptr<Programs>>;
  using Loader = std::function<Loaded(const sb_config&, ProgramSet)>;

  explicit ProgramReserve(Loader loader = Programs::Load) : loader_(std::move(loader)) {}
  ProgramReserve(const ProgramReserve&) = delete;
  ProgramReserve& operator=(const ProgramReserve&) = delete;

  // As Programs::Load(), and has more of the same loaded beside what the caller does next. What was
  // asked for last is given out at once, or once it is loaded; errors are those of loading here.
  Loaded Take(const sb_config& config, ProgramSet set);
  // What is loaded goes, and nothing more is loaded ahead.
  void Close();

 private:
  struct Spare {
    sb_config config{};
    ProgramSet set;
    std::future<Loaded> programs;
  };

  // The spare where it is of this kind; another one is made in any case, until Close().
  std::future<Loaded> Exchange(const sb_config& config, ProgramSet set);

  const Loader loader_;
  std::mutex mutex_;
  std::optional<Spare> spare_;  // guarded by mutex_
  bool closed_ = false;         // guarded by mutex_
};

}  // namespace sbump
