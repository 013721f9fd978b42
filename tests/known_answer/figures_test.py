#!/usr/bin/python3
"""What records say in all, and how it is told."""
import pathlib
import tempfile
import unittest

import accuracy
from case import ADDITIVE, BOUND, HIDDEN, NULL
import figures


def function(name="f", kind=ADDITIVE, truth=1, measured=(1, 0.9, 1.1), p=0.001, verdict="MATTERS", expected="MATTERS",
             real=(0.1, 0.09, 0.11), own=None):
    """Of a unit of 1,000 ns: of each of its two calls 50 ns are taken away, or they are held up for 100."""
    record = {"name": name, "kind": kind, "removed_ns": 50,
              "truth": {"criticality": truth, "calls": 2, "gain": 0.1, "verdict": expected},
              "measured": dict(zip(("criticality", "ci_low", "ci_high"), measured), p=p, verdict=verdict, why="because",
                               hits_per_unit=2)}
    if real:
        record["real"] = dict(zip(("gain", "low", "high"), real))
    if own:
        record["own_delay"] = dict(zip(("cost", "low", "high"), own), delay_ns=100)
    return record


def null(p=0.5):
    return function("null", NULL, truth=0, measured=(0, -0.02, 0.02), p=p, verdict="DOES_NOT_MATTER",
                    expected="DOES_NOT_MATTER", real=None)


def record(*functions, seed=1, family="serial"):
    return {"seed": seed, "family": family, "unit_ns": 1000, "machine": "a machine", "processors": "awake",
            "python": "3.11.2_debian",
            "date": "2026-01-0%d" % seed, "load": 0.25, "functions": list(functions)}


def found(*functions):
    return figures.results([record(*functions)])


class ResultTest(unittest.TestCase):
    def test_needs_not_where_and_when(self):
        """As draw.run() gives it."""
        by_itself = {key: record(function())[key] for key in ("seed", "family", "unit_ns", "functions")}
        self.assertEqual([one.name for one in figures.results([by_itself])], ["f"])
        self.assertEqual(figures.failed([by_itself]), [])


class PredictionTest(unittest.TestCase):
    def test_criticality_times_calls_times_time(self):
        one, = found(function(measured=(0.5, 0.4, 0.7)))
        for predicted, expected in zip(one.predicted, (0.05, 0.04, 0.07)):
            self.assertAlmostEqual(predicted, expected)
        self.assertAlmostEqual(one.error, -0.05)

    def test_of_what_nothing_is_taken_from(self):
        one, = found(null())
        self.assertIsNone(one.predicted)
        self.assertIsNone(figures.of_predictions([one]))

    def test_errors(self):
        off = figures.of_predictions(found(function(measured=(1.1, 1, 1.2)), function(measured=(0.7, 0.6, 0.8))))
        self.assertEqual(off.count, 2)
        self.assertAlmostEqual(off.bias, -0.01)
        self.assertAlmostEqual(off.rmse, (0.0005) ** 0.5)
        self.assertAlmostEqual(off.worst, -0.03)

    def test_criticality_that_is_not_known(self):
        off = figures.of_criticality(found(function(truth=None), function(measured=(1.02, 0.9, 1.1))))
        self.assertEqual((off.count, round(off.bias, 9)), (1, 0.02))


class OwnDelayTest(unittest.TestCase):
    def test_a_cost_is_of_what_was_injected(self):
        one, = found(function(measured=(0.5, 0.4, 0.7), own=(0.1, 0.08, 0.12)))
        self.assertEqual([round(value, 9) for value in one.own], [0.5, 0.4, 0.6])
        self.assertEqual(round(one.less_own[1], 9), round(-0.1 * 2 ** 0.5, 9))
        self.assertEqual(figures.of_own_delays([one]).count, 1)

    def test_without(self):
        some = found(function(), function(own=(0.2, None, None)), function(measured=(1, None, None), own=(0.2, 0.1, 0.3)))
        self.assertEqual([one.less_own for one in some], [None] * 3)
        self.assertEqual(figures.of_own_delays(some).count, 2)
        self.assertIsNone(figures.of_own_delays(some[:1]))


