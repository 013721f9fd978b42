"""What can go wrong around a daemon: its system calls, its disk."""
import contextlib
import os
import subprocess
import time

from harness import traces
from harness.child import Child, Timeout

STRACE = "/usr/bin/strace"


def strace(process, log, *options, seconds=10):
    """strace on every thread of a daemon or target. Killed before it is there, it leaves the child on which it tries what
    ptrace(2) can do. The caller kills what is returned."""
    tracer = Child([STRACE, "-f", "-qq", "-o", log, *options, "-p", str(process.pid)])
    limit = time.monotonic() + seconds
    # What is injected may have ended it by then, and strace with it.
    while process.child.process.poll() is None and not traces.are_all_traced(process.pid, tracer.pid):
        gave_up = tracer.process.poll() is not None and traces.runs(process.pid)
        if gave_up or time.monotonic() > limit:
            tracer.kill()
            raise Timeout("strace was not on each thread within %g s: %s" % (seconds, tracer.errors))
        time.sleep(0.005)
    return tracer


@contextlib.contextmanager
def traced(target, log):
    """By somebody who does nothing with it."""
    tracer = strace(target, log, "-e", "trace=none")
    try:
        yield
    finally:
        tracer.process.terminate()
        tracer.wait(10)


class SmallDisk:
    """A file system of its own that can be filled and emptied."""

    def __init__(self, directory, kilobytes):
        self.directory = directory
        os.mkdir(directory)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk,mode=0700" % kilobytes, "none", directory], check=True)

    def fill(self):
        with open(self._filler, "wb", 0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def make_room(self):
        if os.path.exists(self._filler):
            os.unlink(self._filler)

    def unmount(self):
        subprocess.run(["umount", "-l", self.directory], check=True)

    @property
    def _filler(self):
        return self.directory + "/filler"
