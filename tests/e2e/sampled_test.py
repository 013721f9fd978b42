"""sbumpctl sweep: work that others count, and sbumpctl samples."""
import json
import pathlib
import time

from harness import interpreters, metrics
from harness.case import main
from harness.quiet import judges_times
from harness.sweeps import SweepCase


@judges_times
class SampledTest(SweepCase):
    def assert_tells_them_apart(self, target, metric, *more):
        answer = self.sweep(target, "--group", "critical=*/service.py:critical", "--group", "hidden=*/service.py:hidden",
                            "--top-share", "40", "--margin", "0.3", *more, budget_s=90, metric=metric)
        results = self.results_of(answer)
        self.assertEqual(results["critical"]["verdict"], "MATTERS", answer)
        self.assertTrue(0.7 < results["critical"]["criticality"] < 1.3, results)
        self.assertNotEqual(results["hidden"]["verdict"], "MATTERS", answer)
        self.assertAlmostEqual(results["critical"]["hits_per_unit"], 1, delta=0.05)
        self.assert_unharmed(target)

    def test_a_metric_from_a_log(self):
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        self.assert_tells_them_apart(self.start_service(log=log, times_slower=5), "log:%s#sum:^did([0-9]+)$" % log)

    def test_a_native_metric(self):
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        answer = self.sweep(self.start_service(log=log), "--target", "*/service.py:critical", "--top-share", "40",
                            "--margin", "0.3", budget_s=15, metric="native:*/libc.so.6:write")
        result = self.results_of(answer)["targets"]
        self.assertEqual(result["verdict"], "MATTERS", answer)
        self.assertAlmostEqual(result["hits_per_unit"], 1, delta=0.1)

    def test_metrics_from_json_and_a_command(self):
        for form in ("http:%s#units", "cmd:wc -l < %s"):
            log = pathlib.Path(self.scratch) / form[:3]
            log.touch()
            with metrics.served(lambda: json.dumps({"units": log.stat().st_size // 5})) as url:
                metric = form % (url if "http" in form else log)
                answer = self.sweep(self.start_service(log=log), "--target", "*/service.py:critical", "--top-share", "40",
                                    "--margin", "0.3", budget_s=70, metric=metric)
            result = self.results_of(answer)["targets"]
            self.assertEqual(result["verdict"], "MATTERS", answer)
            self.assertAlmostEqual(result["hits_per_unit"], 1, delta=0.1)

    def test_metrics_from_prometheus(self):
        """A counter, and the sum of a histogram that has labels."""
        for metric in ("units_total", 'batch_size_sum{kind="whole"}'):
            log = pathlib.Path(self.scratch) / metric[:5]
            log.touch()
            with metrics.exported("units", log) as url:
                self.assert_tells_them_apart(self.start_service(log=log, times_slower=5), "prom:%s#%s" % (url, metric),
                                             "--positive-control", "*/service.py:step")

    def test_a_positive_control_that_is_not_felt(self):
        """What is counted goes by the clock: no machine is so late that it is felt there."""
        log = pathlib.Path(self.scratch) / "log"
        target = self.start_service()
        with metrics.ticking(log, 1000):
            answer = self.sweep(target, "--target", "*/service.py:critical", "--positive-control", "*/service.py:step",
                                "--top-share", "40", budget_s=60, metric="log:%s#^tick$" % log)
        self.assertEqual(answer.code, 16, answer)
        self.assertIn("the positive control failed: delays in */service.py:step", json.loads(answer.out.splitlines()[-1])["invalid"])
        self.assert_unharmed(target)

    def test_workers_side_by_side_share_a_delay(self):
        """What each unit waits for comes to a tenth then, or a bit more, as one that is slowed keeps the GIL: within the margin.
        Without a positive control nothing says so."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_target(interpreters.any_supported(), "service.py")
        target.ask("start_many", 10, str(log))
        verdicts = []
        for budget_s, control in ((50, ()), (90, ("--positive-control", "*/service.py:step"))):
            answer = self.sweep(target, "--target", "*/service.py:critical", "--top-share", "40", "--margin", "0.25",
                                *control, budget_s=budget_s, metric="log:%s#^did1$" % log)
            result = self.results_of(answer)["targets"]
            self.assertTrue(0 < result["criticality"] < 0.25, answer)
            verdicts.append(result["verdict"])
            warnings = json.loads(answer.out.splitlines()[-1])["warnings"]
            self.assertTrue(any("side by side" in warning for warning in warnings), warnings)
        self.assertEqual(verdicts, ["UNDECIDED", "MATTERS"])
        self.assert_unharmed(target)

    def test_a_worker_that_comes_and_goes(self):
        """While the client samples the metric."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_service(log=log)
        with metrics.served(lambda: "units_total %d\n" % (log.stat().st_size // 5)) as url:
            target.ask("beget", 8, 4)
            answer = self.sweep(target, "--children", "--target", "*/service.py:critical", "--top-share", "40",
                                "--margin", "0.3", budget_s=70, metric="prom:%s#units_total" % url)
        result = self.results_of(answer)["targets"]
        self.assertEqual(result["verdict"], "MATTERS", answer)
        windows = [line["window"] for line in map(json.loads, answer.out.splitlines()) if "window" in line]
        self.assertTrue(all(int(window["begin_ns"]) < int(window["end_ns"]) for window in windows), answer)
        self.assert_unharmed(target)

    def test_a_metric_that_nobody_serves(self):
        target = self.start_service()
        answer = self.daemon.ctl("sweep", "--pid", target.pid, "--target", "*/service.py:critical", "--yes", "--metric",
                                 "prom:http://127.0.0.1:%d/metrics#units_total" % metrics.free_port(), seconds=60)
        self.assertEqual(answer.code, 13, answer)
        self.assertIn("could not be read for 2 s", answer.err)
        self.assert_unharmed(target)

    def test_an_exporter_that_is_away_for_a_moment(self):
        """It is loaded anew: the experiment goes on."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_service(log=log)
        begin, missed = time.monotonic(), []

        def page():
            if 20 < time.monotonic() - begin < 23:
                missed.append(1)
                return "other_total 1\n"
            return "units_total %d\n" % (log.stat().st_size // 5)
        with metrics.served(page) as url:
            answer = self.sweep(target, "--target", "*/service.py:critical", "--top-share", "40", "--margin", "0.3",
                                budget_s=50, metric="prom:%s#units_total" % url)
        self.assertGreater(len(missed), 10)
        self.assertEqual(self.results_of(answer)["targets"]["verdict"], "MATTERS", answer)
        self.assert_unharmed(target)


if __name__ == "__main__":
    main()
