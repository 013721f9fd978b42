// tests/native/fixture.cc as it was built.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "daemon/process/elf_file.h"

namespace sbump {

inline std::string FixturePath(const std::string& name) { return "tests/native/" + name; }

inline ElfFile OpenFixture(const std::string& name = "libfixture.so") {
  const std::string path = FixturePath(name);
  auto elf = ElfFile::Open(Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
  if (!elf.ok()) {
    ADD_FAILURE() << path << ": " << elf.status();
    std::abort();
  }
  return *std::move(elf);
}

}  // namespace sbump
