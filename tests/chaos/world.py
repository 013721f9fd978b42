"""One target for as long as it lives, and the daemons and sessions that come and go around it."""
import os
import pathlib
import signal

from harness import faults, traces
from harness.child import Timeout
from harness.daemon import Daemon
from harness.session import Session
from harness.target import Target

HERE = pathlib.Path(__file__).resolve().parent
# What sessions arm: calls of every kind, code that is born all the time, and one function whose speed is measured.
TARGETS = ("--target", "*/calls.py:*", "--target", "born_*.py:*", "--target", "*/turmoil.py:step")
# And how. The first rule that fits a function gives its delay: threads sleep and spin by turns.
KINDS = {
    "calls": (),
    "family": ("--children", "--native", "*/libc[.-]*:getppid"),
    "asleep": ("--mode", "sleep", "--on", "resume", "--target", "*/turmoil.py:step @delay=1ms"),
}
# One whose delays change all the time, by itself; its unit of work is what the target's threads do again and again.
EXPERIMENT = "experiment"
GROUPS = ("--metric", "calls:*/turmoil.py:step", "--group", "calls=*/calls.py:*", "--group", "born=born_*.py:*",
          "--top-share", "40", "--lowest-throughput", "1", "--budget", "60s", "--yes")
SECONDS = 30  # for whatever must happen


class World:
    def __init__(self, python, directory, environment):
        self.python = python
        self.environment = environment  # of its targets
        self.directory = directory
        self.disk = faults.SmallDisk(directory + "/disk", 8192)
        self.tracer = self.session = self.target = self.daemon = self.twin = None
        self.start_twin()
        self.start_target()
        self.start_daemon()

    def start_target(self):
        self.target = Target(self.python, HERE / "targets" / "turmoil.py", env=self.environment)
        self.reference = self.target.ask("prepare", 2)
        *self.base_ns, step, aside = best_speeds(self.speed, self.twin_speed)
        self.twin_base_ns = [step, aside]

    def start_twin(self):
        """The same program, which nothing is ever attached to: what slows it is the machine."""
        self.twin = Target(self.python, HERE / "targets" / "turmoil.py", env=self.environment)
        self.twin.ask("prepare", 0)

    def speed(self):
        return self.target.ask("speed", seconds=SECONDS)

    def twin_speed(self):
        return self.twin.ask("speed", seconds=SECONDS)

    def start_daemon(self):
        """It undoes what the last one left."""
        self.daemon = Daemon(state_dir=self.disk.directory)

    def start_session(self, kind, *arguments):
        self.session = Session(self.daemon, "--pid", self.target.pid, *KINDS[kind], *TARGETS, "--max-stop", "5s",
                               *arguments)
        return self.session

    def start_experiment(self):
        self.session = Session(self.daemon, "--pid", self.target.pid, *GROUPS, "--max-stop", "5s", command="sweep")
        return self.session

    def trace(self, log, *options):
        self.tracer = faults.strace(self.daemon, log, *options)

    def keepers(self):
        """The process that holds the daemon's probes: asked while the daemon lives."""
        return traces.children(self.daemon.pid) if self.is_daemon_alive() else []

    def is_daemon_alive(self):
        return self.daemon.child.process.poll() is None

    def describe(self):
        """For a finding: what everybody was at."""
        said = ["daemon: %s" % self.daemon.log[-1500:]] if self.daemon else []
        if self.target is not None:
            said.append("target: status %s, %s" % (self.target.child.process.poll(), self.target.child.errors[-3000:]))
        if self.session is not None:
            last = self.session.updates[-1:]
            said.append("client: status %s, %d updates, last %s, %s" % (
                self.session.code, len(self.session.updates), [one.get("state", one) for one in last], self.session.errors))
        for name, pid in (("daemon", self.daemon and self.daemon.pid), ("target", self.target and self.target.pid),
                          ("client", self.session and self.session.child.pid)):
            if pid and traces.runs(pid):
                said.append("%s: %s" % (name, ", ".join(traces.waits_of_threads(pid))))
        return "\n".join(said)

    def untrace(self):
        if self.tracer is not None:
            self.tracer.process.terminate()
            try:
                self.tracer.wait(5)
            except Timeout:
                # strace waits for ever for a thread that was killed as it let go of it. The daemon is a zombie until then.
                if traces.main_thread_runs(self.daemon.pid):
                    raise
                self.tracer.kill()
            self.tracer = None

    def put_away_daemon(self):
        """Whatever is left of a dead daemon and its session."""
        for child in (self.session, self.tracer, self.daemon.child):
            if child is not None:
                child.kill()
        self.session = self.tracer = None
        self.daemon.clean_up()

    def clean_up(self):
        try:
            if self.daemon is not None:
                self.put_away_daemon()
            for target in (self.target, self.twin):
                if target is not None:
                    target.kill()
        finally:
            self.disk.unmount()


def best_speeds(*speeds):
    """Of each process its functions' ns per call; of several, in turns: the flat list of all."""
    rounds = [[ns for speed in speeds for ns in speed()] for _ in range(5)]
    return [min(of_one) for of_one in zip(*rounds)]


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
