#!/usr/bin/python3
"""Intervals, against values that others computed."""
import math
import unittest

import interval


class ShareTest(unittest.TestCase):
    def assert_share(self, hits, runs, low, high):
        found = interval.share(hits, runs)
        self.assertAlmostEqual(found[0], low, places=4)
        self.assertAlmostEqual(found[1], high, places=4)

    def test_none_and_all(self):
        self.assert_share(0, 10, 0, 1 - 0.005 ** 0.1)
        self.assert_share(10, 10, 0.005 ** 0.1, 1)

    def test_symmetric(self):
        low, high = interval.share(5, 100)
        self.assert_share(95, 100, 1 - high, 1 - low)

    def test_some(self):
        self.assert_share(1, 2, 1 - 0.995 ** 0.5, 0.995 ** 0.5)

    def test_ends_leave_out_half_a_percent(self):
        low, high = interval.share(5, 100)
        self.assertAlmostEqual(sum(_probability(k, 100, low) for k in range(5)), 0.995)
        self.assertAlmostEqual(sum(_probability(k, 100, high) for k in range(6)), 0.005)


def _probability(hits, runs, p):
    return math.exp(math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(runs - hits + 1) +
                    hits * math.log(p) + (runs - hits) * math.log(1 - p))


class DifferenceTest(unittest.TestCase):
    def test_sides_that_count(self):
        value, low, high = interval.difference((10, 7, 11), (4, 2, 8))
        self.assertEqual(value, 6)
        self.assertAlmostEqual(low, 6 - 5)
        self.assertAlmostEqual(high, 6 + 5 ** 0.5)


if __name__ == "__main__":
    unittest.main()
