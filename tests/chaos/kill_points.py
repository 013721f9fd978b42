"""kill -9 of the daemon at points that are spread evenly over each phase of its work.

A point is exact: strace kills the daemon as one of its threads enters its Nth system call of a kind. Which calls a phase
has is seen in sessions that are let live, of each kind of session. A hit is the kernel's work, without any call of the daemon: there the
moments are random.
"""
import os
import signal
import time

import strace_log
from harness.child import Timeout
from harness.daemon import Daemon
from judge import Judge
from world import KINDS, SECONDS, kill

BEGINS_IN = {"attach": "attach", "walk": "attach", "bump": "attach", "arm": "attach", "hold": "hold",
             "disarm": "disarm", "restart": "restart"}
TURMOIL_SECONDS = 0.4
STRACE = "/usr/bin/strace"


class KillPoints:
    def __init__(self, world, phases, chance, ledger):
        self.world = world
        self.phases = phases  # in the order in which they are gone through
        self.chance = chance
        self.ledger = ledger
        self.log = world.directory + "/strace"
        self.kind = ""
        self.points = {}  # of kind and phase
        self.turmoil_runs = False
        self.last_words = ""

    def run(self, count, deadline):
        """So many for the version, phases and kinds of session in turns: where time is short each has had its part."""
        kinds = list(KINDS)
        each = -(-count // len(self.phases))
        for i in range(each):
            for turn, phase in enumerate(self.phases, i):
                if time.monotonic() > deadline or self.ledger.needs_new_world:
                    return
                self.kind = kinds[turn % len(kinds)]
                self.learn_points(phase)
                self.until_met(phase, i, each)

    def until_met(self, phase, i, count):
        """Where a session has no such point any more, the one at that place among those that are left."""
        for _ in range(4):
            points = self.points.get((self.kind, phase))
            if not points:  # it was not learned, which is in the ledger
                return
            point = strace_log.evenly(points, i, count)
            if self.one(phase, point) or self.ledger.needs_new_world or point is None:
                return
            self.points[self.kind, phase] = strace_log.without_later(points, point) or points

    def learn_points(self, phase):
        if (self.kind, phase) in self.points:
            return
        with self.ledger.step("learn what %s consists of, %s" % (phase, self.kind), Judge(self.world)):
            if phase == "hit":
                learned = {phase: [None]}
            else:
                learned = self.learn_restart() if phase == "restart" else self.learn(BEGINS_IN[phase])
            if not learned.get(phase):
                raise AssertionError("no call of phase %s was seen; the session said: %s" % (phase, self.last_words))
            # So short that a point which comes a little later or earlier is in another one.
            if "bump" in learned:
                learned["bump"] = strace_log.that_come_back(learned["bump"])
            self.points.update({(self.kind, one): points for one, points in learned.items()})

    # ---- What a phase consists of ----

    def learn(self, begin):
        self.begin_session(begin, *strace_log.OPTIONS)
        time.sleep(0.3)
        self.end_session()
        self.world.untrace()
        self.last_words = self.world.session.errors
        Judge(self.world).turmoil()
        learned = strace_log.points(strace_log.read(self.log, begin))
        return {phase: points for phase, points in learned.items() if BEGINS_IN[phase] == begin}

    def learn_restart(self):
        self.die_in_hit()
        Judge(self.world).turmoil()
        self.start_traced(*strace_log.OPTIONS).wait_serving()
        learned = strace_log.points(strace_log.read(self.log, "restart"))
        self.world.daemon.stop(SECONDS)
        self.world.put_away_daemon()
        self.world.start_daemon()
        return learned

    # ---- One point ----

    def one(self, phase, point):
        """False where the daemon never got there."""
        world, judge, died_in = self.world, Judge(self.world), None
        at = "random" if point is None else "%s %d" % point
        with self.ledger.step("kill in %s at %s, %s" % (phase, at, self.kind), judge):
            if phase == "hit":
                died_in, keepers, both = self.die_in_hit()
            elif phase == "restart":
                _, _, both = self.die_in_hit()
                died_in, keepers = self.die_in_restart(point, judge)
            else:
                died_in, keepers, both = self.die_in(phase, point)
            if died_in is None:
                self.ledger.missed(phase)
            else:
                self.ledger.killed(died_in, self.kind, point, both)
                if self.turmoil_runs:
                    judge.turmoil()
                judge.after_death(keepers, both)
            world.put_away_daemon()
            world.start_daemon()
            if died_in is None and self.turmoil_runs:
                judge.turmoil()
            judge.after_return()
            self.ledger.breakpoints_left += judge.breakpoints_left
        return died_in is not None

    def begin_session(self, begin, *strace_options):
        """With strace from the beginning of that phase on, and the target in turmoil."""
        world = self.world
        world.target.send("turmoil", self.chance.randrange(1 << 30), TURMOIL_SECONDS)
        self.turmoil_runs = True
        if begin == "attach":
            world.trace(self.log, *strace_options)
        world.start_session(self.kind, "--delay", "1us")
        self.until_active_or_over()
        if begin != "attach" and world.is_daemon_alive():
            world.trace(self.log, *strace_options)
        if begin == "disarm":
            world.session.child.send_signal(signal.SIGINT)

    def until_active_or_over(self):
        session, limit = self.world.session, time.monotonic() + SECONDS
        while session.child.process.poll() is None and not any(one["state"] == "ACTIVE" for one in session.updates):
            if time.monotonic() > limit:
                raise Timeout("neither an end nor ACTIVE within %d s" % SECONDS)
            time.sleep(0.002)

    def end_session(self):
        session = self.world.session
        if session.child.process.poll() is None:
            session.child.send_signal(signal.SIGINT)
        session.child.wait(SECONDS)

    def die_in(self, phase, point):
        world, begin = self.world, BEGINS_IN[phase]
        keepers = world.keepers()
        call, number = point
        self.begin_session(begin, *strace_log.OPTIONS, "-e", "inject=%s:signal=SIGKILL:when=%d" % point)
        if begin == "attach" or begin == "hold":
            self.wait_for_death(TURMOIL_SECONDS + 0.3)
        else:
            world.session.child.wait(SECONDS)
            self.wait_for_death(0.1)
        if world.is_daemon_alive():
            self.end_session()
            world.untrace()
            if world.is_daemon_alive():
                world.daemon.stop(SECONDS)
                return None, keepers, False
        both = self.kill_keepers_too(keepers)
        world.tracer and world.tracer.wait(SECONDS)
        died_in = strace_log.phase_of_death(self.log, begin, call, number) or phase
        return died_in, keepers, both

    def die_in_hit(self):
        """Every thread of the target is in a delay or waits for the one that is."""
        world = self.world
        keepers = world.keepers()
        world.target.send("turmoil", self.chance.randrange(1 << 30), TURMOIL_SECONDS / 2)
        self.turmoil_runs = True
        world.start_session(self.kind, "--delay", "2ms")
        self.until_active_or_over()
        time.sleep(self.chance.uniform(0, 0.05))
        world.daemon.child.process.kill()
        both = self.kill_keepers_too(keepers)
        world.daemon.child.wait(SECONDS)
        return "hit", keepers, both

    def die_in_restart(self, point, judge):
        """Within the recovery of the one that died before."""
        world = self.world
        judge.turmoil()
        self.turmoil_runs = False
        daemon = self.start_traced(*strace_log.OPTIONS, "-e", "inject=%s:signal=SIGKILL:when=%d" % point)
        limit = time.monotonic() + SECONDS
        keepers = []
        while world.is_daemon_alive() and not os.path.exists(daemon.socket) and time.monotonic() < limit:
            keepers = world.keepers() or keepers
            time.sleep(0.002)
        if world.is_daemon_alive():
            daemon.stop(SECONDS)
            return None, keepers
        return "restart", keepers

    def start_traced(self, *strace_options):
        """As a child of ours: -D makes strace the one that hides."""
        world = self.world
        world.put_away_daemon()
        world.daemon = Daemon(state_dir=world.disk.directory, wait=False,
                              prefix=(STRACE, "-D", "-f", "-qq", "-o", self.log, *strace_options))
        return world.daemon

    def wait_for_death(self, seconds):
        limit = time.monotonic() + seconds
        while self.world.is_daemon_alive() and time.monotonic() < limit:
            time.sleep(0.001)

    def kill_keepers_too(self, keepers):
        """One time of four, at some moment of its cleaning up."""
        if self.chance.random() >= 0.25:
            return False
        time.sleep(self.chance.uniform(0, 0.02))
        kill(keepers)
        return True
