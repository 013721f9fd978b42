"""What sbump does on the kernel that runs here: in the emulated machine, started by its init.

  kernel_test.py works|refused [-k WORD]...

About behaviour, not speed: an emulated processor is some ten times slower, so doses have wide margins.
Prints a line `SBUMP-KERNEL-RESULT {...}` for each check; tests/kernels/kernels.py reads them.
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "e2e"))
from harness import costs, daemon as daemons, interpreters, traces  # noqa: E402  (tests/e2e)
from harness.case import Case, each_interpreter  # noqa: E402
from harness.family import FamilyCase  # noqa: E402
from harness.models import Q_PROJ  # noqa: E402
from harness.session import calls_by_name  # noqa: E402
from harness.spans import SpansCase  # noqa: E402
from console import Result, give_up, say  # noqa: E402

daemons.START_SECONDS = 60
MS = 1_000_000
ACTIVE_SECONDS, END_SECONDS = 60, 60
ATTEMPTS = 6
STEP = ["--target", "*/liar.py:step"]
KERNEL_STATE = 13  # the client's exit status where the kernel does not allow it


def median(times):
    return sorted(times)[len(times) // 2]


def entries(python, entered, thrown):
    """Of resumes.py. Before 3.11 a frame that is thrown into is entered as any other."""
    return {name: entered[name] + (thrown[name] if python.version < (3, 11) else 0) for name in entered}


class KernelCase(Case):
    def examine(self, *arguments):
        """The doctor's answer, and what it found out about the kernel."""
        answer = self.daemon.ctl("doctor", *arguments, "--format", "json", seconds=120)
        findings = [one for one in json.loads(answer.out)["findings"] if one["topic"] == "kernel"]
        say("DOCTOR", findings=findings)
        return answer, findings


def was_late(update):
    """The daemon, on a processor this slow, answered a held thread too late; so it says itself."""
    say("HOLDS", **{name: update["times"][name] for name in ("holds", "hold_p50_ns", "hold_max_ns", "hold_timeouts")})
    return update["inexact"] or update["times"]["hold_timeouts"] > 0


