"""An interpreter whose file belongs to one test, which may delete, replace or damage it."""
import copy
import os
import shutil

from harness import embedding
from harness.target import TARGETS, Target


class Copy:
    """Of the program or library that holds `python`, in a directory of its own."""

    def __init__(self, python, directory):
        self.python = python
        self.file = shutil.copy(python.file, directory)
        self._program = embedding.build(directory) if python.library == python.file else None

    def start(self, script="calls.py"):
        if self._program:
            return embedding.Embedded(self._program, script, [(self.file, self.python.prefix)])
        program = copy.copy(self.python)
        program.path = self.file
        return Target(program, TARGETS / script, env={"PYTHONHOME": self.python.prefix})

    def delete(self):
        os.unlink(self.file)

    def replace_by(self, other):
        """As an upgrade does it: another file takes the name."""
        shutil.copy(other, self.file + ".new")
        os.rename(self.file + ".new", self.file)
