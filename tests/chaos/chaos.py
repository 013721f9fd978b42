"""Random trouble and kill points on each interpreter; see tests/chaos/run."""
import argparse
import collections
import functools
import multiprocessing
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "lib")]

from harness import interpreters  # noqa: E402
from harness.child import dies_with_parent  # noqa: E402
import phases  # noqa: E402
import report  # noqa: E402
from kill_points import KillPoints  # noqa: E402
from ledger import Ledger  # noqa: E402
from upheaval import Upheaval  # noqa: E402
from world import World  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="tests/chaos/run")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--kill-points", type=int, default=300)
    parser.add_argument("--at-least", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--markdown")
    return parser.parse_args()


def pythons(paths, jit):
    known = [one for one in interpreters.supported() if one.has_jit or not jit]
    if paths == ["all"]:
        return known
    chosen = [one for one in known if one.path in paths] if paths else [one for one in short_form() if one in known]
    if not chosen or len(chosen) < len(paths):
        sys.exit("tests/chaos: of %s only %s are supported interpreters" % (paths, chosen))
    return chosen


def short_form():
    """One for each way of arming, but for 3.14 where there is 3.15: all of them share the time."""
    return list({min(one.version[1], 14): one for one in interpreters.one_per_mechanism()}.values())


class Trial:
    """One interpreter. A world in which something was found is left, and another made."""

    def __init__(self, python, turn, seed, jit):
        self.turn = turn  # its phases, in the order in which it gets to them
        self.ledger = Ledger(python, seed)
        # Should it crash, it says where.
        self.environment = {"PYTHONFAULTHANDLER": "1", **({"PYTHON_JIT": "1"} if jit else {})}
        self.chance = random.Random("%d %s" % (seed, python.name))
        self.world = None

    def run(self, kill_points, seconds):
        end = time.monotonic() + seconds
        try:
            # A sixth of the time for what comes at random, and what is left over.
            self._in_worlds(lambda: self._kill(kill_points, end - seconds / 6), end - seconds / 6)
            self._in_worlds(lambda: Upheaval(self.world, self.chance, self.ledger).run(end), end)
        finally:
            self._leave_world()
            self.ledger.close()
        return self.ledger

    def _kill(self, kill_points, deadline):
        left = kill_points - sum(self.ledger.kills.values())
        if left > 0:
            KillPoints(self.world, self.turn, self.chance, self.ledger).run(left, deadline)

    def _in_worlds(self, work, end):
        """Until it comes to its end without a finding."""
        while True:
            if self.world is None or self.ledger.needs_new_world:
                self._leave_world()
                self.ledger.needs_new_world = False
                directory = tempfile.mkdtemp(prefix="sbump-chaos-", dir="/tmp")
                self.world = World(self.ledger.python, directory, self.environment)
            work()
            if not self.ledger.needs_new_world or time.monotonic() > end or len(self.ledger.findings) > 20:
                return

    def _leave_world(self):
        if self.world is not None:
            directory, world, self.world = self.world.directory, self.world, None
            try:
                world.clean_up()
            finally:
                shutil.rmtree(directory, ignore_errors=True)


def trials(chosen, options, seed):
    """The ledger of each. A trial has a process to itself: it mostly waits, and others can be tried meanwhile."""
    seconds = 60 * options.minutes / -(-len(chosen) // options.jobs)
    one = functools.partial(try_one, seed=seed, jit=options.jit, kill_points=options.kill_points, seconds=seconds)
    with multiprocessing.get_context("fork").Pool(options.jobs, begin_worker) as workers:
        yield from workers.imap(one, zip(chosen, phases.turns([python.version for python in chosen])))
        workers.close()
        workers.join()


def begin_worker():
    """It puts away its world when it is to end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    dies_with_parent(signal.SIGTERM)()


def try_one(python_and_turn, seed, jit, kill_points, seconds):
    return Trial(*python_and_turn, seed, jit).run(kill_points, seconds)


def phases_without_kill(ledgers, kill_points):
    """Where so many were asked for that each phase has one on each interpreter."""
    if kill_points < len(phases.PHASES):
        return []
    kills = sum((ledger.kills for ledger in ledgers), collections.Counter())
    return phases.without_kill([ledger.python.version for ledger in ledgers], kills)


def main():
    # A shell that puts us into the background has it ignored, and so would the clients be that we interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = arguments()
    seed = random.randrange(1 << 31) if options.seed is None else options.seed
    chosen = pythons(options.python, options.jit)
    print("seed %d; %s" % (seed, ", ".join(one.name for one in chosen)), flush=True)
    ledgers = []
    for ledger in trials(chosen, options, seed):
        ledgers.append(ledger)
        print(ledger.summary(), flush=True)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(report.markdown(ledgers, seed), encoding="utf-8")
    harm = sum(len(ledger.findings) for ledger in ledgers)
    wanted = options.kill_points if options.at_least is None else options.at_least
    too_few = [ledger.python.name for ledger in ledgers if sum(ledger.kills.values()) < wanted]
    if too_few:
        print("fewer than %d kill points: %s; give it more --minutes" % (wanted, ", ".join(too_few)))
    left_out = phases_without_kill(ledgers, options.kill_points)
    if left_out:
        print("killed nowhere in phase %s; give it more --minutes" % ", ".join(left_out))
    for ledger in ledgers:
        for step, name, finding in ledger.findings:
            print("HARM %s, step %d (%s): %s" % (ledger.python.name, step, name, " ".join(finding.split())[:600]))
    print("harm found: %d" % harm)
    sys.exit(1 if harm or too_few or left_out else 0)


if __name__ == "__main__":
    main()
