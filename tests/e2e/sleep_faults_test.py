"""--mode sleep: a thread is held for a delay, and something comes between."""
import os
import signal
import threading
import time

from harness import faults, traces
from harness.case import main
from harness.sleep import SleepCase

MS = 1_000_000


class SleepFaultsTest(SleepCase):
    def test_the_longest(self):
        """To its end, which is later than sbump-links waits for a daemon that stands still."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep")
        [slept] = target.ask("each", 1)
        self.assertGreater(slept, 9_999 * MS)
        self.assertLess(slept, 11_000 * MS)
        self.assertEqual(self.finish(session, target)["skipped"], [])

    def test_limits_by_mode(self):
        target = self.start_target(script="steady.py")
        attach = ("attach", "--pid", target.pid, "--target", "*steady.py:step")
        self.assert_refused(self.daemon.ctl(*attach, "--delay", "20ms"), 2, "20ms", "--mode sleep")
        self.assert_refused(self.daemon.ctl(*attach, "--delay", "11s", "--mode", "sleep"), 2, "10s")
        self.assert_refused(self.daemon.ctl(*attach, "--delay", "1ms", "--mode", "nap"), 2, "nap")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms")
        self.assert_refused(self.daemon.ctl("update", session.id, "--delay", "20ms"), 2, "20ms", "--mode sleep")
        self.finish(session, target)

    def test_signals_end_a_delay_and_are_taken(self):
        target = self.start_target(script="sleepers.py")
        session = self.attach(target, "--target", "*sleepers.py:step", "--delay", "5s", "--mode", "sleep")
        target.send("signalled")
        time.sleep(0.5)
        os.kill(target.pid, signal.SIGUSR1)
        slept, handled = target.answer()
        self.assertLess(slept, 2000 * MS)
        self.assertEqual(handled, 1)
        last = self.finish(session, target)
        self.assertEqual(self.skips(last, "cut short"), 1)
        [row] = last["targets"]
        self.assertLess(row["injected_delay_ns"], 2000 * MS)

    def test_stopped_and_continued_in_a_delay(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1s", "--mode", "sleep")
        target.send("each", 1)
        time.sleep(0.3)
        os.kill(target.pid, signal.SIGSTOP)
        self.eventually(lambda: traces.state(target.pid) == "T", 2, "the stop")
        time.sleep(1)
        self.assertEqual(traces.state(target.pid), "T")
        os.kill(target.pid, signal.SIGCONT)
        [slept] = target.answer()
        self.assertGreater(slept, 1000 * MS)
        self.finish(session, target)

    def test_killed_in_a_delay(self):
        """Also where the daemon sees the signal before the end: the process ends for its parent, too."""
        for i in range(5):
            target = self.start_target(script="steady.py")
            session = self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep")
            target.send("each", 1)
            time.sleep(0.3 + 0.0023 * i)  # the daemon looks every 10 ms
            begin = time.monotonic()
            target.kill()
            last = session.wait_end()
            self.assertLess(time.monotonic() - begin, 3)
            self.assertEqual(last["end"]["reason"], "target exited")

    def test_detach_and_update_in_a_delay(self):
        """Both want to stop the process, of which a thread sleeps: it goes on, and the delay is told as cut short."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep")
        target.send("each", 2)
        time.sleep(0.3)
        begin = time.monotonic()
        answer = self.daemon.ctl("update", session.id, "--target", "*steady.py:*")
        self.assertEqual(answer.code, 0, answer.err)
        time.sleep(0.3)
        last = session.finish()
        times = target.answer()
        self.assertLess(time.monotonic() - begin, 5)
        self.assertLess(max(times), 5000 * MS)
        self.assert_clean_proof(last)
        self.assertGreaterEqual(self.skips(last, "cut short"), 1)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_traced_by_somebody_else(self):
        """Nobody else can trace a thread meanwhile, nor we one that is traced: it spins."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "5ms", "--mode", "sleep")
        with faults.traced(target, self.scratch + "/strace"):
            times = target.ask("each", 20)
        self.assertGreater(min(times), 4.9 * MS)
        last = self.finish(session, target)
        self.assertEqual(self.skips(last, "was a spin"), 20)
        self.assertEqual(last["targets"][0]["delayed_calls"], 20)

    def test_a_long_delay_of_a_thread_that_cannot_be_held(self):
        """It spins for 0.2 s at most; that it was less than what was asked for is told."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "5s", "--mode", "sleep")
        with faults.traced(target, self.scratch + "/strace"):
            times = target.ask("each", 3)
        self.assertGreater(min(times), 20 * MS)
        self.assertLess(max(times), 2500 * MS)
        last = self.finish(session, target)
        self.assertEqual((self.skips(last, "was a spin, cut short at 0.2s"), self.skips(last)), (3, 3))
        [row] = last["targets"]
        self.assertEqual((row["delayed_calls"], row["requested_delay_ns"]), (3, 3 * 5000 * MS))
        self.assertLess(row["injected_delay_ns"], 1.1 * sum(times))

    def test_daemon_killed_in_a_delay(self):
        daemon = self.start_daemon()
        target = self.start_target(script="steady.py")
        self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep", daemon=daemon)
        target.send("each", 1)
        time.sleep(0.5)
        begin = time.monotonic()
        daemon.child.send_signal(signal.SIGKILL)
        target.answer()
        self.assertLess(time.monotonic() - begin, 3)
        daemon.child.wait(5)
        self.start_daemon(state_dir=daemon.state_dir)
        self.assert_nothing_left_by_the_keeper(target)
        self.assert_ends_well(target)

    def test_daemon_stopped_in_a_delay(self):
        """Its second process kills it: a thread that is held must not wait for somebody to continue the daemon."""
        daemon = self.start_daemon()
        target = self.start_target(script="steady.py")
        self.attach(target, "--target", "*steady.py:step", "--delay", "500ms", "--mode", "sleep", daemon=daemon)
        answered = threading.Event()
        target.send("each", 3)
        threading.Thread(target=lambda: (target.answer(), answered.set()), daemon=True).start()
        time.sleep(0.2)
        daemon.child.send_signal(signal.SIGSTOP)
        self.assertTrue(answered.wait(10), "the target waits for a stopped daemon")
        self.assertEqual(daemon.child.wait(5), -signal.SIGKILL)
        self.assertIn("daemon_killed", daemon.log)
        self.start_daemon(state_dir=daemon.state_dir)
        self.assert_nothing_left_by_the_keeper(target)
        self.assert_ends_well(target)

    def test_daemon_stopped_in_a_delay_that_is_longer_than_the_session(self):
        daemon = self.start_daemon()
        target = self.start_target(script="steady.py")
        self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep", "--ttl", "2s",
                    daemon=daemon)
        target.send("each", 1)
        time.sleep(1)
        daemon.child.send_signal(signal.SIGSTOP)
        [slept] = target.answer()
        self.assertLess(slept, 7000 * MS)
        self.assertEqual(daemon.child.wait(5), -signal.SIGKILL)
        self.start_daemon(state_dir=daemon.state_dir)
        self.assert_nothing_left_by_the_keeper(target)
        self.assert_ends_well(target)

    def test_the_end_of_the_window_ends_a_delay(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10s", "--mode", "sleep",
                              "--duration", "1s")
        [slept] = target.ask("each", 1)
        self.assertLess(slept, 3000 * MS)
        last = session.wait_end()
        self.assertEqual(self.skips(last, "cut short"), 1)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def assert_nothing_left_by_the_keeper(self, target):
        """It takes the dead daemon's probes away, beside the next daemon's start."""
        self.eventually(lambda: traces.changed_text(target.pid) == [], 2, "the probes' end")
        self.assert_nothing_left(target)


if __name__ == "__main__":
    main()
