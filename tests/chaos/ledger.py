"""What was tried on one interpreter, what was found, and how to do it again."""
import collections
import contextlib
import sys
import time
import traceback


MANY = 20


class Ledger:
    def __init__(self, python, seed):
        self.python = python
        self.seed = seed
        self.steps = 0
        self.kills = collections.Counter()   # by phase
        self.kills_of_kind = collections.Counter()  # of session
        self.distinct = collections.defaultdict(set)
        self.both = 0                        # daemon and keeper of the probes
        self.breakpoints_left = 0            # of those
        self.never_met = 0
        self.upheavals = collections.Counter()
        self.upheavals_of_kind = collections.Counter()
        self.updates = self.updates_in_force = 0
        self.findings = []
        self.needs_new_world = False
        self.begin = self.end = time.monotonic()

    @contextlib.contextmanager
    def step(self, name, judge):
        """What the judge finds until its end is harm, and so is an error."""
        self.steps += 1
        try:
            yield
        except Exception:  # a hang, a daemon that does not start, a client that does not end
            judge.findings.append(traceback.format_exc(limit=-4) + judge.world.describe())
            self.needs_new_world = True
        for finding in judge.findings:
            self.needs_new_world = True
            self.findings.append((self.steps, name, finding))
            print("HARM %s, seed %d, step %d (%s): %s" % (self.python.name, self.seed, self.steps, name, finding),
                  file=sys.stderr, flush=True)

    def killed(self, phase, kind, point, both):
        self.kills[phase] += 1
        self.kills_of_kind[kind] += 1
        self.distinct[phase].add((kind, point) if point else self.steps)
        self.both += both

    def missed(self, phase):
        self.never_met += 1

    def close(self):
        self.end = time.monotonic()
        if self.updates >= MANY and self.updates_in_force == 0:
            self.findings.append((self.steps, "updates", "none of %d was ever in force" % self.updates))

    @property
    def minutes(self):
        return (self.end - self.begin) / 60

    def summary(self):
        return "%s: %d steps in %.1f min; killed at %d points (%s; with its keeper: %d, of which the kernel left a " \
            "breakpoint: %d; never met: %d); upheavals: %s; " \
            "updates in force: %d of %d; harm: %d" % (
                self.python.name, self.steps, self.minutes, sum(self.kills.values()),
                ", ".join("%s %d" % pair for pair in self.kills.items()), self.both, self.breakpoints_left,
                self.never_met, ", ".join("%s %d" % pair for pair in self.upheavals.items()) or "none",
                self.updates_in_force, self.updates, len(self.findings))
