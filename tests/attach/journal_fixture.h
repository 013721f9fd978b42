// A journal in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "daemon/attach/journal.h"
#include "tests/fakes/temp_dir.h"

namespace sbump {

inline constexpr TargetId kTarget{.pid = 1234, .start_ticks = 567};
inline constexpr ImageRandom kRandom{
    .addr = {0x7ffc00001000}, .bytes = {0x0123456789abcdef, std::numeric_limits<uint64_t>::max()}};

inline constexpr TargetId kKeeper{.pid = 1230, .start_ticks = 560};

inline ArmedField Field(uint64_t code) {
  return {.code = {code},
          .field = {code + 192},
          .size = 1,
          .original = 151,
          .armed = 240,
          .fingerprint = 0xdeadbeef};
}

class JournalTest : public testing::Test {
 protected:
  absl::StatusOr<Journal> Create() {
    return Journal::Create(state_dir_, kTarget, kRandom, kKeeper);
  }
  static std::string TextOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // As a restarted daemon finds it.
  static JournalContents Reread(const Journal& journal) {
    const auto contents = Journal::Parse(TextOf(journal.path()));
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.value_or(JournalContents{});
  }
  const std::string& state_dir() const { return state_dir_; }

 private:
  const TempDir temp_dir_{"journal"};
  const std::string state_dir_ = temp_dir_.path();
};

}  // namespace sbump
