"""sbumpd, private to a test: its own socket and state directory."""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from harness import traces
from harness.child import Child, dies_with_parent

REPO = pathlib.Path(__file__).resolve().parent.parent.parent.parent
SBUMPD = os.path.abspath(os.environ.get("SBUMPD", REPO / "bazel-bin/daemon/sbumpd"))
SBUMPCTL = os.path.abspath(os.environ.get("SBUMPCTL", REPO / "bazel-bin/client/sbumpctl"))
START_SECONDS = 5  # the contract: the socket appears within 5 s


def clean_environment(extra=None):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SPEED_BUMP_", "SBUMP_"))}
    environment.update(NO_COLOR="1", **(extra or {}))
    return environment


class Answer:
    """What a client command said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return "status %d\nstdout: %s\nstderr: %s" % (self.code, self.out[-3000:], self.err[-3000:])


def run_client(endpoint, *arguments, env=None, seconds=30, prefix=()):
    ended = subprocess.run([*prefix, SBUMPCTL, *(["--endpoint", endpoint] if endpoint else []), *map(str, arguments)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=clean_environment(env), timeout=seconds, preexec_fn=dies_with_parent(signal.SIGKILL))
    return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


class Served:
    """A daemon that serves sessions, however it was started."""
    own_kernel_objects = collections.Counter()

    def note_own_kernel_objects(self):
        """To be called while it has no session. Another start of it holds the same."""
        self.own_kernel_objects = collections.Counter(traces.kernel_objects(self.pid))

    def kernel_objects(self):
        """Those that sessions hold: beside the daemon's own, which it measures with what a hit costs."""
        return sorted((collections.Counter(traces.kernel_objects(self.pid)) - self.own_kernel_objects).elements())

    def ctl(self, *arguments, **options):
        return run_client(self.endpoint, *arguments, **options)

    def journals(self):
        directory = os.path.join(self.state_dir, "journal")
        return sorted(os.listdir(directory)) if os.path.isdir(directory) else []


class Daemon(Served):
    def __init__(self, state_dir=None, prefix=(), wait=True, options=()):
        # /tmp, not $TEST_TMPDIR: the path of a socket has at most 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="sbump-e2e-", dir="/tmp")
        self.socket = self.directory + "/s"
        self.endpoint = "unix:" + self.socket
        self.state_dir = state_dir or self.directory + "/state"
        self.child = Child([*prefix, SBUMPD, "--listen", self.endpoint, "--state-dir", self.state_dir, *options],
                           death_signal=signal.SIGTERM, env=clean_environment())
        if wait:
            try:
                self.wait_serving()
            except AssertionError:
                self.clean_up()
                raise

    @property
    def pid(self):
        return self.child.pid

    def runs(self):
        return self.child.process.poll() is None

    @property
    def log(self):
        return self.child.errors + b"".join(line for _, line in list(self.child.output.lines)).decode()

    def wait_serving(self):
        limit = time.monotonic() + START_SECONDS
        while not os.path.exists(self.socket):
            if self.child.process.poll() is not None:
                raise AssertionError("sbumpd ended with %s: %s" % (self.child.process.returncode, self.log))
            if time.monotonic() > limit:
                raise AssertionError("no socket after %d s: %s" % (START_SECONDS, self.log))
            time.sleep(0.01)
        self.note_own_kernel_objects()

    @contextlib.contextmanager
    def standing_still(self):
        """By SIGSTOP, which reaches one thread after the other."""
        self.child.send_signal(signal.SIGSTOP)
        limit = time.monotonic() + START_SECONDS
        try:
            while not traces.all_threads_stopped(self.pid):
                if time.monotonic() > limit:
                    raise AssertionError("sbumpd was not stopped: %s" % traces.waits_of_threads(self.pid))
                time.sleep(0.001)
            yield
        finally:
            self.child.send_signal(signal.SIGCONT)

    def stop(self, seconds=20):
        """SIGTERM, as systemd does. Returns the exit status."""
        if self.child.process.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        return self.child.wait(seconds)

    def kill(self):
        self.child.kill()
        return self.child.process.returncode

    def clean_up(self):
        try:
            if self.child.process.poll() is None:
                self.stop()
        finally:
            self.child.kill()
            shutil.rmtree(self.directory, ignore_errors=True)
