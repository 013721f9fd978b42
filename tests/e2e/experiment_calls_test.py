"""Experiments.Run as other clients than sbumpctl may call it, and on processes that others have a hand on."""
import os
import signal
import types

from harness import faults, traces
from harness.case import main
from harness.raw_call import field, number, start
from harness.session import Session
from harness.sweeps import STEP, SweepCase

SAMPLED = field(3, field(1, b"a metric of the client's"))
COUNTED = field(1, field(1, b"*/service.py:step"))
STOP = field(5, b"")
MOST_SAMPLES = 1000
APPROVAL_SECONDS = 130


def begin(target, metric, more=b""):
    group = field(1, b"critical") + field(2, field(1, field(1, b"*/service.py:critical")))
    return field(1, field(1, number(1, target.pid)) + field(2, group) + field(3, metric) + more)


class ExperimentCallsTest(SweepCase):
    def assert_ends_with(self, status, words, *messages, seconds=20):
        call, told = start(self, (), "Experiments/Run", *messages)
        self.assertEqual(call.wait(seconds), 0)
        self.assertIn(b"grpc-status: %d" % status, told())
        self.assertIn(words, told())
        self.assert_no_session()

    def test_more_samples_than_a_message_may_have(self):
        target = self.start_service()
        samples = field(3, field(1, number(1, 1)) * (MOST_SAMPLES + 1))
        self.assert_ends_with(3, b"1001 in a message, of at most 1000", begin(target, SAMPLED), samples)
        self.assert_unharmed(target)

    def test_stopped_before_it_began(self):
        target = self.start_service()
        for messages in ((STOP, begin(target, COUNTED)), (begin(target, COUNTED), STOP)):
            self.assert_ends_with(1, b"stopped by its client", *messages)
        self.assert_unharmed(target)

    def test_one_of_its_processes_is_traced(self):
        """It cannot be changed then, and no window counts for an arm that is not in force in all."""
        target = self.start_service()
        target.ask("beget", 0, 120)
        child = types.SimpleNamespace(pid=self.eventually(lambda: traces.children(target.pid), 10, "a child")[0], child=target.child)
        session = Session(self.daemon, "--pid", target.pid, "--children", "--metric", STEP, "--target", "*/service.py:critical",
                          "--yes", "--budget", "30s", "--max-stop", "1s", "--seed", "1", command="sweep")
        self.addCleanup(session.kill)
        session.wait_for(lambda line: line.get("window", {}).get("phase") == "MAIN", 30)
        try:
            with faults.traced(child, self.scratch + "/strace"):
                code = session.wait_exit(40)
        finally:
            os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(code, 13, session.errors)
        self.assertIn("delays could not be switched in all processes", session.errors)
        self.assertIn("is traced by", session.errors)
        self.assert_no_session()
        self.assert_unharmed(target)

    def test_nobody_answers(self):
        """For more than two minutes, in which nothing is slowed."""
        target = self.start_service()
        asks_first = number(10, 1)
        self.assert_ends_with(1, b"nobody has approved the plan for %d s: nothing was slowed" % APPROVAL_SECONDS,
                              begin(target, COUNTED, asks_first), seconds=APPROVAL_SECONDS + 60)
        self.assert_unharmed(target)


if __name__ == "__main__":
    main()
