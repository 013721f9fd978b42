"""A child process whose lines of output are read with a limit of time, and which never outlives the tests."""
import ctypes
import json
import signal
import subprocess
import tempfile
import threading
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def dies_with_parent(signal_number):
    return lambda: _libc.prctl(PR_SET_PDEATHSIG, signal_number)


class Timeout(AssertionError):
    pass


class Lines:
    """Collects the lines of a stream as they come, with the time of each."""

    def __init__(self, stream):
        self.lines = []
        self.closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._pump, args=(stream,), daemon=True)
        self._thread.start()

    def _pump(self, stream):
        for line in iter(stream.readline, b""):
            with self._changed:
                self.lines.append((time.monotonic(), line))
                self._changed.notify_all()
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def wait_for(self, number, seconds):
        """The line of that number from 0 on, or None where the stream ended before it."""
        with self._changed:
            in_time = self._changed.wait_for(lambda: len(self.lines) > number or self.closed, seconds)
            if not in_time:
                raise Timeout("no line %d within %g s" % (number, seconds))
            return self.lines[number][1] if len(self.lines) > number else None

    def wait_closed(self, seconds):
        with self._changed:
            if not self._changed.wait_for(lambda: self.closed, seconds):
                raise Timeout("the output was not closed within %g s" % seconds)


class Child:
    def __init__(self, command, death_signal=signal.SIGKILL, **options):
        self.command = command
        self._errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            preexec_fn=dies_with_parent(death_signal), **options)
        self.output = Lines(self.process.stdout)

    @property
    def pid(self):
        return self.process.pid

    @property
    def errors(self):
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=20):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Timeout("pid %d (%s) did not end within %g s; it said: %s" % (
                self.pid, self.command[0], seconds, self.errors[-2000:])) from None

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(60)
        self.process.stdin.close()

    def messages(self):
        return [json.loads(line) for _, line in list(self.output.lines)]
