"""sbumpctl rank: from what is called to what decides the pace."""
import json
import pathlib
import shutil
import signal

from harness import interpreters, metrics
from harness.case import Case, main
from harness.models import ModelCase
from harness.quiet import judges_times
from harness.session import Session
from harness.sweeps import within_budget

BAD_ARGUMENTS, NO_MATCH, INVALID = 2, 7, 16
STEP = ("--metric", "calls:*/thirty.py:step")
# Larger doses and a wider margin than the defaults: soon an answer, on a machine that others use too.
SOON = ("--yes", "--top-share", "40", "--margin", "0.3", "--look", "1s", "--max-stop", "1s")


def named(ranking, verdict):
    return {result["name"] for result in ranking["results"] if result["verdict"] == verdict}


@judges_times
class RankTest(Case):
    def start_service(self):
        target = self.start_target(interpreters.any_supported(), "thirty.py")
        self.addCleanup(shutil.rmtree, target.ask("start"))
        return target

    def rank(self, target, *arguments, budget_s=120, metric=STEP):
        return within_budget(lambda budget, seconds: self.daemon.ctl(
            "rank", "--pid", target.pid, *metric, *SOON, "--format", "json", *arguments, *budget, seconds=seconds), budget_s)

    def ranking_of(self, answer):
        self.assertEqual(answer.code, 0, answer)
        return json.loads(answer.out.splitlines()[-1])

    def assert_unharmed(self, target):
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)

    def test_three_of_thirty_modules(self):
        target = self.start_service()
        answer = self.rank(target, "--depth", "module", "--no-confirmation", budget_s=120)
        ranking = self.ranking_of(answer)
        modules = named(ranking, "MATTERS")
        self.assertEqual(modules, {"shop.part_03", "shop.part_14", "shop.part_22"}, answer)
        tested = {result["name"]: result for result in ranking["results"]}
        self.assertEqual(len(tested), 30, answer)
        for name, result in tested.items():
            self.assertAlmostEqual(result["hits_per_unit"], 3, delta=0.2)
            self.assertTrue(name not in modules or 0.6 < result["criticality"] < 1.4, result)
        self.assert_unharmed(target)

    def test_what_matters_is_opened_and_confirmed(self):
        """Among three modules with three functions each, one of which is excluded; all that it said is said again from its file."""
        target = self.start_service()
        file = pathlib.Path(self.scratch) / "rank.sbump"
        chosen = [flag for number in (2, 3, 4) for flag in ("--target", "*/part_%02d.py:*" % number)]
        answer = self.rank(target, *chosen, "--exclude", "shop.part_03:helper", "-o", file, budget_s=70,
                           metric=("--metric", "calls:__main__:step"))
        ranking = self.ranking_of(answer)
        functions = {"shop.part_03:" + name for name in ("work", "Part.run")}
        self.assertEqual(named(ranking, "MATTERS"), functions, answer)
        self.assertIn(ranking["confirmed"]["name"], functions)
        self.assertEqual(ranking["confirmed"]["verdict"], "MATTERS")
        again = self.daemon.ctl("report", file, "--format", "json", "--html", file.with_suffix(".html"))
        told = json.loads(again.out.splitlines()[-1])
        self.assertEqual(told["results"], ranking["results"], again)
        self.assertEqual(told["confirmed"], ranking["confirmed"], again)
        self.assertIn("Confirmation", file.with_suffix(".html").read_text())
        self.assert_unharmed(target)

    def test_groups_of_ones_own(self):
        """Of which one matters, one does not, and nothing of one is called. (What does not matter may have an effect, and is opened
        then: a delay keeps a processor awake.)"""
        target = self.start_service()
        groups = [flag for group in ("hot=*/part_03.py:*", "hot=*/part_04.py:*", "cold=*/part_0[56].py:*", "idle=*/thirty.py:load")
                  for flag in ("--group", group)]
        ranking = self.ranking_of(self.rank(target, *groups, "--depth", "module", "--no-confirmation", budget_s=70))
        verdicts = {result["name"]: result["verdict"] for result in ranking["results"]}
        opened = {one["group"]["name"]: one["parts"] for one in ranking["opened"]}
        self.assertEqual(set(opened["hot"]), {"shop.part_03", "shop.part_04"}, ranking)
        self.assertEqual(verdicts.pop("shop.part_03"), "MATTERS", ranking)
        self.assertIn(set(verdicts), ({"shop.part_04", "cold"}, {"shop.part_04", *opened.get("cold", ())}), ranking)
        self.assertEqual(set(verdicts.values()), {"DOES_NOT_MATTER"}, ranking)
        self.assertIn("group idle: nothing of it was called: it was not tested", ranking["warnings"])
        self.assert_unharmed(target)

    def test_a_negative_control(self):
        """Which is not ranked itself, and is in none of the groups."""
        target = self.start_service()
        answer = self.rank(target, "--target", "*/part_0[34].py:*", "--negative-control", "*/part_03.py:*", "--depth", "module",
                           "--no-confirmation", budget_s=25)
        self.assertEqual(answer.code, INVALID, answer)
        ranking = json.loads(answer.out.splitlines()[-1])
        self.assertIn("the negative control", ranking["invalid"])
        self.assertEqual({result["name"] for result in ranking["results"]}, {"shop.part_04"}, answer)
        self.assert_unharmed(target)

    def test_a_metric_that_is_sampled(self):
        log = pathlib.Path(self.scratch) / "log"
        log.touch()
        target = self.start_target(interpreters.any_supported(), "service.py")
        target.ask("start", str(log))
        with metrics.served(lambda: "units_total %d\n" % (log.stat().st_size // 5)) as url:
            answer = self.rank(target, "--target", "*/service.py:*", "--no-confirmation", budget_s=80,
                               metric=("--metric", "prom:%s#units_total" % url))
        ranking = self.ranking_of(answer)
        names = {name.rpartition(":")[2] for name in named(ranking, "MATTERS")}
        self.assertLessEqual({"critical"}, names, answer)
        self.assertNotIn("hidden", names, answer)
        self.assert_unharmed(target)

    def test_for_people(self):
        target = self.start_service()
        answer = self.daemon.ctl("rank", "--pid", target.pid, *STEP, *SOON, "--target", "*/part_03.py:*", "--depth", "module",
                                 "--budget", "25s", "--no-confirmation", seconds=90)
        self.assertEqual(answer.code, 0, answer)
        self.assertRegex(answer.out, r"shop\.part_03 +MATTERS")
        self.assertIn("3 functions are called", answer.err)
        self.assertIn("testing 1 group", answer.err)
        self.assert_unharmed(target)

    def test_interrupted_it_says_what_it_knows(self):
        target = self.start_service()
        session = Session(self.daemon, "--pid", target.pid, *STEP, *SOON, "--budget", "5m", command="rank")
        self.addCleanup(session.kill)
        session.wait_for(lambda line: line.get("window", {}).get("phase") == "MAIN", 60)
        session.child.send_signal(signal.SIGINT)
        self.assertEqual(session.wait_exit(30), INVALID, session.child.errors)  # too few blocks for any verdict
        last = session.updates[-1]
        self.assertTrue(last["partial"])
        self.assertEqual({result["verdict"] for result in last["results"]}, {"INVALID"})
        self.assert_unharmed(target)

    def test_nothing_is_called(self):
        target = self.start_service()
        answer = self.rank(target, "--target", "*/thirty.py:load")
        self.assertEqual(answer.code, NO_MATCH, answer)
        self.assertIn("called", answer.err)
        self.assert_unharmed(target)

    def test_what_makes_no_sense(self):
        for arguments, why in ((["--native", "libc.so.6:write"], "--native"), (["--module", "top"], "--by module"),
                               (["--by", "module", "--target", "*:*"], "--module"),
                               (["--by", "module", "--depth", "class"], "--depth"), (["--look", "0s"], "--look"),
                               (["--budget", "6s"], "--budget 6s with --look 3s"),
                               (["--group", "a=*:f", "--target", "*:g"], "--group and --target")):
            answer = self.daemon.ctl("rank", "--pid", 1, *STEP, "--yes", *arguments)
            self.assertEqual(answer.code, BAD_ARGUMENTS, answer)
            self.assertIn(why, answer.err)


@judges_times
class ModelRankTest(ModelCase):
    def test_layers_of_a_model(self):
        target = self.model(interpreters.any_supported())
        target.ask("forward_for_ever")
        answer = self.daemon.ctl("rank", "--pid", target.pid, "--by", "module", "--metric", "calls:*:Model.forward", *SOON,
                                 "--budget", "60s", "--no-confirmation", "--format", "json", seconds=150)
        self.assertEqual(answer.code, 0, answer)
        ranking = json.loads(answer.out.splitlines()[-1])
        names = {result["name"] for result in ranking["results"]}
        self.assertTrue(all(name.startswith("top") for name in names), answer)
        self.assertTrue(any(name.startswith("top.layers.") for name in named(ranking, "MATTERS")), answer)
        self.assertNotIn("nothing that is loaded matches", answer.out + answer.err)
        self.assert_nothing_left(target)


if __name__ == "__main__":
    main()
