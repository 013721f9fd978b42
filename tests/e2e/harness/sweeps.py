"""Experiments on services whose truth is known."""
import json

from harness import interpreters
from harness.case import Case

STEP = "calls:*/service.py:step"


class SweepCase(Case):
    def start_service(self, python=None, log=None, noise=0, times_slower=1):
        """Of one that is slower, threads that are woken late (by a hypervisor that has given their processors away) are less late
        against what a unit takes."""
        python = python or interpreters.any_supported()
        target = self.start_target(python, "service.py")
        target.ask("start", log and str(log), noise, times_slower)
        return target

    def sweep(self, target, *arguments, metric=STEP, seconds=120):
        return self.daemon.ctl("sweep", "--pid", target.pid, "--metric", metric, "--yes", "--format", "json", *arguments,
                               seconds=seconds)

    def results_of(self, answer):
        self.assertEqual(answer.code, 0, answer)
        last = json.loads(answer.out.splitlines()[-1])
        return {result["name"]: result for result in last["results"]}

    def assert_unharmed(self, target):
        before = target.ask("units")
        target.ask("idle", 1)
        self.assertGreaterEqual(target.ask("units"), before)
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)

    def assert_no_session(self):
        self.eventually(lambda: not json.loads(self.daemon.ctl("list", "--format", "json").out).get("sessions"), 10,
                        "the end of the session")
