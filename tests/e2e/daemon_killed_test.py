"""kill -9 of the daemon at every step: the target lives and is right, and a new daemon cleans up.

Where a moment cannot be met from outside, strace kills the daemon as it enters its Nth system call of a
kind, for N = 1, 2, 3, ... until it lives through the whole step. Where that is long, each way of arming takes every
third N, and the next ones those between; tests/chaos takes them at random.
"""
import os
import signal
import sys
import time

from harness import traces
from harness.case import Case, each_mechanism, each_with_monitoring, main
from harness.session import calls_by_name

MOST_STEPS, MOST_FAILURES, MOMENTS = 20, 3, 8
TWO_FUNCTIONS = ("--target", "*/calls.py:add", "--target", "*/calls.py:Shape.area")
TWO_GENERATORS = ("--target", "*/calls.py:numbers", "--target", "*/calls.py:receives", "--on", "resume")
DETACH_UNPROVEN, UNREACHABLE = 1, 9  # how a client ends whose daemon died


class DaemonKilledTest(Case):
    @classmethod
    def setUpClass(cls):
        pass  # each case kills its own

    def setUp(self):
        super().setUp()
        self.state_dir = self.scratch + "/state"

    def strace(self, daemon, call, number):
        """From now on each thread of the daemon dies at its `number`th `call`, and takes the daemon with it."""
        return self.inject(daemon, call, "signal=SIGKILL:when=%d" % number)

    def assert_harmless(self, target, may_leak=False):
        """With the daemon dead and before a new one has cleaned up. may_leak: the process that keeps the probes
        died too, maybe within the kernel's removal of one (daemon/attach/probe_text.h)."""
        if not may_leak:
            self.eventually(lambda: traces.changed_text(target.pid) == [], 2, "the probes' end")
        self.assertEqual(traces.trouble_of_threads(target.pid), [])
        self.assertTrue(target.alive())

    def assert_recovered(self, target, attach_again=True):
        """A new daemon on the same state directory: nothing armed, no journal, and it can attach."""
        daemon = self.start_daemon(state_dir=self.state_dir)
        self.assertEqual((daemon.journals(), traces.changed_text(target.pid)), ([], []), daemon.log)
        self.assert_nothing_left(target, daemon, after_kill=True)
        if attach_again:
            answer = target.ask("run", 20, 1)
            target.ask("take_counts")
            session = self.attach(target, "--target", "*/calls.py:*", daemon=daemon)
            self.assertEqual(target.ask("run", 20, 1), answer)
            own = target.ask("take_counts")
            last = session.finish()
            calls = calls_by_name(last)
            self.assertEqual({name: calls.get(name, 0) for name in own}, own)
            self.assert_clean_proof(last)
            self.assert_nothing_left(target, daemon)
        daemon.clean_up()

    @each_mechanism
    def test_in_mid_hit(self, python):
        """8 threads, each in a delay of 10 ms or waiting for the one that is."""
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target(python)
        answer = target.ask("run", 60, 8)
        session = self.attach(target, "--target", "*/calls.py:*", "--delay", "10ms", daemon=daemon)
        target.send("run", 60, 8)
        time.sleep(0.5)
        daemon.kill()
        self.assertNotEqual(session.child.wait(), 0)
        self.assertEqual(target.answer(10), answer)
        self.assert_harmless(target)
        self.assertTrue(target.ask("armed_code"), "there was nothing to clean up")
        self.assertEqual(target.ask("run", 60, 8), answer)
        self.assert_recovered(target)
        self.assert_ends_well(target)

    def die_at(self, python, call, number, arguments=TWO_FUNCTIONS):
        """Kills the daemon at a step of an attach to a busy target. False where it lived through it."""
        self.state_dir = "%s/%s-%d" % (self.scratch, call, number)
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target(python)
        answer = target.ask("run", 600, 2)
        target.ask("start_looping", 2)
        tracer = self.strace(daemon, call, number)
        session = self.start_attach(target, *arguments, daemon=daemon)
        self.eventually(lambda: session.child.process.poll() is not None or
                        any(update["state"] == "ACTIVE" for update in session.updates), 20, "an end or ACTIVE")
        # With new threads beside those that were there: they start with what the interpreter says by now.
        self.assertEqual(target.ask("run", 100, 2, seconds=10), target.ask("run", 100, 2, seconds=10))
        died = session.child.process.poll() is not None or self.end_traced(session, daemon)
        if died:
            daemon.child.wait(10)
        else:
            tracer.process.terminate()
            tracer.wait(10)
            daemon.stop()
        self.assert_harmless(target)
        self.assertEqual(target.ask("run", 600, 2, seconds=20), answer)
        self.assertEqual(target.ask("stop_looping", seconds=10), 0)
        self.assert_recovered(target, attach_again=number % 4 in (1, 2))
        self.assert_ends_well(target)
        tracer.kill()
        daemon.clean_up()
        return died

    def end_traced(self, session, daemon):
        session.child.send_signal(signal.SIGINT)
        self.eventually(lambda: session.child.process.poll() is not None, 20, "the session's end")
        return session.code in (DETACH_UNPROVEN, UNREACHABLE)

    def until_it_lives(self, die, first=1, step=1):
        """Calls die(first), die(first + step), ... until the daemon did not, and returns how often it died. A failure
        is no end."""
        failures = deaths = 0
        for number in range(first, MOST_STEPS, step):
            died = None
            with self.subTest(number=number):
                died = die(number)
            failures += died is None
            deaths += died is True
            if died is False or failures == MOST_FAILURES:
                return deaths
        self.fail("the daemon makes too many of these calls")

    def die_at_each(self, python, call, arguments=TWO_FUNCTIONS, **numbers):
        deaths = self.until_it_lives(lambda number: self.die_at(python, call, number, arguments), **numbers)
        print("died at %d calls of %s" % (deaths, call), end=" ", file=sys.stderr)
        self.assertGreater(deaths, 0, "the daemon was never killed at %s: %s" % (call, _last_lines(self.scratch)))

    @each_mechanism
    def test_at_each_write(self, python):
        """Journal, armed fields, the bump of each version word and the marks around it, disarming."""
        self.die_at_each(python, "pwrite64", **_every_third(python))

    @each_mechanism
    def test_at_each_write_for_resumptions(self, python):
        """Several fields of each code object, of which some are armed."""
        self.die_at_each(python, "pwrite64", TWO_GENERATORS, **_every_third(python))

    @each_with_monitoring
    def test_within_the_bump(self, python):
        """3.13 keeps the version in two places. Where they differ, the first call of a new code object never
        begins, and holds the GIL while it tries: not even a moment of that may be left to a dead daemon."""
        for call in ["pwrite64", "process_vm_writev"]:  # the journal's marks around it, and the bump itself
            deaths = self.until_it_lives(lambda number: self.die_in_bump(python, call, number))
            self.assertGreater(deaths, 0, _last_lines(self.scratch))

    def die_in_bump(self, python, call, number):
        self.state_dir = "%s/bump-%s-%d" % (self.scratch, call, number)
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target(python, "births.py")
        # Code that never ran has version 0, and so has a process that was never attached to: raise its own.
        self.assert_clean_proof(self.attach(target, "--target", "*:nothing", daemon=daemon).finish())
        tracer = self.strace(daemon, call, number)
        target.send("churn", 1.5, 1)  # new code all the time, in one thread that nothing makes drop the GIL
        session = self.start_attach(target, "--target", "*:nothing", daemon=daemon)
        self.eventually(lambda: session.child.process.poll() is not None or
                        any(update["state"] == "ACTIVE" for update in session.updates), 20, "an end or ACTIVE")
        died = session.child.process.poll() is not None or self.end_traced(session, daemon)
        if died:
            daemon.child.wait(10)
        self.assertGreater(target.answer(10), 0)
        self.assert_harmless(target)
        tracer.kill()
        daemon.clean_up()
        self.assert_recovered(target, attach_again=False)
        self.assert_ends_well(target)
        return died

    def test_at_each_step_of_the_stop(self):
        """Seizing, interrupting, letting go: the kernel lets go of what the dead one held."""
        self.die_at_each(self.python, "ptrace")

    @each_mechanism
    def test_in_the_walk(self, python):
        self.assertTrue(self.die_at(python, "pread64", 20))
        self.assertTrue(self.die_at(python, "pread64", 60))

    def test_at_each_link(self):
        """Each is asked for, and given back, over a socket of its own."""
        self.die_at_each(self.python, "socketpair")

    def test_as_the_journal_goes(self):
        self.assertTrue(self.die_at(self.python, "unlink", 1))

    @each_mechanism
    def test_in_mid_hold(self, python):
        """A thread waits for the daemon's word on a new code object, which never comes."""
        deaths = self.until_it_lives(lambda number: self.die_in_hold(python, number))
        self.assertGreater(deaths, 0, _last_lines(self.scratch))

    def die_in_hold(self, python, number):
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target(python, "births.py")
        expected, _ = target.ask("born", "other.py", 1500)
        # strace makes each read of the daemon 100 times as slow: none of sys.modules, or the hold times out.
        session = self.attach(target, "--paths-only", "--target", "born_*.py:plain", daemon=daemon)
        tracer = self.strace(daemon, "pwrite64", number)
        begin = time.monotonic()
        answer, own = target.ask("born", "born_a.py", 1500)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual((answer, own["plain"]), (expected, 1500))
        died = daemon.child.process.poll() is not None
        if died:
            self.assertNotEqual(session.child.wait(), 0)
        else:
            died = self.end_traced(session, daemon)
        if died:
            daemon.child.wait(10)
        self.assert_harmless(target)
        tracer.kill()
        daemon.clean_up()
        self.assert_recovered(target, attach_again=False)
        self.assert_ends_well(target)
        return died

    @each_mechanism
    def test_while_sessions_come_and_go(self, python):
        """Killed at a random moment of an attach or its end; the next daemon has to cope with what it finds."""
        target = self.start_target(python)
        self.die_at_moments(target, lambda daemon: daemon.kill(), may_leak=False)
        self.assert_recovered(target)
        self.assert_ends_well(target)

    @each_mechanism
    def test_with_the_keeper_of_the_probes(self, python):
        """Killed with the daemon while it opens or closes probes: the kernel may leave a breakpoint, and the next
        daemon takes it away."""
        target = self.start_target(python)

        def kill(daemon):
            [keeper] = traces.children(daemon.pid)
            os.kill(keeper, signal.SIGKILL)
            daemon.kill()

        leaks = self.die_at_moments(target, kill, may_leak=True)
        print("%d times the kernel left a breakpoint" % leaks, end=" ", file=sys.stderr)
        self.assert_recovered(target)
        self.assert_ends_well(target)

    def test_the_keeper_of_the_probes_alone_at_any_moment(self):
        """The daemon, which lives on for its last words, must not take a breakpoint that stayed for none."""
        target = self.start_target()

        def kill(daemon):
            [keeper] = traces.children(daemon.pid)
            os.kill(keeper, signal.SIGKILL)
            self.assertEqual(daemon.child.wait(10), 1)

        leaks = self.die_at_moments(target, kill, may_leak=True)
        print("%d times the kernel left a breakpoint" % leaks, end=" ", file=sys.stderr)
        self.assert_recovered(target)
        self.assert_ends_well(target)

    def die_at_moments(self, target, kill, may_leak):
        """Returns how often a breakpoint was left behind."""
        answer = target.ask("run", 30, 2)
        leaks = 0
        for i in range(MOMENTS):
            daemon = self.start_daemon(state_dir=self.state_dir)
            self.assertEqual(traces.changed_text(target.pid), [], daemon.log)
            target.send("run", 30, 2)
            session = self.start_attach(target, "--target", "*/calls.py:*", "--duration", "100ms", daemon=daemon)
            time.sleep(0.5 * i / MOMENTS)
            keepers = traces.children(daemon.pid)
            kill(daemon)
            session.child.wait(10)
            self.assertEqual(target.answer(20), answer)
            self.assert_harmless(target, may_leak)
            self.eventually(lambda: not any(traces.runs(pid) for pid in keepers), 5, "the keeper's end")
            leaks += bool(traces.changed_text(target.pid))
            daemon.clean_up()
        return leaks

    @each_mechanism
    def test_the_keeper_of_the_probes_alone(self, python):
        """Without it no call is seen any more: the daemon says so and ends, for systemd to start another."""
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target(python)
        answer = target.ask("run", 60, 2)
        session = self.attach(target, "--target", "*/calls.py:*", "--delay", "1ms", daemon=daemon)
        target.send("run", 60, 2)
        [keeper] = traces.children(daemon.pid)
        os.kill(keeper, signal.SIGKILL)
        self.assertEqual(daemon.child.wait(10), 1)
        self.assertIn("keeps the probes has ended", daemon.log)
        session.wait_end()
        self.assertEqual(target.answer(10), answer)
        self.assert_harmless(target)
        self.assert_recovered(target)
        self.assert_ends_well(target)

    def test_the_target_dies_before_the_new_daemon_comes(self):
        daemon = self.start_daemon(state_dir=self.state_dir)
        target = self.start_target()
        self.attach(target, "--target", "*/calls.py:*", daemon=daemon)
        daemon.kill()
        self.assertEqual(len(daemon.journals()), 1)
        self.assert_ends_well(target)
        again = self.start_daemon(state_dir=self.state_dir)
        self.assertEqual(again.journals(), [])
        self.assertIn("gone=1", again.log)


def _every_third(python):
    return {"first": 1 + python.version[1] % 3, "step": 3}


def _last_lines(directory):
    path = os.path.join(directory, "strace")
    if not os.path.exists(path):
        return "no strace"
    with open(path, errors="replace") as file:
        return file.read()[-1500:]


if __name__ == "__main__":
    main()
