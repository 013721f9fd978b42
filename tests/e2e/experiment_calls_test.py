"""Experiments.Run as other clients than sbumpctl may call it."""
from harness.case import main
from harness.raw_call import field, number, start
from harness.sweeps import SweepCase

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

    def test_nobody_answers(self):
        """For more than two minutes, in which nothing is slowed."""
        target = self.start_service()
        asks_first = number(10, 1)
        self.assert_ends_with(1, b"nobody has approved the plan for %d s: nothing was slowed" % APPROVAL_SECONDS,
                              begin(target, COUNTED, asks_first), seconds=APPROVAL_SECONDS + 60)
        self.assert_unharmed(target)


if __name__ == "__main__":
    main()
