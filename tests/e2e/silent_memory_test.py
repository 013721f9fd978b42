"""Processes with pages and files that never come: the daemon refuses or copes, and others do not notice."""
import os
import signal
import time
import unittest

from harness import silent_fs, traces
from harness.case import main
from harness.child import Child
from harness.daemon import START_SECONDS
from harness.hostile import STEP, HostileCase
from harness.session import calls_by_name

BAD_POLICY = 3
PATIENCE_SECONDS = 20      # the daemon's own, with memory that does not answer (daemon/rpc/blocking_work.h)


@unittest.skipUnless(silent_fs.is_possible(), "needs " + silent_fs.DEVICE)
class SilentMemoryTest(HostileCase):
    """Pages and files that never come, from a FUSE server that does not answer. (userfaultfd, which could hang the
    machine: tests/kernels.)"""

    def setUp(self):
        super().setUp()
        self.files = silent_fs.SilentFs(self.scratch + "/silent")
        # First of all at the end: whatever waits for it goes on then.
        self.addCleanup(self.files.end)

    def silent_target(self, lie, name):
        target = self.start_target(script="liar.py")
        target.ask(lie, os.path.join(self.files.directory, name))
        return target

    def assert_others_can_attach(self):
        """More of them than the daemon has workers."""
        for _ in range(2):
            other = self.start_target(script="steady.py")
            begin = time.monotonic()
            session = self.attach(other, "--target", "*steady.py:step")
            self.assertLess(time.monotonic() - begin, 6)
            other.ask("call", "step", 10)
            last = session.finish()
            self.assertEqual(calls_by_name(last), {"step": 10})
            self.assert_clean_proof(last)

    def test_a_page_that_never_comes_is_not_read(self):
        """Whoever reads it holds the process's memory locked meanwhile, and with a probe on top the whole machine."""
        target = self.silent_target("silent_page", "data")
        for command in (["doctor"], ["match", *STEP, "--max-stop", "1s"],
                        ["attach", *STEP, "--duration", "200ms"]):
            self.assertEqual(self.ask_of(target.pid, *command).code, 0)
        self.assertEqual(self.files.reads, 0)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)
        self.assert_others_can_attach()
        self.assert_neighbour_unharmed()

    def test_match_and_doctor_are_answered(self):
        """Six at once, for a library that never comes: each is told, and meanwhile others work."""
        target = self.silent_target("silent_library", "libpython3.99.so.1.0")
        command = [os.environ["SBUMPCTL"], "--endpoint", self.daemon.endpoint]
        asked = [Child([*command, *words, "--pid", str(target.pid)]) for words in 3 * [["doctor"], ["match", *STEP]]]
        for child in asked:
            self.addCleanup(child.kill)
        self.eventually(lambda: self.files.reads > 0, 5, "a read of the file")
        self.assert_others_can_attach()
        for child in asked:
            self.assertNotEqual(child.wait(PATIENCE_SECONDS + 10), 0)
            self.assertIn("pid %d: no answer within 20 s" % target.pid, child.errors)
        self.call_neighbour()
        last = self.watch.finish()
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assert_clean_proof(last)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def start_stuck_session(self):
        """One that waits for the library's file."""
        target = self.silent_target("silent_library", "libpython3.99.so.1.0")
        session = self.start_attach(target, *STEP)
        self.eventually(lambda: self.files.reads > 0, 10, "a read of the file")
        return target, session

    def test_sigterm_does_not_wait_for_it(self):
        target, session = self.start_stuck_session()
        self.assert_others_can_attach()
        self.call_neighbour()
        self.daemon.child.send_signal(signal.SIGTERM)
        last = self.watch.wait_end(20)
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assert_clean_proof(last)
        self.eventually(lambda: not traces.main_thread_runs(self.daemon.pid), 18, "the daemon's end")
        self.assert_free_of_probes([self.neighbour])
        self.assertIn("event=session_left_behind", self.daemon.log)
        session.kill()
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def assert_free_of_probes(self, targets):
        """Not of those that map the silent file: we would wait for it, too."""
        for one in targets:
            self.eventually(lambda: traces.changed_text(one.pid) == [], 3, "the probes' end")
            self.assertEqual(traces.trouble_of_threads(one.pid), [])

    def test_kill_with_a_thread_that_waits(self):
        """The kernel cannot end that thread, which keeps the daemon's descriptors: the probes go all the same, and a
        new daemon takes its place."""
        slow = self.start_target(script="steady.py")
        self.attach(slow, "--target", "*steady.py:step", "--delay", "1ms")
        target, session = self.start_stuck_session()
        self.daemon.child.process.send_signal(signal.SIGKILL)
        self.assert_free_of_probes([slow, self.neighbour])
        session.kill()
        again = self.start_again()
        self.assertEqual(again.ctl("list").code, 0)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def test_recovery_does_not_wait_for_it(self):
        """Two processes have such a file by the time that a new daemon is to disarm them: it serves in time, and disarms
        the third, which comes after them."""
        *silent, last = self.leave_armed(3)
        self.silence(silent)
        self.assertNotEqual(last.ask("armed_code"), [])
        self.start_again()
        self.eventually(lambda: last.ask("armed_code") == [], 2 * PATIENCE_SECONDS + 20, "the recovery of the third")
        self.eventually(lambda: not traces.held_locks(last.pid), 5, "its end")
        self.assert_nothing_left(last, after_kill=True)
        self.assertEqual([target.ask("call", 100, seconds=10) for target in silent], [5050] * 2)

    def leave_armed(self, count):
        """So many processes, by a daemon that is killed: in the order in which another one takes their journals."""
        targets = [self.start_target(script="liar.py") for _ in range(count)]
        for target in targets:
            self.attach(target, *STEP)
            target.ask("call", 100)
        self.daemon.kill()
        self.assert_free_of_probes([self.neighbour, *targets])
        by_journal = {"%d-%d" % (one.pid, traces.start_ticks(one.pid)): one for one in targets}
        return [by_journal[name] for name in self.daemon.journals() if name in by_journal]

    def silence(self, targets):
        for number, target in enumerate(targets):
            target.ask("silent_library", os.path.join(self.files.directory, "libpython3.99.so.%d" % number))

    def test_a_daemon_that_cannot_start_ends_while_its_recovery_waits(self):
        [silent] = self.leave_armed(1)
        self.silence([silent])
        policy = self.write("policy.yaml", "nonsense: 1\n")
        os.chmod(policy, 0o600)
        failing = Child([os.environ["SBUMPD"], "--listen", self.daemon.endpoint, "--state-dir", self.daemon.state_dir,
                         "--policy", policy])
        self.addCleanup(failing.kill)
        self.addCleanup(self.files.end)
        self.eventually(lambda: not traces.main_thread_runs(failing.pid), 10, "the daemon's end")
        self.files.end()  # what its thread waited for
        self.assertEqual(failing.wait(5), BAD_POLICY, failing.errors)
        self.assertIn("event=recovery_waits", failing.errors)
        self.assertEqual(silent.ask("call", 100, seconds=10), 5050)

    def start_again(self):
        """A daemon on the socket and the state directory of the one that was killed."""
        again = Child([os.environ["SBUMPD"], "--listen", self.daemon.endpoint, "--state-dir", self.daemon.state_dir])
        self.addCleanup(again.kill)
        self.addCleanup(self.files.end)
        begin = time.monotonic()
        self.eventually(lambda: self.daemon.ctl("list").code == 0, 20, "an answer of the next daemon")
        self.assertLess(time.monotonic() - begin, START_SECONDS + 3)  # whoever asks waits, too
        return self.daemon


if __name__ == "__main__":
    main()
