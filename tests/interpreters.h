// The CPython interpreters of this machine, for tests that check against real ones.
#pragma once

#include <string>
#include <vector>

#include "daemon/cpython/version.h"

namespace sbump {

struct InstalledPython {
  std::string executable;
  PythonVersion version;  // as the interpreter itself says
  std::string elf_path;   // the file that holds the interpreter: its libpython, or the executable;
                          // below its own root where it has one (tests/lib/debian_roots.sh)
};

// SBUMP_PYTHONS (executables, separated by colons) when it is set; else those of pyenv (PYENV_ROOT,
// or `pyenv root` when pyenv is on PATH) and /usr/bin/python3.*. One per ELF file; what does not
// run is left out.
std::vector<InstalledPython> FindInterpreters();

// What it prints when it runs the script (a path from here); empty where that fails.
std::string OutputOfScript(const InstalledPython& interpreter, const std::string& script);

}  // namespace sbump