class HowOftenTest(unittest.TestCase):
    def assert_share(self, share, hits, runs):
        self.assertEqual((share.hits, share.runs), (hits, runs))

    def test_the_known_criticality_is_in_the_interval(self):
        some = found(function(), function(measured=(1.2, 1.05, 1.3)), function(truth=None),
                     function(measured=(1, None, None)))
        self.assert_share(figures.covers_criticality(some), 1, 2)

    def test_the_gain_is_what_was_predicted(self):
        some = found(function(), function(real=(0.2, 0.19, 0.21)), function(real=(0.11, 0.1, 0.12)), null())
        self.assert_share(figures.covers_gain(some), 2, 3)

    def test_the_own_delay_costs_the_same(self):
        some = found(function(), function(own=(0.2, 0.19, 0.21)), function(own=(0.15, 0.14, 0.16)))
        self.assert_share(figures.covers_own_delay(some), 1, 2)

    def test_at_most(self):
        some = found(function(real=(0, -0.01, 0.01)), function(real=(0.11, 0.1, 0.12)),
                     function(real=(0.2, 0.19, 0.21)))
        self.assert_share(figures.at_most_violated(some), 1, 3)

    def test_signs_count_where_they_are_certain(self):
        some = found(function(), function(real=(-0.1, -0.2, -0.05)), function(measured=(0.1, -0.1, 0.2)))
        self.assert_share(figures.wrong_signs(some), 1, 2)

    def test_false_positives_are_those_of_null(self):
        some = found(function(p=0.001), null(0.04), null(0.05), null(0.9))
        self.assert_share(figures.false_positives(some), 1, 3)

    def test_verdicts(self):
        some = found(function(), function(verdict="UNDECIDED"), function(verdict="DOES_NOT_MATTER"), null(),
                     function(expected=None))
        right, undecided = figures.right_verdicts(some)
        self.assert_share(right, 2, 3)
        self.assert_share(undecided, 1, 4)
        self.assertEqual(figures.verdicts(some)["MATTERS"], {"MATTERS": 1, "UNDECIDED": 1, "DOES_NOT_MATTER": 1})

    def test_near(self):
        self.assert_share(figures.near(found(function(measured=(1.02, 0, 2)), function(measured=(0.96, 0, 2)))), 1, 2)

    def test_certainly_far(self):
        some = found(function(measured=(1.04, 1.02, 1.06)), function(measured=(1.04, 1.031, 1.06)),
                     function(measured=(0.9, 0.8, 0.969)))
        self.assert_share(figures.certainly_far(some), 2, 3)

    def test_what_may_be(self):
        self.assertTrue(figures.Share(10, 100).may_be(0.05))
        self.assertFalse(figures.Share(15, 100).may_be(0.05))


class LostTest(unittest.TestCase):
    def test_no_answer_is_told_and_not_counted(self):
        lost = {"seed": 2, "family": "serial", "error": "Timeout: late\nmore", "machine": "a machine",
                "processors": "awake", "python": "3.8.18", "date": "2026-01-02", "load": 1}
        records = [record(function(verdict="INVALID"), function()), lost]
        self.assertEqual(len(figures.results(records)), 1)
        self.assertEqual(figures.failed(records), [(2, "Timeout: late\nmore"), (1, "f: because")])
        text = accuracy.markdown(records)
        self.assertIn("- seed 2: Timeout: late\n", text)
        self.assertIn("- seed 1: f: because\n", text)


