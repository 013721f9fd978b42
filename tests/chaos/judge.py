"""Is the target unharmed? By what it and the kernel say, never by the daemon's word. Each finding is a sentence."""
import time

from harness import traces
from harness.child import Timeout
from world import best_speeds

PATIENCE_SECONDS = 2      # until probes, holds and stops of a dead daemon are gone
ANSWER_SECONDS = 30       # a target that hangs does not answer
# Until its functions have been seen as fast as before. Without sbump, on a busy machine with two threads a core, the
# same program was seen 1.6 times as slow for some seconds, again and again.
SPEED_SECONDS = 20
# What a once-armed function may cost until a daemon comes back, per call: shared/design in words, "what stays behind".
ARMED_NS = 35             # CPython 3.12 and later
NAMED = ("/calls.py:", "born_", "/turmoil.py:step")  # in world.TARGETS
SPREAD, SPREAD_NS = 1.35, 6  # two measurements of the same thing on a busy machine


class Judge:
    def __init__(self, world):
        self.world = world
        self.findings = []
        self.breakpoints_left = 0

    def after_death(self, keepers, keeper_was_killed):
        """The daemon is dead and no other has come."""
        pid = self.world.target.pid
        self._holds(lambda: not any(traces.runs(keeper) for keeper in keepers), "the keeper of the probes outlives it")
        self._holds(lambda: not traces.trouble_of_threads(pid), lambda: "threads: %s" % traces.trouble_of_threads(pid))
        self._holds(lambda: not traces.stuck_threads(pid), lambda: "threads in state D: %s" % traces.stuck_threads(pid))
        text_is_whole = _eventually(lambda: not traces.changed_text(pid), 0.2 if keeper_was_killed else PATIENCE_SECONDS)
        if keeper_was_killed and not text_is_whole:
            self.breakpoints_left += 1
        elif not text_is_whole:
            self._find("text changed: %s" % traces.changed_text(pid))
        self._target(ARMED_NS if self.world.python.version >= (3, 12) else 0, text_is_whole)

    def after_return(self):
        """The next daemon serves, or this one lives on and has no session."""
        world, pid = self.world, self.world.target.pid
        self._holds(lambda: not traces.changed_text(pid), lambda: "text changed: %s" % traces.changed_text(pid))
        self._holds(lambda: not traces.trouble_of_threads(pid), lambda: "threads: %s" % traces.trouble_of_threads(pid))
        self._holds(lambda: not traces.stuck_threads(pid), lambda: "threads in state D: %s" % traces.stuck_threads(pid))
        self._holds(lambda: not world.daemon.journals(), lambda: "journals: %s" % world.daemon.journals())
        self._holds(lambda: not traces.held_locks(pid), lambda: "locks: %s" % traces.held_locks(pid))
        self._holds(lambda: not world.daemon.kernel_objects(), lambda: "kernel objects: %s" % world.daemon.kernel_objects())
        if "event=recovery_failed" in world.daemon.log or "event=journal_broken" in world.daemon.log:
            self._find("recovery: %s" % world.daemon.log[-1500:])
        self._target(0, True)
        self._ask(self._is_disarmed)
        self._ask(self._lodger)

    def turmoil(self):
        """The answer to the turmoil that was going on."""
        def look():
            result = self.world.target.answer(ANSWER_SECONDS)
            for difference in result["differs"]:
                self._find("the target's answer: %s" % difference)
        self._ask(look)

    def _target(self, more_ns, judge_speed):
        def look():
            answers = self.world.target.ask("answers", seconds=ANSWER_SECONDS)
            if answers != self.world.reference:
                self._find("wrong answers: %r" % answers)
            self._threads_compute()
            if judge_speed:
                self._speed(self.world.speed, lambda: self.world.target.ask("bytecode", seconds=ANSWER_SECONDS), more_ns)
        self._ask(look)

    def _lodger(self):
        """The process that was forked in the session, if there was one. It leaves then."""
        world, found = self.world, len(self.findings)
        said = world.target.ask("ask_lodger", seconds=ANSWER_SECONDS)
        if said is None:
            return
        pid = said["pid"]
        if not said["right"]:
            self._find("wrong answers")
        for trace in (traces.changed_text, traces.trouble_of_threads, traces.stuck_threads, traces.held_locks):
            self._holds(lambda: not trace(pid), lambda: "%s: %s" % (trace.__name__, trace(pid)))
        # What else is marked in it was marked by CPython's own tools, in a thread of its parent.
        armed = [name for name in said["armed"] if any(part in name for part in NAMED)]
        if armed:
            self._find("armed still: %s" % armed)
        def ask(what):
            return lambda: world.target.ask("ask_lodger", seconds=ANSWER_SECONDS)[what]
        self._speed(ask("speed"), ask("bytecode"), 0)
        status = world.target.ask("end_lodger", seconds=ANSWER_SECONDS)
        if status != 0:
            self._find("it ended with status %d" % status)
        self.findings[found:] = ["the forked process %d: %s" % (pid, one) for one in self.findings[found:]]

    def _threads_compute(self):
        world, begin = self.world, time.monotonic()
        before = world.target.ask("computed", seconds=ANSWER_SECONDS)

        def go_on():
            return world.target.ask("computed", seconds=ANSWER_SECONDS) > before
        if not _eventually(go_on, PATIENCE_SECONDS):
            where = world.describe()
            still = "and again" if _eventually(go_on, ANSWER_SECONDS) else "nor later"
            self._find("its threads computed nothing for %d s, %s after %.1f s; they were at: %s; it said: %s" % (
                PATIENCE_SECONDS, still, time.monotonic() - begin, where, world.target.child.errors[-2000:]))

    def _speed(self, speed, bytecode, more_ns):
        world = self.world

        def is_fast(speeds, machine=(1, 1)):
            return all(ns <= base * SPREAD * slower + SPREAD_NS + more
                       for ns, base, slower, more in zip(speeds, world.base_ns, machine, (more_ns, 0)))
        best = [float("inf")] * 2
        limit = time.monotonic() + SPEED_SECONDS
        while time.monotonic() < limit:
            best = [min(pair) for pair in zip(best, speed())]
            if is_fast(best):
                return
            time.sleep(0.05)
        # A virtual machine gets slower and faster (seen: 1.6x for minutes), for a process that was left alone too.
        *best, step, aside = best_speeds(speed, world.twin_speed)
        machine = [max(1, now / base) for now, base in zip((step, aside), world.twin_base_ns)]
        if not is_fast(best, machine):
            self._find("ns per call: %s, before any attach: %s; of a process that was left alone: %s, before: %s; "
                       "bytecode: %s" % (best, world.base_ns, [step, aside], world.twin_base_ns, bytecode()))

    def _is_disarmed(self):
        target = self.world.target
        if not target.ask("settle", seconds=ANSWER_SECONDS):
            self._find("wrong answer of settle")
        # No session asks for tools.py: there the marks are those of CPython's own tools.
        armed = [name for name in target.ask("armed_code") if "/tools.py:" not in name]
        if armed:
            self._find("armed still: %s" % armed)

    def _ask(self, look):
        if not self.world.target.alive():
            return self._find("the target is dead: %s" % self.world.describe())
        try:
            look()
        except (Timeout, AssertionError, OSError) as error:
            self._find("%s: %s; %s" % (type(error).__name__, error, self.world.describe()))

    def _holds(self, condition, sentence):
        if not _eventually(condition, PATIENCE_SECONDS):
            self._find(sentence if isinstance(sentence, str) else sentence())

    def _find(self, sentence):
        if sentence not in self.findings:
            self.findings.append(sentence)


def _eventually(holds, seconds):
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True
