"""The interpreters that the tests run on: those of tests/lib/interpreters.py, chosen by what they are for."""
import contextlib
import functools
import glob
import io
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "lib"))
import interpreters  # noqa: E402  (tests/lib)


class Python:
    def __init__(self, path, version, build):
        self.path = path
        self.version = version
        self.name = ".".join(map(str, version)) + ("_debian" if build == interpreters.STATIC else "")

    def __repr__(self):
        return "Python " + self.name


@functools.lru_cache(maxsize=None)
def _found():
    with contextlib.redirect_stdout(io.StringIO()):
        return interpreters.find()


@functools.lru_cache(maxsize=None)
def supported():
    return [Python(one.path, one.version, one.build) for one in _found() if one.supported]


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
    """One interpreter for each way of arming; 3.13 beside 3.12, because it bumps the version in two places."""
    chosen = {}
    for python in supported():
        chosen[max(python.version[1], 10)] = python
    return list(chosen.values())


def any_supported():
    """For what is about the daemon alone. Debian's own where there is one: every machine can run that."""
    all_of_them = supported()
    return next((one for one in all_of_them if one.name.endswith("_debian")), all_of_them[-1])


def newest(at_least):
    """The newest interpreter, or None where it is older than `at_least`."""
    python = supported()[-1]
    return python if python.version[:2] >= at_least else None
