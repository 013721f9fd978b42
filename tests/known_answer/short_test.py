"""The short form of tests/known_answer/run: one draw of some families, whose verdicts have to be right. Margins are
wide: the machine may be busy."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "lib")]

from harness.case import Case, main  # noqa: E402
from harness.quiet import judges_times  # noqa: E402
from case import ADDITIVE, MATTERS, NULL  # noqa: E402
import draw  # noqa: E402
import figures  # noqa: E402

OFF = 0.3        # a criticality
BESIDE = 0.1     # its interval: as wide as a busy machine makes it
OFF_GAIN = 0.08  # a prediction, in parts of a unit
SEED = 1


@judges_times
class ShortTest(Case):
    def check(self, family):
        record = draw.run(self.python, family, SEED, draw.SHORT)
        self.assertEqual(figures.failed([record]), [])
        for one in figures.results([record]):
            self.assertAlmostEqual(one.criticality[0], one.truth["criticality"], delta=OFF, msg=one)
            _, low, high = one.criticality
            self.assertTrue(low - BESIDE < one.truth["criticality"] < high + BESIDE, one)
            if one.truth["verdict"] == MATTERS:
                self.assertEqual(one.measured["verdict"], MATTERS, one)
            else:
                self.assertNotEqual(one.measured["verdict"], MATTERS, one)
            if one.kind == ADDITIVE:
                self.assertAlmostEqual(one.predicted[0], one.real[0], delta=OFF_GAIN, msg=one)
            if one.kind != NULL:
                self.assertAlmostEqual(one.criticality[0], one.own[0], delta=OFF, msg=one)

    def test_threads(self):
        self.check("producer_consumer")

    def test_asyncio(self):
        self.check("async_steps")

    def test_batches_that_are_full(self):
        self.check("batcher")


if __name__ == "__main__":
    main()
