"""tests/e2e/targets/engine.cc: a program without Python, and its library, built for one test."""
import os
import subprocess

from harness import traces
from harness.child import Child
from harness.target import TARGETS, Target

SOURCE = str(TARGETS / "engine.cc")


def build(directory):
    """engine and libengine.so in `directory`."""
    flags = ["/usr/bin/g++", "-O1", "-fno-omit-frame-pointer", "-std=c++17"]
    library = os.path.join(directory, "libengine.so")
    subprocess.run([*flags, "-DLIBRARY", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    subprocess.run([*flags, "-o", os.path.join(directory, "engine"), SOURCE, "-L" + directory, "-lengine",
                    "-Wl,-rpath,$ORIGIN", "-ldl", "-lpthread"], check=True)
    return library


class Program(Target):
    """As a Target, with requests in words."""

    def __init__(self, *command):
        self.file = command[-1]
        self.child = Child(list(command))
        self._answers = 0
        self.pid = self.answer()["pid"]
        self.start_ticks = traces.start_ticks(self.pid)

    def send(self, name, *arguments):
        self.child.process.stdin.write(" ".join(map(str, [name, *arguments])).encode() + b"\n")
        self.child.process.stdin.flush()
