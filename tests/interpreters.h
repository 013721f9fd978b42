// The CPython interpreters of this machine, for tests that check against real ones.
#pragma once

#include <string>
#include <vector>

#include "daemon/cpython/version.h"

namespace sbump {

struct Interpreter {
  std::string executable;
  PythonVersion version;  // as the interpreter itself says
  std::string elf_path;   // the file that holds the interpreter: its libpython, or the executable
};

// SBUMP_PYTHONS (executables, separated by colons) when it is set; else those of pyenv (PYENV_ROOT,
// or `pyenv root` when pyenv is on PATH) and /usr/bin/python3.*. One per ELF file; what does not
// run is left out.
std::vector<Interpreter> FindInterpreters();

}  // namespace sbump
