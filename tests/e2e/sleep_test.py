"""--mode sleep: how long, and without the CPU. What may come between: sleep_faults_test.py.

Margins are wide: tests/bench judges accuracy.
"""
import os
import pathlib
import time

from harness import costs
from harness.case import each_interpreter, main
from harness.quiet import judges_times
from harness.sleep import SleepCase

MS = 1_000_000


def median(times):
    return sorted(times)[len(times) // 2]


@judges_times
class SleepTest(SleepCase):
    @each_interpreter
    def test_the_dose_without_the_cpu(self, python):
        target = self.start_target(python, "steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "20ms", "--mode", "sleep")
        burnt = costs.burnt_ns(target.pid)
        times = target.ask("each", 50)
        burnt = costs.burnt_ns(target.pid) - burnt
        last = self.finish(session, target)
        self.assertGreater(min(times), 19.9 * MS, (times, last["skipped"], last["times"]))
        self.assertLess(median(times), 24 * MS)
        self.assertEqual((last["mode"], last["on"]), ("SLEEP", "CALL"))
        [row] = last["targets"]
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"]), (50, 50, 1000 * MS))
        self.assertGreaterEqual(row["injected_delay_ns"], 1000 * MS)
        self.assertLess(row["injected_delay_ns"], 1.1 * sum(times))
        spun = self.skips(last, "was a spin")
        self.assertLess(spun, 25)
        self.assertLess(burnt, 300 * MS + spun * 20 * MS)  # of 1000; clock ticks are 10 ms

    def test_short_doses_spin(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "100us", "--mode", "sleep")
        times = target.ask("each", 100)
        self.assertLess(median(times), 150_000)
        last = self.finish(session, target)
        self.assertEqual(last["targets"][0]["delayed_calls"], 100)
        self.assertEqual(last["skipped"], [])

    def test_its_thread_is_before_others(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", "--mode", "sleep")
        threads = pathlib.Path("/proc/%d/task" % self.daemon.pid).iterdir()
        policies = [os.sched_getscheduler(int(one.name)) for one in threads if (one / "comm").read_text() == "sleeper\n"]
        self.assertEqual(policies, [os.SCHED_FIFO])
        self.finish(session, target)

    def test_several_threads_at_once_and_other_threads_run(self):
        target = self.start_target(script="sleepers.py")
        session = self.attach(target, "--native", "libc.so.6:getppid", "--delay", "50ms", "--mode", "sleep")
        times, beside = target.ask("together", 8, 10)
        self.assertEqual(len(times), 80)
        self.assertGreater(min(times), 49.9 * MS)
        self.assertLess(median(times), 65 * MS)
        self.assertGreater(beside, 10_000)
        last = self.finish(session, target)
        self.assertEqual(last["targets"][0]["delayed_calls"], 80)

    def test_more_threads_than_can_be_held(self):
        target = self.start_target(script="sleepers.py")
        session = self.attach(target, "--native", "libc.so.6:getppid", "--delay", "50ms", "--mode", "sleep")
        times, _ = target.ask("together", 40, 3)
        self.assertGreater(min(times), 49.9 * MS)
        last = self.finish(session, target)
        self.assertEqual(last["targets"][0]["delayed_calls"], 120)
        self.assertGreater(self.skips(last, "too many threads sleep at once", "was a spin"), 0)

    def test_a_daemon_that_comes_too_late(self):
        """It takes the request in time, and its system call longer than the thread waits: that has spun, and is counted."""
        for how in ("delay_enter=60000", "delay_enter=60000:error=EPERM"):
            target = self.start_target(script="steady.py")
            session = self.attach(target, "--target", "*steady.py:step", "--delay", "20ms", "--mode", "sleep")
            tracer = self.inject(self.daemon, "ptrace", how)
            try:
                times = []
                for _ in range(5):
                    times += target.ask("each", 1)
                    time.sleep(0.4)  # until the daemon is done with it
            finally:
                tracer.process.terminate()
                tracer.wait(10)
            self.assertGreater(min(times), 19.9 * MS)
            last = self.finish(session, target)
            [row] = last["targets"]
            self.assertEqual((row["calls"], row["delayed_calls"]), (5, 5), (how, last["skipped"]))
            self.assertGreaterEqual(row["injected_delay_ns"], 5 * 20 * MS)
            self.assertLess(row["injected_delay_ns"], 1.1 * sum(times))
            self.assertEqual(self.skips(last, "was a spin"), 5)


if __name__ == "__main__":
    main()
