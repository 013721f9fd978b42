"""tests/e2e/targets/embeds.c: a C program with an interpreter in it, built for one test."""
import os
import subprocess

from harness.target import TARGETS, Target

NOT_STARTED = "-"


def build(directory, linked_with=None):
    """The program in `directory`: linked with the libpython of a Python, or one that opens those that it is told to."""
    program = os.path.join(directory, "embeds")
    flags = []
    if linked_with:
        # What a library of another system needs is beside it, not here.
        flags = ["-DLINKED", linked_with.from_here(linked_with.library), "-Wl,--allow-shlib-undefined",
                 "-Wl,-rpath," + os.path.dirname(linked_with.library)]
    subprocess.run(["/usr/bin/gcc", "-O1", "-o", program, str(TARGETS / "embeds.c"), *flags, "-ldl"], check=True)
    return program


class Embedded(Target):
    """Serves `script` from `program`. With libraries, [(path, home), ...]: from the first of them."""

    def __init__(self, program, script, libraries=(), env=None, prefix=()):
        self.file = str(TARGETS / script)
        self.start([*prefix, program, self.file, *sum(map(list, libraries), [])], env)