class MarkdownTest(unittest.TestCase):
    def row(self, text, begin):
        row, = [line for line in text.splitlines() if line.startswith("| " + begin)]
        return row

    def test_aims(self):
        text = accuracy.markdown([record(function(), function("b", BOUND, real=(0.3, 0.29, 0.31)), null())])
        prediction = self.row(text, "prediction where effects are additive")
        chain = self.row(text, "criticality of functions of a chain")
        self.assertIn("| 1 | RMSE 0.00 % | at most 3 % | yes |", prediction)
        self.assertIn("| 1 | 1 of 1, 100.0 % [0.5, 100.0] | at most 5 % | **no** |", self.row(text, '"at most"'))
        self.assertIn("| 1 | +0.000 on average | within 0.03 | yes |", chain)

    def test_nothing_of_a_kind(self):
        text = accuracy.markdown([record(null())])
        self.assertIn("| 0 |", self.row(text, "prediction where effects are additive"))

    def test_no_draws(self):
        self.assertEqual(accuracy.markdown([]), "No draws yet.\n")

    def test_each_machine(self):
        others = {**record(null(), seed=3), "machine": "another"}
        lines = accuracy.markdown([record(null()), others, record(null(), seed=2)]).splitlines()
        self.assertEqual(lines[:2], [
            "- 2 draws, 2026-01-01 to 2026-01-02: a machine, processors awake, load 0.2 when they began; CPython "
            "3.11.2_debian",
            "- 1 draws, 2026-01-03 to 2026-01-03: another, processors awake, load 0.2 when they began; CPython "
            "3.11.2_debian"])

    def test_intervals_of_before_are_told_apart(self):
        since = {**record(function(), function(measured=(1.2, 1.1, 1.3)), seed=2), "estimator": accuracy.ESTIMATOR}
        name = "95 % interval of criticality holds the one that is known"
        text = accuracy.markdown([record(function()), since])
        self.assertIn("| 1 of 2,", self.row(text, name + " |"))
        self.assertIn("| 1 of 1,", self.row(text, name + ", by the estimator of before"))
        self.assertNotIn("of before", accuracy.markdown([since]))

    def test_intervals_of_hidden_functions_are_told_apart(self):
        hidden = function("h", HIDDEN, truth=0, measured=(-0.002, -0.003, -0.001), real=(-0.0004, -0.0008, 0))
        text = accuracy.markdown([{**record(function(), hidden), "estimator": accuracy.ESTIMATOR}])
        self.assertIn("| 1 of 2,", self.row(text, "95 % interval of criticality holds"))
        self.assertIn("| 1 of 1,", self.row(text, "the same, but for hidden"))
        self.assertIn("| 0 of 1,", self.row(text, "the same, of hidden functions alone"))

    def test_what_hidden_functions_are_worth(self):
        hidden = [function("h", HIDDEN, truth=0, measured=(value, -1, 1), real=(gain, 0, 0))
                  for value, gain in ((-0.002, 0.0001), (0.001, 0.0005), (-0.003, -0.0001))]
        text = accuracy.markdown([record(function(), *hidden)])
        self.assertEqual(self.row(text, "serial `h`"), "| serial `h` | 3 | -0.0020 | 2 | +0.0010 | 1 | 0 |  |  |")
        self.assertNotIn("hidden function |", accuracy.markdown([record(function())]))

    def test_own_delays(self):
        hidden = function("h", HIDDEN, truth=0, measured=(-0.002, -0.003, -0.001), real=(0, 0, 0), own=(-0.0006, -0.0008, 0))
        text = accuracy.markdown([record(function(own=(0.3, 0.29, 0.31)), hidden)])
        self.assertIn("| 1 | -0.5000 on average |", self.row(text, "criticality of functions that are felt, less"))
        self.assertIn("| 0 of 1,", self.row(text, "95 % interval of that holds 0, of functions that are felt"))
        self.assertIn("| 1 | +0.0010 on average |", self.row(text, "criticality of hidden functions, less"))
        self.assertIn("| 1 of 1,", self.row(text, "95 % interval of that holds 0, of hidden functions"))
        self.assertTrue(self.row(text, "serial | `f`").endswith("| -0.500, at most -0.500 |"))
        self.assertTrue(self.row(text, "serial `h` | 1").endswith("| 1 | -0.0030 | 1 |"))
        self.assertNotIn("less that of the program's own delays", accuracy.markdown([record(function())]))

    def test_where_processors_may_sleep_is_told_apart(self):
        asleep = {**record(null(p=0.01)), "processors": "may sleep"}
        text = accuracy.markdown([record(null())], [asleep], [{**record(null()), "machine": "another"}])
        text, third = text.split("On another machine:")
        self.assertIn("another, processors awake", third)
        first, second = text.split("Where processors may sleep:")
        self.assertIn("0 of 1", self.row(first, "p < 0.05"))
        self.assertIn("1 of 1", self.row(second, "p < 0.05"))
        self.assertIn("processors may sleep, load", second)

    def test_written_between_marks(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "page.md")
            text = "before\n%s\n%%s%s\nafter\n" % (accuracy.BEGIN, accuracy.END)
            path.write_text(text % "old\n")
            accuracy.write(path, [])
            self.assertEqual(path.read_text(), text % "No draws yet.\n")
            other = pathlib.Path(scratch, "other.md")
            accuracy.write(other, [])
            self.assertEqual(other.read_text(), "No draws yet.\n")


if __name__ == "__main__":
    unittest.main()
