"""sbumpctl sweep: how long requests take, by a histogram of the service's own."""
import pathlib
import signal

from harness import interpreters, metrics
from harness.case import main
from harness.quiet import judges_times
from harness.session import Session
from harness.sweeps import SweepCase


def _numbers(log):
    """Of the lines that are whole."""
    text = log.read_text()
    return [int(line) for line in text[:text.rfind("\n") + 1].split()]


@judges_times
class LatencyTest(SweepCase):
    def test_latency_of_what_comes_when_it_comes(self):
        """How many requests there are nothing in it can change; how long they take only what is before the reply."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_target(interpreters.any_supported(), "open_loop.py")
        target.ask("start", str(log))
        groups = ("--group", "before=*/open_loop.py:answer", "--group", "after=*/open_loop.py:tidy")
        soon = ("--top-share", "40", "--margin", "0.3", "--no-controls")
        with metrics.exported("took", log) as url:
            latency = self.results_of(self.sweep(target, *groups, *soon, budget_s=50,
                                                 metric='prom:%s#p50(took_seconds{kind="whole"})' % url))
        throughput = self.results_of(self.sweep(target, *groups, *soon, budget_s=15, metric="calls:*/open_loop.py:step"))
        self.assertEqual(latency["before"]["verdict"], "MATTERS", latency)
        self.assertNotEqual(latency["after"]["verdict"], "MATTERS", latency)
        self.assertTrue(0.7 < latency["before"]["criticality"] < 1.3, latency)
        self.assertAlmostEqual(latency["before"]["hits_per_unit"], 1, delta=0.05)
        self.assertTrue(all(result["verdict"] != "MATTERS" for result in throughput.values()), throughput)
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)

    def test_the_slowest_of_a_hundred(self):
        """One request of 25 takes a way of its own, twice as long: it alone is what p99 is made of."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_target(interpreters.any_supported(), "open_loop.py")
        target.ask("start", str(log), 4, True)
        histogram = metrics.Histogram(log, [1e-6 * bound for bound in range(50, 10000, 50)], scale=1e-6)
        groups = ("--group", "rare=*/open_loop.py:again", "--group", "usual=*/open_loop.py:at_once")
        with metrics.served(lambda: histogram.text("took_seconds")) as url:
            results = self.results_of(self.sweep(target, *groups, "--top-share", "2", "--margin", "0.3", budget_s=45,
                                                 metric="prom:%s#p99(took_seconds)" % url))
        rare = results["rare"]
        self.assertEqual(rare["verdict"], "MATTERS", results)
        self.assertAlmostEqual(rare["hits_per_unit"], 0.04, delta=0.005)
        self.assertTrue(0.5 < rare["criticality"] * rare["hits_per_unit"] < 1.5, results)
        self.assertNotEqual(results["usual"]["verdict"], "MATTERS", results)
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)

    def test_buckets_that_are_wider_than_any_dose(self):
        """The plan says so, before the time is spent; and where all is in one of them, there is none."""
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_target(interpreters.any_supported(), "open_loop.py")
        target.ask("start", str(log))
        self.eventually(lambda: len(_numbers(log)) >= 400, 20, "requests")
        of_two = metrics.Histogram(log, [1e-6 * sorted(_numbers(log))[20], 0.1], scale=1e-6)
        with metrics.served(lambda: of_two.text("took_seconds")) as url:
            session = Session(self.daemon, "--pid", target.pid, "--metric", "prom:%s#p50(took_seconds)" % url, "--yes",
                              "--target", "*/open_loop.py:answer", "--budget", "90s", "--lowest-throughput", "10",
                              command="sweep")  # a small change of what is below it moves the quantile far within such a bucket
            self.addCleanup(session.kill)
            plan = session.wait_for(lambda line: "plan" in line, 60)["plan"]
            session.child.send_signal(signal.SIGINT)
            session.wait_exit(20)
        self.assertTrue(any("the latency is found in a bucket from" in warning for warning in plan["warnings"]), plan)
        self.assert_no_session()
        of_one = metrics.Histogram(log, [0.0001, 10], scale=1e-6)
        with metrics.served(lambda: of_one.text("took_seconds")) as url:
            answer = self.sweep(target, "--target", "*/open_loop.py:answer", budget_s=60, metric="prom:%s#p50(took_seconds)" % url)
        self.assertEqual(answer.code, 13, answer)
        self.assertIn("lies in one bucket of the histogram, from 100.00 us to 10.0 s", answer.err)
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