class Works(KernelCase, FamilyCase, SpansCase):
    ATTACH_SECONDS = ACTIVE_SECONDS

    def test_all_interpreters_run(self):
        """None is left out of the other checks because it does not start here."""
        self.assertCountEqual([python.path for python in interpreters.supported()],
                              os.environ["SBUMP_PYTHONS"].split(":"))

    def until_none_was_late(self, attempt):
        """Counts are exact where no answer was late: `attempt` returns its last update until that is so."""
        for _ in range(ATTEMPTS):
            last = attempt()
            if not was_late(last):
                return last
        self.skipTest("in each of %d sessions an answer was late: the machine is too slow" % ATTEMPTS)

    def begin(self, target, *arguments, daemon=None):
        session = self.start_attach(target, *arguments, "--max-stop", "10s", daemon=daemon)
        session.wait_active(ACTIVE_SECONDS)
        return session

    def end(self, session, target, daemon=None):
        last = session.finish(END_SECONDS)
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        return last

    def assert_counts(self, update, own, name):
        calls = calls_by_name(update, name)
        self.assertEqual({one: calls.get(one, 0) for one in own}, own)
        self.assertEqual([row for row in update["targets"] if row["missed_calls"]], [])
        self.assertFalse(update["inexact"], update["skipped"])

    def row_of_step(self, update):
        [row] = [row for row in update["targets"] if row["qualname"] == "step"]
        return row

    def test_doctor(self):
        answer, _ = self.examine()
        self.assertEqual(answer.code, 0, answer)

    @each_interpreter
    def test_counts(self, python):
        """Calls of every kind in 4 threads, as the program itself counted them."""
        target = self.start_target(python)
        answer = target.ask("run", 40, 4)
        self.count_calls(target, answer)
        self.assertEqual(target.ask("run", 40, 4), answer)
        self.assert_ends_well(target)

    def count_calls(self, target, answer, daemon=None):
        def attempt():
            target.ask("take_counts")
            session = self.begin(target, "--target", "*/calls.py:*", daemon=daemon)
            self.assertEqual(target.ask("run", 40, 4, seconds=120), answer)
            own.update(target.ask("take_counts"))
            return self.end(session, target, daemon)

        own = {}
        self.assert_counts(self.until_none_was_late(attempt), own, target.file)

    @each_interpreter
    def test_born_meanwhile(self, python):
        """Functions that come into being while the session is on: counted from the first call."""
        target = self.start_target(python, "births.py")
        expected = target.ask("born", "control.py", 1500)

        def attempt():
            session = self.begin(target, "--paths-only", "--target", "born_*.py:*")
            self.assertEqual(target.ask("born", "born_a.py", 1500), expected)
            return self.end(session, target)

        self.assert_counts(self.until_none_was_late(attempt), expected[1], "born_a.py")
        self.assert_ends_well(target)

    @each_interpreter
    def test_dose_and_update(self, python):
        """By the target's own clock, before and after an update without a new attach."""
        target = self.start_target(python, "steady.py")
        target.ask("each", 2000)
        seen = []

        def attempt():
            session = self.begin(target, "--target", "*steady.py:step", "--delay", "2ms")
            seen[:] = [target.ask("each", 100)]
            answer = self.daemon.ctl("update", session.id, "--delay", "8ms", seconds=END_SECONDS)
            self.assertEqual(answer.code, 0, answer)
            seen.append(target.ask("each", 50))
            return self.end(session, target)

        row = self.row_of_step(self.until_none_was_late(attempt))
        for dose_ns, times in zip([2 * MS, 8 * MS], seen):
            say("DOSE", python=python.name, dose_ns=dose_ns, least_ns=min(times), median_ns=median(times))
            self.assertGreaterEqual(min(times), 0.99 * dose_ns)
            # Others want the processor too: not the median, but what a good part of the calls saw.
            self.assertLess(sorted(times)[len(times) // 10], 1.5 * dose_ns)
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"]), (150, 150, 600 * MS))
        self.assertLess(median(target.ask("each", 100)), 0.5 * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_fork(self, python):
        """A child of a slowed process is another process: nobody slows it, and its answers are right."""
        target = self.start_target(python, "forks.py")
        target.ask("work", 3000)
        times = {}

        def attempt():
            session = self.begin(target, "--target", "*/forks.py:step", "--delay", "5ms")
            status, (child_answer, times["child"]), (answer, times["own"]) = target.ask("fork", 100)
            self.assertEqual((status, child_answer, answer), (0, 5050, 5050))
            return self.end(session, target)

        self.assertEqual(calls_by_name(self.until_none_was_late(attempt)), {"step": 100})
        self.assertGreater(times["own"], 500 * MS)
        self.assertLess(times["child"], 250 * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_children(self, python):
        """Forked and executed ones, in the same session: each counted as it counts itself, and delayed."""
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)

        def attempt():
            own.clear()
            session = self.begin(target, "-C", "--target", "*/workers.py:step", "--delay", "1ms")
            for kind, how in (("fork", "forked"), ("exec", "executed")):
                self.wait_members(session, target.ask("hire", kind, 2, seconds=60), how, 60)
            before = {int(pid): calls for pid, (_, calls) in target.ask("order", 0).items()}
            after = {int(pid): calls for pid, (_, calls) in target.ask("order", 50, seconds=60).items()}
            own.update({pid: after[pid] - before[pid] for pid in before})
            last = self.end(session, target)
            self.assertEqual(target.ask("dismiss"), [0] * 4)
            return last

        own = {}
        last = self.until_none_was_late(attempt)
        rows = {row["pid"]: row for row in last["targets"] if row["pid"] in own}
        self.assertEqual({pid: row["calls"] for pid, row in rows.items()}, own)
        for row in rows.values():
            self.assertGreaterEqual(row["injected_delay_ns"], row["calls"] * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_namespaces(self, python):
        """Process 1 and root of namespaces of its own, named by the pid that it has here."""
        target = self.start_target(python, "workers.py", prefix=[
            "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"])
        self.assertEqual(target.hello["pid"], 1)
        self.assertGreater(target.pid, 1)

        def attempt():
            session = self.begin(target, "--target", "*/workers.py:step", "--delay", "1ms")
            self.assertEqual(target.ask("work", 100), 5050)
            return self.end(session, target)

        [row] = self.until_none_was_late(attempt)["targets"]
        self.assertEqual((row["pid"], row["calls"], row["delayed_calls"]), (target.pid, 100, 100))
        self.assertGreaterEqual(row["injected_delay_ns"], 100 * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_sleep(self, python):
        target = self.start_target(python, "steady.py")
        target.ask("each", 2000)
        seen = []

        def attempt():
            session = self.begin(target, "--target", "*steady.py:step", "--delay", "100ms", "--mode", "sleep")
            burnt = costs.burnt_ns(target.pid)
            seen[:] = target.ask("each", 20)
            seen.append(costs.burnt_ns(target.pid) - burnt)
            return self.end(session, target)

        row = self.row_of_step(self.until_none_was_late(attempt))
        *times, burnt = seen
        say("SLEEP", python=python.name, least_ns=min(times), median_ns=median(times), burnt_ns=burnt)
        self.assertGreaterEqual(min(times), 99 * MS)
        self.assertEqual((row["calls"], row["delayed_calls"]), (20, 20))
        self.assertLess(burnt, 0.5 * sum(times))
        self.assert_ends_well(target)

    @each_interpreter
    def test_resumptions(self, python):
        """Each entry of a generator or coroutine, as the program itself counted them."""
        target = self.start_target(python, "resumes.py")
        target.ask("run", 40, seconds=60)
        counted = {}

        def attempt():
            _, before, before_thrown = target.ask("run", 0)
            session = self.begin(target, "--target", "*/resumes.py:numbers", "--target", "*/resumes.py:waits",
                                 "--on", "resume")
            _, after, after_thrown = target.ask("run", 40, seconds=60)
            counts = entries(python, after, after_thrown), entries(python, before, before_thrown)
            counted.update({name: counts[0][name] - counts[1][name] for name in ("numbers", "waits")})
            return self.end(session, target)

        self.assertEqual(calls_by_name(self.until_none_was_late(attempt)), counted)
        self.assertGreater(min(counted.values()), 0)
        self.assert_ends_well(target)

    @each_interpreter
    def test_native(self, python):
        """A function of libc beside one of Python, in the same session."""
        target = self.start_target(python, "sleepers.py")
        seen = []

        def attempt():
            session = self.begin(target, "--target", "*/sleepers.py:step", "--native", "libc.so.6:getppid", "--delay", "5ms")
            seen[:], _ = target.ask("together", 2, 10)
            self.assertEqual([target.ask("step", i) for i in range(3)], [1, 2, 3])
            return self.end(session, target)

        rows = {row["qualname"]: row for row in self.until_none_was_late(attempt)["targets"]}
        self.assertEqual({name: (row["calls"], row["delayed_calls"]) for name, row in rows.items()},
                         {"step": (3, 3), "getppid": (20, 20)})
        self.assertGreaterEqual(min(seen), 5 * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_modules(self, python):
        """One of three layers, which all run the same code, is slowed."""
        target = self.model(python)
        seen = []

        def attempt():
            session = self.begin(target, "--module", Q_PROJ, "--delay", "8ms")
            seen[:] = target.ask("forwards", "main", 20)
            return self.end(session, target)

        [row] = self.until_none_was_late(attempt)["targets"]
        say("MODULES", python=python.name, medians_ns=seen)
        self.assertEqual((row["calls"], row["delayed_calls"]), (20, 20))
        self.assertGreaterEqual(seen[1], 8 * MS)
        self.assertLess(max(seen[0], seen[2]), 4 * MS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_spans(self, python):
        """What is told of each call is what a tracer within the process says."""
        target = self.odd_model(python)
        expected = target.ask("oracle")
        told = self.text_of(target, lambda: target.ask("odd_calls"), style="pythooks")
        self.assertEqual(told.splitlines(), expected)
        self.assert_ends_well(target)

    def test_userfaultfd(self):
        """A page that its process never fills is told from a broken one by nobody, and holds nobody up. Not for a real
        machine: what did wait for it could hang that."""
        neighbour = self.start_target(script="steady.py")
        liar = self.start_target(script="liar.py")
        liar.ask("unanswered_page")

        def attempt():
            session = self.begin(neighbour, "--target", "*steady.py:step")
            patient = [*STEP, "--max-stop", "10s"]
            for command in (["doctor"], ["match", *patient], ["attach", *patient, "--duration", "1s"]):
                answer = self.daemon.ctl(command[0], "--pid", liar.pid, *command[1:], seconds=END_SECONDS)
                self.assertEqual(answer.code, 0, answer)
            neighbour.ask("call", "step", 10)
            return self.end(session, neighbour)

        self.assertEqual(calls_by_name(self.until_none_was_late(attempt)), {"step": 10})
        self.assertEqual(traces.stuck_threads(self.daemon.pid), [])
        self.assert_nothing_left(liar)
        self.assertEqual(liar.ask("call", 100), 5050)

    def test_killed_in_a_dose(self):
        """A process of several threads that is killed while it is delayed ends at once."""
        for _ in range(5):
            target = self.start_target(script="steady.py")
            session = self.begin(target, "--target", "*steady.py:step", "--delay", "10ms")
            target.ask("start", 2, 0.0)
            session.wait_calls(5)
            begin = time.monotonic()
            os.kill(target.pid, signal.SIGKILL)
            target.child.wait(10)
            self.assertLess(time.monotonic() - begin, 2)
            self.assertEqual(session.wait_end(END_SECONDS)["end"]["reason"], "target exited")
            self.eventually(lambda: self.daemon.kernel_objects() == [], 5, "the probes' end")

    @each_interpreter
    def test_daemon_killed(self, python):
        """kill -9 while threads are delayed: no probe stays, answers are right, the next daemon's journal is clean."""
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target = self.start_target(python)
        answer = target.ask("run", 40, 4)
        session = self.begin(target, "--target", "*/calls.py:*", "--delay", "5ms", daemon=daemon)
        target.send("run", 40, 4)
        time.sleep(1)
        daemon.kill()
        self.assertNotEqual(session.child.wait(END_SECONDS), 0)
        self.assertEqual(target.answer(120), answer)
        self.eventually(lambda: traces.changed_text(target.pid) == [], 10, "the probes' end")
        self.assertEqual(traces.trouble_of_threads(target.pid), [])
        self.assertTrue(target.ask("armed_code"), "there was nothing to clean up")
        again = self.start_daemon(state_dir=state_dir)
        self.assert_nothing_left(target, again, after_kill=True)
        self.assertEqual(again.journals(), [])
        self.count_calls(target, answer, again)
        self.assert_ends_well(target)

    def test_daemon_and_keeper_killed(self):
        """With the process that holds the probes: a breakpoint may stay, and the next daemon takes it away."""
        state_dir = self.scratch + "/state"
        target = self.start_target()
        answer = target.ask("run", 20, 2)
        for i in range(4):
            daemon = self.start_daemon(state_dir=state_dir)
            target.send("run", 20, 2)
            session = self.start_attach(target, "--target", "*/calls.py:*", "--max-stop", "10s", daemon=daemon)
            if i == 3:
                session.wait_active(ACTIVE_SECONDS)
            else:
                time.sleep(0.3 * i)
            [keeper] = traces.children(daemon.pid)
            os.kill(keeper, signal.SIGKILL)
            daemon.kill()
            session.child.wait(END_SECONDS)
            self.assertEqual(target.answer(120), answer)
            self.eventually(lambda: not traces.runs(keeper), 10, "the keeper's end")
            daemon.clean_up()
        again = self.start_daemon(state_dir=state_dir)
        self.assert_nothing_left(target, again, after_kill=True)
        self.assertEqual(again.journals(), [])
        self.assert_ends_well(target)


LACKING = {"sleepable uprobe programs", "bpf_loop", "bpf_copy_from_user_task", "bpf_get_current_task_btf"}


class Refused(KernelCase):
    def test_doctor(self):
        """Says what the kernel lacks, by name."""
        answer, findings = self.examine()
        self.assertEqual(answer.code, KERNEL_STATE, answer)
        problems = {one["name"] for one in findings if one["level"] == "PROBLEM"}
        self.assertLessEqual(LACKING, problems)

    def test_attach(self):
        """Refused with the same names; the process is not touched."""
        target = self.start_target()
        answer = target.ask("run", 20, 2)
        refusal = self.daemon.ctl("attach", "--pid", target.pid, "--target", "*:*", seconds=120)
        say("REFUSAL", message=refusal.err)
        self.assert_refused(refusal, KERNEL_STATE, os.uname().release, *LACKING)
        self.assertEqual(target.ask("run", 20, 2), answer)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_stays_up(self):
        """The daemon serves all the same, and ends when it is told to."""
        daemon = self.start_daemon()
        self.assertEqual(daemon.ctl("list").code, 0)
        self.assertIn("cannot_attach", daemon.log)
        self.assertEqual(daemon.stop(60), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("expected", choices=["works", "refused"])
    parser.add_argument("-k", action="append", default=[])
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, give_up)
    say("KERNEL", release=os.uname().release, version=os.uname().version)
    loader = unittest.defaultTestLoader
    if options.k:
        loader.testNamePatterns = ["*%s*" % word for word in options.k]
    suite = loader.loadTestsFromTestCase(Works if options.expected == "works" else Refused)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, descriptions=False, resultclass=Result).run(suite)
    say("END", checks=result.testsRun, good=result.wasSuccessful())


if __name__ == "__main__":
    main()
