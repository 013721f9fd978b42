"""An interpreter whose file belongs to one test, which may delete, replace or damage it."""
import copy
import os
import shutil

from harness import embedding
from harness.target import TARGETS, Target


class Copy:
    """Of the program or library that holds `python`, or of that libpython of it; in a directory of its own."""

    def __init__(self, python, directory, library=None):
        self.python = python
        self.file = shutil.copy(python.from_here(library) if library else python.file, directory)
        self._program = embedding.build(directory) if library or python.library == python.file else None

    @property
    def mapped_file(self):
        """Its name in /proc/PID/maps."""
        return self.python.from_here(self.file)

    def start(self, script="calls.py"):
        if self._program:
            return embedding.Embedded(self._program, script, [(self.file, self.python.prefix)],
                                      prefix=self.python.among)
        program = copy.copy(self.python)
        program.path = self.file
        return Target(program, TARGETS / script, env={"PYTHONHOME": self.python.prefix}, prefix=self.python.among)

    def delete(self):
        os.unlink(self.file)

    def replace_by(self, other):
        """As an upgrade does it: another file takes the name."""
        shutil.copy(other, self.file + ".new")
        os.rename(self.file + ".new", self.file)
