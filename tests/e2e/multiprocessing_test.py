"""Processes of `multiprocessing`, by each of its start methods, in the session of the service that starts them."""
import collections
import contextlib
import os
import signal

from harness import traces
from harness.case import each_mechanism, main
from harness.family import FamilyCase

N = 200
ANSWER = N * (N + 1) // 2
TASKS, SIZE = 30, 3  # of a pool
US = 1000
HOW = {"fork": "forked", "spawn": "executed", "forkserver": "forked"}
HELPERS = {"fork": 0, "spawn": 1, "forkserver": 2}  # the resource tracker, and the forkserver itself


class MultiprocessingTest(FamilyCase):
    def start_service(self, python, method):
        target = self.start_target(python, "pools.py", method)
        self.addCleanup(self.kill_children, target.pid)
        target.ask("work", 3000)
        return target

    def kill_children(self, pid):
        """Those that are left where a test fails: nothing tells them that the service is gone."""
        with contextlib.suppress(OSError):
            for child in traces.children(pid):
                self.kill_children(child)
                os.kill(child, signal.SIGKILL)

    def hire(self, target, session, how):
        """Processes and a pool, once all of them are in the session."""
        pids = target.ask("hire", 2) + target.ask("open_pool", SIZE)
        self.assertEqual(len(pids), 2 + SIZE)
        self.wait_members(session, pids, how)
        return pids

    def compute(self, target):
        """The answers to all that there is to do, and the calls that it takes of each process."""
        done = target.ask("order", N) + target.ask("share", TASKS, N)
        tasks = collections.Counter(pid for pid, _, _ in done)
        return [answer for _, answer, _ in done], {pid: N * count for pid, count in tasks.items()}

    def assert_each_clean(self, last):
        self.assert_clean_proof(last)
        for one in last["processes"]:
            self.assert_clean_proof(one, verified=one["end"]["reason"] != "target called exec")

    def assert_nothing_armed(self, target):
        """In none of them, nor in a new one, which has what the process that it was forked from has."""
        target.ask("hire", 1)
        armed = target.ask("armed_in_each", SIZE)
        self.assertEqual({pid: [] for pid in armed}, armed)

    def assert_slowed(self, last, calls):
        members = self.members(last)
        for pid, count in calls.items():
            self.assertGreaterEqual(members[pid]["injected_delay_ns"], count * 20 * US)

    def try_method(self, python, method, old=0):
        """With so many processes that the service had before."""
        target = self.start_service(python, method)
        before = target.ask("hire", old)
        helpers_before = target.ask("helpers")
        session = self.follow(target, "--delay", "20us")
        new = self.hire(target, session, HOW[method])
        helpers = [pid for pid in target.ask("helpers") if pid not in helpers_before]
        everybody = [target.pid, *before, *helpers_before, *new, *helpers]
        self.assertEqual(len(helpers_before + helpers), HELPERS[method])
        self.wait_members(session, everybody)
        answers, calls = self.compute(target)
        last = session.finish()
        self.assert_calls(last, {pid: calls.get(pid, 0) for pid in everybody})
        self.assertEqual(sum(one["calls"] for one in last["patterns"]), N * (old + 2 + TASKS))
        self.assert_slowed(last, calls)
        members = self.members(last)
        self.assertEqual(set(members), set(everybody))
        self.assert_joined(members, new, HOW[method], soon=False)
        self.assert_joined(members, helpers, "executed", soon=False)
        self.assert_each_clean(last)
        self.assert_all_clean(target, everybody)
        self.assertEqual(answers, [ANSWER] * (old + 2 + TASKS))
        self.assertEqual(self.compute(target)[0], answers)  # of nobody who is slowed
        self.assert_nothing_armed(target)
        self.assertEqual(target.ask("dismiss"), [0] * (old + 3))
        self.assert_ends_well(target)

    @each_mechanism
    def test_fork(self, python):
        self.try_method(python, "fork")

    @each_mechanism
    def test_spawn(self, python):
        """Before 3.10 each process is forked before it executes, and attached twice."""
        self.try_method(python, "spawn")

    @each_mechanism
    def test_forkserver(self, python):
        self.try_method(python, "forkserver")

    @each_mechanism
    def test_a_forkserver_that_was_there(self, python):
        self.try_method(python, "forkserver", old=2)


if __name__ == "__main__":
    main()
