"""sbumpctl sweep --factorial: whether the effects of two groups add up. Its processes compute side by side, on all processors that
there are."""
import json

from harness import interpreters
from harness.case import main
from harness.quiet import judges_times
from harness.sweeps import SweepCase


@judges_times
class PairsTest(SweepCase):
    def test_whether_effects_add_up(self):
        """Those of branches that are tied do not; those of a branch and of what comes after it do."""
        target = self.start_target(interpreters.any_supported(), "tied.py")
        target.ask("start")
        for other, wrong, least, most in (("right", "ADDITIVE", -1.4, -0.6), ("tail", "SUB_ADDITIVE", -0.3, 0.3)):
            answer = self.sweep(target, "--children", "--factorial", "--group", "left=*/tied.py:left",
                                "--group", "%s=*/tied.py:%s" % (other, other), "--top-share", "60", "--margin",
                                "0.3", "--no-controls", budget_s=25, metric="calls:*/tied.py:step")
            results = self.results_of(answer)
            self.assertEqual({name: result["verdict"] for name, result in results.items()},
                             {"left": "MATTERS", other: "MATTERS"}, answer)
            pair, = json.loads(answer.out.splitlines()[-1])["pairs"]
            self.assertEqual((pair["first"], pair["second"]), ("left", other), answer)
            self.assertNotIn(pair["additivity"], (wrong, "SUPER_ADDITIVE"), answer)
            self.assertTrue(least < pair["interaction"] < most, pair)
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
