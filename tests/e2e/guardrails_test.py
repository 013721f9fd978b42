"""Sessions that weigh more than their client allowed end by themselves, and say why."""
from harness.case import main
from harness.sweeps import STEP, SweepCase

ENDED_EARLY, BAD_ARGUMENTS = 15, 2


class GuardrailsTest(SweepCase):
    def session_that_ends(self, *arguments):
        """On a process whose threads call all the time. Its last update."""
        target = self.start_target(script="steady.py")
        target.ask("start", 2, 0.0)
        session = self.attach(target, "--target", "*steady.py:*", "--interval", "100ms", *arguments)
        last = session.wait_end()
        self.assertEqual(session.code, ENDED_EARLY, session.errors)
        self.assertIn(last["end"]["reason"], session.errors)
        self.assert_clean_proof(last)
        target.ask("finish")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        return last["end"]["reason"]

    def test_rate(self):
        reason = self.session_that_ends("--max-rate", 100)
        self.assertRegex(reason, r"^guardrail: at least \d+ matching calls a second, and the most is 100$")

    def test_from_the_beginning(self):
        """Calls in the first half second, and none after it."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--max-rate", 50)
        target.ask("call", "step", 100)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "guardrail: at least 100 matching calls a second, and the most is 50")
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_duty(self):
        reason = self.session_that_ends("--delay", "1ms", "--max-duty", 30)
        self.assertRegex(reason, r"^guardrail: at least \d+ % of the time was injected, and the most is 30 %$")

    def test_hold(self):
        """Code that is new to the daemon holds its thread for some microseconds at least."""
        target = self.start_target(script="births.py")
        session = self.attach(target, "--target", "born_*.py:plain", "--interval", "100ms", "--max-hold", "1ns")
        target.ask("born", "born_a.py", 20)
        last = session.wait_end()
        self.assertRegex(last["end"]["reason"], r"^guardrail: a thread waited \d+ ns for new code .* is 1 ns$")
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_below_them_it_goes_on(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "100us", "--interval", "100ms",
                              "--max-rate", 1_000_000, "--max-duty", 300, "--max-hold", "1s", "--duration", "3s")
        target.ask("start", 1, 0.001)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "duration over")
        target.ask("finish")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_experiments(self):
        """The largest dose is 10 % of the time, and is given after some blocks' windows at the latest."""
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:critical", "--max-duty", "1%", budget_s=30)
        self.assertEqual(answer.code, ENDED_EARLY, answer)
        self.assertRegex(answer.err, r"guardrail: at least \d+ % of the time was injected, and the most is 1 %")
        answer = self.daemon.ctl("rank", "--pid", target.pid, "--metric", STEP, "--yes", "--budget", "60s", "--max-rate", 10)
        self.assertEqual(answer.code, ENDED_EARLY, answer)
        self.assertRegex(answer.err, r"guardrail: at least \d+ matching calls a second, and the most is 10")
        self.assert_unharmed(target)

    def test_limits_of_the_limits(self):
        target = self.start_target(script="steady.py")
        for arguments in (["--max-duty", 0], ["--max-duty", 100_001], ["--max-hold", "2s"], ["--max-rate", "many"]):
            answer = self.daemon.ctl("attach", "--pid", target.pid, "--target", "*:step", *arguments)
            self.assertEqual(answer.code, BAD_ARGUMENTS, answer)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
