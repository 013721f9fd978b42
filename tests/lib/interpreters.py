"""The Python interpreters of this machine that live tests run on, and what is missing.

  interpreters.py --output FILE [--also LIST]

Candidates: SBUMP_PYTHONS (paths joined by `:`) if set; else the versions of pyenv, where the caller has
pyenv, Debian's /usr/bin/python3.*, and those in LIST, one a line. Prints the matrix; writes the executables joined by `:` to FILE,
and what they said of themselves to FILE.facts: in SBUMP_PYTHONS_FACTS, it saves each test the 4 s that asking them takes.
With CI=true an incomplete matrix is an error that names what is missing.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys

ASK = (
    "import sys, os, json, platform, sysconfig; "
    "libs = [l.split()[-1] for l in open('/proc/self/maps') if '/libpython3.' in l]; "
    "print(json.dumps([platform.python_implementation(), list(sys.version_info[:3]),"
    " os.environ.get('SBUMP_TEST_ROOT', '') + (libs[0] if libs else os.path.realpath('/proc/self/exe')),"
    " bool(libs), bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)
OLDEST, NEWEST = (3, 8), (3, 15)

SHARED, STATIC = "shared library, symbols", "static, stripped (Debian)"
# What the names of test cases say of the build, after the version.
SUFFIXES = {SHARED: "", STATIC: "_debian", "static, symbols": "_static", "shared library, stripped": "_stripped"}
# What CI must cover: version, and its build where both count.
MATRIX = [((3, 8), None), ((3, 9), SHARED), ((3, 9), STATIC), ((3, 10), None), ((3, 11), SHARED), ((3, 11), STATIC),
          ((3, 12), None), ((3, 13), SHARED), ((3, 13), STATIC), ((3, 14), STATIC), ((3, 15), STATIC)]


def pyenv_root():
    root = os.environ.get("PYENV_ROOT")
    if root:
        return root
    pyenv = shutil.which("pyenv", path=os.environ.get("CALLER_PATH", os.environ.get("PATH", "")))
    if not pyenv:
        return None
    answer = subprocess.run([pyenv, "root"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
    return answer.stdout.decode().strip() or None


def candidates(also=()):
    named = os.environ.get("SBUMP_PYTHONS")
    if named:
        return [path for path in named.split(":") if path]
    found = []
    root = pyenv_root()
    if root:
        found += sorted(glob.glob(root + "/versions/3.*/bin/python3"))
    for pattern in ("/usr/bin/python3.[0-9]", "/usr/bin/python3.[0-9][0-9]"):
        found += sorted(glob.glob(pattern))
    return found + list(also)


class Interpreter:
    def __init__(self, path):
        self.path = path
        self.facts = json.loads(os.environ.get("SBUMP_PYTHONS_FACTS") or "{}").get(path) or self.ask()
        self.implementation, version, self.elf, self.is_shared, self.free_threaded, self.has_symbols = self.facts
        self.version = tuple(version)

    def ask(self):
        answer = subprocess.run([self.path, "-I", "-S", "-c", ASK], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=30)
        facts = json.loads(answer.stdout.decode())
        sections = subprocess.run(["readelf", "-SW", facts[2]], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=30).stdout
        return facts + [b" .symtab " in sections]

    @property
    def build(self):
        if self.is_shared and self.has_symbols:
            return SHARED
        if not self.is_shared and not self.has_symbols:
            return STATIC
        return "%s, %s" % ("shared library" if self.is_shared else "static",
                           "symbols" if self.has_symbols else "stripped")

    @property
    def supported(self):
        if self.free_threaded:
            return self.version[:2] == (3, 13)
        return self.implementation == "CPython" and OLDEST <= self.version[:2] <= NEWEST

    def covers(self, version, build):
        return (self.supported and not self.free_threaded and self.version[:2] == version and
                build in (None, self.build))


def find(also=()):
    found, files = [], set()
    for path in candidates(also):
        try:
            interpreter = Interpreter(path)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            print("       %s does not run as a Python 3: left out" % path)
            continue
        if interpreter.elf not in files:
            files.add(interpreter.elf)
            found.append(interpreter)
    return sorted(found, key=lambda one: (one.version, one.build))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--also")
    options = parser.parse_args()
    also = []
    if options.also:
        with open(options.also) as file:
            also = file.read().split()
    found = find(also)
    for one in found:
        print("       %-8s %-7s %-26s %s" % (
            ".".join(map(str, one.version)), one.implementation, one.build,
            "" if one.supported else "(not supported: for the tests of refusals)"))
    missing = ["%d.%d%s" % (version + ("" if build is None else " (%s)" % build,))
               for version, build in MATRIX if not any(one.covers(version, build) for one in found)]
    with open(options.output, "w") as file:
        file.write(":".join(one.path for one in found))
    with open(options.output + ".facts", "w") as file:
        json.dump({one.path: one.facts for one in found}, file)
    if not missing:
        return 0
    if os.environ.get("CI") == "true":
        print("With CI=true the whole matrix is needed; missing: CPython " + ", ".join(missing), file=sys.stderr)
        return 1
    print("       not covered on this machine: CPython " + ", ".join(missing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
