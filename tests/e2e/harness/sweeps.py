"""Experiments on services whose truth is known."""
import json
import signal

from harness import interpreters
from harness.case import Case

STEP = "calls:*/service.py:step"
LIMIT = 12  # the exit status of a budget that holds no plan
BESIDE_SECONDS = 120  # what a test takes beside its experiment, at most


def within_budget(run, budget_s):
    """What `run(arguments, seconds)` answers with that budget; or with twice as much, where it holds no plan on this machine: a pilot
    takes longer where units, and reads of the metric, do."""
    for budget in (budget_s, 2 * budget_s):
        signal.alarm(budget + BESIDE_SECONDS)
        answer = run(("--budget", "%ds" % budget), budget + BESIDE_SECONDS // 2)
        if answer.code != LIMIT:
            break
    return answer


class SweepCase(Case):
    def start_service(self, python=None, log=None, noise=0, times_slower=1):
        """Of one that is slower, threads that are woken late (by a hypervisor that has given their processors away) are less late
        against what a unit takes."""
        python = python or interpreters.any_supported()
        target = self.start_target(python, "service.py")
        target.ask("start", log and str(log), noise, times_slower)
        return target

    def sweep(self, target, *arguments, budget_s, metric=STEP):
        return within_budget(lambda budget, seconds: self.daemon.ctl(
            "sweep", "--pid", target.pid, "--metric", metric, "--yes", "--format", "json", "--max-stop", "1s", *arguments, *budget,
            seconds=seconds), budget_s)

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
