"""The interpreters that the tests run on: those of tests/lib/interpreters.py, chosen by what they are for."""
import contextlib
import functools
import glob
import io
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "lib"))
import interpreters  # noqa: E402  (tests/lib)


class Python:
    def __init__(self, path, version, build, file=None, free_threaded=False):
        self.path = path
        self.version = version
        self.file = file  # the program or library that holds the interpreter, as seen from outside
        self.free_threaded = free_threaded
        self.name = ".".join(map(str, version)) + ("t" if free_threaded else "") + interpreters.SUFFIXES.get(build, "")

    @functools.cached_property
    def has_jit(self):
        """Compiled in, and on where the environment says so."""
        answer = subprocess.run([self.path, "-c", "import sys; print(sys._jit.is_enabled())"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=20, env={**os.environ, "PYTHON_JIT": "1"})
        return answer.stdout.strip() == b"True"

    @functools.cached_property
    def library(self):
        """A libpython of that very version that programs built here can load, by its name where it runs; or None."""
        answer = subprocess.run([self.path, "-c", "import os, sysconfig as s; print(os.confstr('CS_GNU_LIBC_VERSION'));"
                                 "print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'))"],
                                stdout=subprocess.PIPE, timeout=20, check=True)
        glibc, path = answer.stdout.decode().splitlines()
        if _numbers(glibc) < _numbers(os.confstr("CS_GNU_LIBC_VERSION")):
            return None  # of an older system, on which such programs do not run
        return path if ".so" in path and os.path.exists(self.from_here(path)) else None

    def from_here(self, path):
        """The name, outside its root, of what `path` is to the interpreter."""
        return (self.root or "") + path

    @property
    def among(self):
        """Put before the command of another program: it runs below the interpreter's root."""
        return [self.path, "-I", "-S", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"] if self.root else []

    @functools.cached_property
    def prefix(self):
        """What PYTHONHOME must say where the interpreter cannot find its modules by its own place."""
        answer = subprocess.run([self.path, "-c", "import sys; print(sys.base_prefix)"], stdout=subprocess.PIPE,
                                timeout=20, check=True)
        return answer.stdout.decode().strip()

    @functools.cached_property
    def root(self):
        """The root directory of the system that it came with, where that is not this machine's; else None."""
        path = os.path.realpath(self.file or "")
        root = path[:-len("/usr/bin/python3.%d" % self.version[1])]
        return root if root and path == "%s/usr/bin/python3.%d" % (root, self.version[1]) else None

    def __repr__(self):
        return "Python " + self.name


def _numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


@functools.lru_cache(maxsize=None)
def _found():
    with contextlib.redirect_stdout(io.StringIO()):
        return interpreters.find()


@functools.lru_cache(maxsize=None)
def supported():
    return [Python(one.path, one.version, one.build, one.elf, one.free_threaded) for one in _found() if one.supported]


@functools.lru_cache(maxsize=None)
def with_torch():
    """Those that can import torch: of SBUMP_TORCH_PYTHONS (paths joined by `:`) where that is set, else of the supported."""
    named = os.environ.get("SBUMP_TORCH_PYTHONS")
    with contextlib.redirect_stdout(io.StringIO()):
        found = [Python(one.path, one.version, one.build, one.elf) for one in
                 map(interpreters.Interpreter, named.split(":"))] if named else supported()
    return [one for one in found if not one.free_threaded and _can_import(one, "torch")]


@functools.lru_cache(maxsize=None)
def with_greenlet():
    return [one for one in supported() if not one.free_threaded and _can_import(one, "greenlet")]


@functools.lru_cache(maxsize=None)
def with_torch_and_greenlet():
    return [one for one in with_torch() if _can_import(one, "greenlet")]


def _can_import(python, name):
    ask = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    return subprocess.run([python.path, "-c", ask, name], stderr=subprocess.DEVNULL, timeout=20).returncode == 0


@functools.lru_cache(maxsize=None)
def unsupported():
    """CPythons that sbump refuses, Python 2 beside the others of a version manager included."""
    refused = [Python(one.path, one.version, one.build) for one in _found()
               if one.implementation == "CPython" and not one.supported]
    versions = {os.path.dirname(os.path.dirname(os.path.dirname(one.path))) for one in _found()}
    for path in sorted(sum((glob.glob(one + "/2.*/bin/python2") for one in versions), [])):
        answer = subprocess.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
        if answer.returncode == 0:
            refused.append(Python(path, tuple(map(int, answer.stdout.split(b"."))), None))
    return refused


@functools.lru_cache(maxsize=None)
def one_per_mechanism():
    """One interpreter for each way of arming. 3.13 bumps the version in two places; from 3.14 on the site is another,
    and 3.15 has other opcodes and inline caches than 3.14."""
    return list({max(python.version[1], 10): python for python in supported()}.values())


def any_supported():
    """For what is about the daemon alone. Debian's own where there is one: every machine can run that."""
    all_of_them = supported()
    return next((one for one in all_of_them if one.path.startswith("/usr/bin/")), all_of_them[-1])


def newest(at_least):
    """The newest interpreter, or None where it is older than `at_least`."""
    python = supported()[-1]
    return python if python.version[:2] >= at_least else None
