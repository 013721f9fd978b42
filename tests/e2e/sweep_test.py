"""sbumpctl sweep: what it says of services whose truth is known, and how it ends."""
import json
import pathlib
import signal
import time

from harness import interpreters, stolen
from harness.case import each_interpreter, main
from harness.quiet import judges_times
from harness.session import Session
from harness.sweeps import STEP, SweepCase

METRIC = ("--metric", STEP)
FIRST_BUDGET_S, MOST_BUDGET_S = 60, 150
LONG_BUDGET_S = 120


@judges_times
class SweepTest(SweepCase):
    @each_interpreter
    def test_what_matters_and_what_does_not(self, python):
        target = self.start_service(python, times_slower=5)
        answer = self.sweep(target, "--group", "critical=*/service.py:critical", "--group", "hidden=*/service.py:hidden",
                            "--top-share", "40", "--margin", "0.3", "--no-controls", budget_s=15)
        results = self.results_of(answer)
        critical, hidden = results["critical"], results["hidden"]
        self.assertEqual(critical["verdict"], "MATTERS", answer)
        self.assertTrue(0.7 < critical["criticality"] < 1.3, critical)
        self.assertTrue(critical["ci_low"] <= critical["criticality"] <= critical["ci_high"], critical)
        self.assertNotEqual(hidden["verdict"], "MATTERS", answer)
        self.assertTrue(-0.3 < hidden["criticality"] < 0.3, hidden)
        self.assertAlmostEqual(critical["hits_per_unit"], 1, delta=0.05)
        self.assert_unharmed(target)

    def test_the_margin_that_there_is_by_default(self):
        """Where the machine is too restless for the first budget, the blocks that it asks for then decide."""
        target = self.start_service(times_slower=10)
        budget_s = FIRST_BUDGET_S
        for is_last in (False, True):
            results = self.results_of(self.sweep(target, "--group", "critical=*/service.py:critical", "--group",
                                                 "hidden=*/service.py:hidden", "--top-share", "40", budget_s=budget_s))
            hidden = results["hidden"]
            self.assertEqual(results["critical"]["verdict"], "MATTERS", results)
            if is_last or hidden["verdict"] != "UNDECIDED":
                break
            self.assertGreater(hidden["more_blocks"], 0, hidden)
            budget_s = min(int(FIRST_BUDGET_S * (1 + 1.5 * hidden["more_blocks"] / hidden["blocks"])), MOST_BUDGET_S)
        self.assertEqual(hidden["verdict"], "DOES_NOT_MATTER", results)
        self.assert_unharmed(target)

    def test_three_percent_are_found_in_three_minutes(self):
        """Of a service whose pace varies by some 2 % from window to window. (Asked for is half of that effect, which is missed now and
        then; all of it hardly ever.)"""
        target = self.start_service(noise=0.5)
        begin = time.monotonic()
        answer = self.sweep(target, "--target", "*/service.py:critical", "--top-share", "3", "--mde", "1.5", "--no-controls",
                            budget_s=165)
        self.assertLess(time.monotonic() - begin, 180, answer)
        plan = next(line["plan"] for line in map(json.loads, answer.out.splitlines()) if "plan" in line)
        self.assertTrue(0.01 < plan["variation"], plan)
        self.assertLess(plan["peak_slowdown"], 0.035, plan)
        self.assertEqual(self.results_of(answer)["targets"]["verdict"], "MATTERS", answer)
        self.assert_unharmed(target)

    def test_never_called_is_no_verdict(self):
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:idle", budget_s=10)
        self.assertEqual(answer.code, 13, answer)
        self.assertIn("was not called while the metric moved", answer.err)
        self.assert_unharmed(target)

    def test_a_metric_that_does_not_move(self):
        target = self.start_service()
        answer = self.daemon.ctl("sweep", "--pid", target.pid, "--target", "*/service.py:critical", "--metric",
                                 "calls:*/service.py:idle", "--yes", seconds=60)
        self.assertEqual(answer.code, 13, answer)
        self.assertIn("the metric does not move", answer.err)
        self.assert_unharmed(target)

    def test_a_typo_is_no_match(self):
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:critcal", budget_s=10)
        self.assertEqual(answer.code, 7, answer)
        self.assertIn('nothing that is loaded matches "*/service.py:critcal": did you mean', answer.err)
        self.assertIn("service.py:critical", answer.err)
        self.assert_unharmed(target)

    def test_a_typo_in_the_metric(self):
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:critical", budget_s=10, metric="calls:*/service.py:stpe")
        self.assertEqual(answer.code, 7, answer)
        self.assertIn('nothing that is loaded matches "*/service.py:stpe": did you mean', answer.err)
        self.assert_unharmed(target)

    def test_groups_that_share_functions_and_excludes_of_what_counts(self):
        """What counts the units is excluded from what is tested alone; what a group has no later one gets."""
        target = self.start_service()
        answer = self.sweep(target, "--group", "first=*/service.py:critical", "--group", "second=*/service.py:critical", "--group",
                            "all=*/service.py:*", "--exclude", "*/service.py:s*", "--top-share", "40", budget_s=20)
        lines = [json.loads(line) for line in answer.out.splitlines()]
        plan = next(line["plan"] for line in lines if "plan" in line)
        groups = {group["name"]: group for group in plan["groups"]}
        self.assertEqual(int(groups["first"]["targets"]), 1, plan)
        self.assertIn('all functions that it takes are in another group (1 in "first")', groups["second"]["left_out"])
        self.assertTrue(any('group "all": functions that it takes are in another group (1 in "first"):' in warning
                            for warning in plan["warnings"]), plan)
        self.assertAlmostEqual(groups["first"]["hits_per_unit"], 1, delta=0.1)
        results = self.results_of(answer)
        self.assertEqual(results["first"]["verdict"], "MATTERS", answer)
        self.assertEqual(results["second"]["verdict"], "INVALID", answer)
        self.assert_unharmed(target)

    def test_processors_that_are_given_away(self):
        with stolen.pretended(self.scratch + "/stat", 0.2) as prefix:
            target, daemon = self.start_service(), self.start_daemon(prefix=prefix)
            answer = daemon.ctl("sweep", "--pid", target.pid, *METRIC, "--target", "*/service.py:critical", "--budget", "20s",
                                "--top-share", "40", "--margin", "0.3", "--yes", "--format", "json", seconds=60)
        lines = [json.loads(line) for line in answer.out.splitlines()]
        [plan] = [line["plan"] for line in lines if "plan" in line]
        for warnings, when in ((plan["warnings"], "in the pilot"), (lines[-1]["warnings"], "while this was measured")):
            self.assertTrue(any(when + " steal time was" in warning for warning in warnings), answer)
        windows = [line["window"] for line in lines if "window" in line]
        wanted, stolen_in_all = (sum(int(window[name]) for window in windows) for name in ("wanted_ns", "stolen_ns"))
        self.assertAlmostEqual(stolen_in_all / wanted, 0.2, delta=0.02)
        self.assert_unharmed(target)

    def test_nobody_to_ask(self):
        answer = self.daemon.ctl("sweep", "--pid", 1, "--target", "*:f", *METRIC)
        self.assertEqual(answer.code, 2, answer)
        self.assertIn("--yes", answer.err)

    def test_a_metric_that_is_none(self):
        for metric in ("latency", "calls:", "calls:nocolon", "native:x"):
            answer = self.daemon.ctl("sweep", "--pid", 1, "--target", "*:f", "--yes", "--metric", metric)
            self.assertEqual(answer.code, 2, answer)
            self.assertIn("metric", answer.err)

    def begin_sweep(self, target, daemon=None, budget="60s", file=None):
        """One that is in its blocks."""
        kept = ("--output", file) if file else ()
        session = Session(daemon or self.daemon, "--pid", target.pid, *METRIC, "--target", "*/service.py:critical", "--yes",
                          "--budget", budget, "--max-stop", "1s", *kept, command="sweep")
        self.addCleanup(session.kill)
        session.wait_for(lambda line: line.get("window", {}).get("phase") == "MAIN", 30)
        return session

    def test_interrupted_it_says_what_it_knows(self):
        target = self.start_service()
        session = self.begin_sweep(target)
        session.child.send_signal(signal.SIGINT)
        self.assertEqual(session.wait_exit(20), 16, session.child.errors)  # too few blocks for any verdict
        last = session.updates[-1]
        self.assertTrue(last["partial"])
        self.assertEqual(last["results"][0]["verdict"], "INVALID")
        self.assert_no_session()
        self.assert_unharmed(target)

    def test_interrupted_after_enough_blocks_it_has_a_verdict(self):
        """Of the blocks that were planned: a restless machine has fewer and longer ones."""
        target = self.start_service()
        session = self.begin_sweep(target, budget="%ds" % LONG_BUDGET_S)
        planned = next(line["plan"] for line in session.updates if "plan" in line)["blocks"]
        enough = min(12, planned * 3 // 4)
        session.wait_for(lambda line: line.get("window", {}).get("phase") == "MAIN" and line["window"].get("block", 0) >= enough,
                         LONG_BUDGET_S)
        session.child.send_signal(signal.SIGINT)
        self.assertEqual(session.wait_exit(20), 0, session.child.errors)
        last = session.updates[-1]
        self.assertTrue(last["partial"])
        self.assertEqual(last["results"][0]["verdict"], "MATTERS", last)
        self.assertTrue(enough <= last["results"][0]["blocks"] < planned, last)
        self.assert_no_session()
        self.assert_unharmed(target)

    def test_a_client_that_is_killed(self):
        target = self.start_service()
        session = self.begin_sweep(target)
        session.child.send_signal(signal.SIGKILL)
        self.assert_no_session()
        self.assert_unharmed(target)

    def test_a_target_that_ends(self):
        """Within short windows, so that it is most likely while the delays are switched."""
        target = self.start_service()
        session = self.begin_sweep(target, budget="6s")
        target.ask("finish")
        self.assert_ends_well(target)
        self.assertEqual(session.wait_exit(20), 8, session.child.errors)
        self.assertTrue(session.updates[-1]["partial"])
        self.assert_no_session()

    def test_a_daemon_that_is_killed(self):
        target = self.start_service()
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        session = self.begin_sweep(target, daemon)
        daemon.kill()
        self.assertEqual(session.wait_exit(20), 9, session.child.errors)
        self.assertTrue(session.updates[-1]["partial"])  # what it had told is told
        self.assertEqual(session.updates[-1]["results"][0]["name"], "targets")
        again = self.start_daemon(state_dir=state_dir)
        self.eventually(lambda: not again.journals(), 10, "the end of the journal")
        self.assert_unharmed(target)

    def test_a_client_that_stands_still_distorts_nothing(self):
        target = self.start_service()
        file = pathlib.Path(self.scratch) / "run.sbump"
        session = self.begin_sweep(target, budget="15s", file=file)
        session.child.send_signal(signal.SIGSTOP)
        number = json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"][-1]["session_id"]
        for change in (("--delay", "1ms"), ("--target", "*/service.py:hidden @delay=5ms")):
            answer = self.daemon.ctl("update", number, *change)
            self.assertEqual(answer.code, 13, answer)
            self.assertIn("the session is an experiment's", answer.err)
        time.sleep(3)
        session.child.send_signal(signal.SIGCONT)
        self.assertEqual(session.wait_exit(40), 0, session.child.errors)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        plan = next(line["plan"] for line in lines if "plan" in line)
        windows = [line["window"] for line in lines if line.get("window", {}).get("phase") == "MAIN"]
        self.assertGreaterEqual(len(windows), plan["blocks"] * (len(plan["arms"]) - 1))
        took = [int(window["end_ns"]) - int(window["begin_ns"]) for window in windows]
        self.assertLess(max(took), int(plan["window_ns"]) + 1_000_000_000, took)
        self.assert_unharmed(target)

    def test_the_service_comes_first(self):
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:critical", "--top-share", "100", "--lowest-throughput", "90",
                            budget_s=30)
        self.assertEqual(answer.code, 15, answer)
        self.assertIn("guardrail: work took", answer.err)
        self.assert_unharmed(target)

    def test_a_negative_control_that_matters(self):
        """Also where it would be in a group."""
        target = self.start_service()
        answer = self.sweep(target, "--target", "*/service.py:*", "--negative-control", "*/service.py:critical",
                            "--top-share", "40", budget_s=20)
        self.assertEqual(answer.code, 16, answer)
        self.assertIn("the negative control */service.py:critical", json.loads(answer.out.splitlines()[-1])["invalid"])
        self.assert_unharmed(target)

    def test_the_best_finding_is_confirmed(self):
        """The group of what is left: without what the group before it takes, in the confirmation, too."""
        target = self.start_service()
        file = pathlib.Path(self.scratch) / "run.sbump"
        answer = self.sweep(target, "--group", "hidden=*/service.py:hidden", "--group", "others=*/service.py:*",
                            "--top-share", "40", "--margin", "0.3", "--confirm", "-o", file, budget_s=40)
        self.assertEqual(answer.code, 0, answer)
        ranking = json.loads(answer.out.splitlines()[-1])
        self.assertEqual([result["name"] for result in ranking["results"]], ["others", "hidden"], answer)
        self.assertEqual(ranking["confirmed"]["name"], "others")
        self.assertEqual(ranking["confirmed"]["verdict"], "MATTERS", answer)
        for result in (ranking["results"][0], ranking["confirmed"]):
            self.assertAlmostEqual(result["hits_per_unit"], 1, delta=0.05)
        plans = [json.loads(line)["plan"] for line in file.read_text().splitlines() if line.startswith('{"plan"')]
        self.assertEqual([plan["phase"] for plan in plans], ["MAIN", "CONFIRMATION"])
        self.assertNotEqual(plans[0]["seed"], plans[1]["seed"])
        self.assertEqual(len(plans[1]["groups"]), 2)  # and the control
        taken = [{group["name"]: group["targets"] for group in plan["groups"]}["others"] for plan in plans]
        self.assertEqual(taken[0], taken[1])
        again = self.daemon.ctl("report", file, "--format", "json")
        self.assertEqual(json.loads(again.out.splitlines()[-1]), ranking, again)
        self.assert_unharmed(target)

    def test_it_is_all_kept(self):
        """The file has the request, the plan, each window and the answer, which is computed again from it."""
        target = self.start_service()
        file = pathlib.Path(self.scratch) / "run.sbump"
        answer = self.sweep(target, "--target", "*/service.py:critical", "-o", file, budget_s=10)
        self.results_of(answer)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        self.assertEqual(lines[0]["sbump"], 1)
        self.assertIn("sweep", lines[0]["command"])
        self.assertIn("begin", lines[1])
        kinds = [next(iter(line)) for line in lines[2:]]
        self.assertEqual(kinds.count("plan"), 1)
        self.assertEqual(kinds.count("result"), 1)
        plan = next(line["plan"] for line in lines if "plan" in line)
        windows = [line["window"] for line in lines if "window" in line]
        main_windows = [window for window in windows if window["phase"] == "MAIN"]
        self.assertGreaterEqual(len(main_windows), plan["blocks"] * (len(plan["arms"]) - 1))
        self.assertTrue(all(float(window["units"]) > 0 for window in main_windows), main_windows)
        again = self.daemon.ctl("report", file, "--format", "json", "--html", file.with_suffix(".html"))
        self.assertEqual(json.loads(again.out), json.loads(answer.out.splitlines()[-1]), again)
        self.assertIn("What decides the pace", file.with_suffix(".html").read_text())
        self.assert_unharmed(target)


if __name__ == "__main__":
    main()
