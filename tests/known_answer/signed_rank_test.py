#!/usr/bin/python3
"""Middles and their intervals, against tables and by brute force."""
import itertools
import random
import unittest

import signed_rank


class SignedRankTest(unittest.TestCase):
    def test_middle(self):
        self.assertEqual(signed_rank.middle([3])[0], 3)
        self.assertEqual(signed_rank.middle([1, 3])[0], 2)
        self.assertEqual(signed_rank.middle([1, 2, 3, 4, 100])[0], 3)

    def test_too_few_for_an_interval(self):
        self.assertEqual(signed_rank.middle([1, 2, 3, 4, 5])[1:], (None, None))

    def test_interval_of_six_is_all_of_them(self):
        self.assertEqual(signed_rank.middle([1, 2, 3, 4, 5, 6]), (3.5, 1, 6))

    def test_table(self):
        """Critical values of Wilcoxon's test, two-sided at 5 %."""
        for count, critical in ((6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (20, 52)):
            self.assertEqual(signed_rank._outside(count), critical)

    def test_ways(self):
        ranks = range(1, 8)
        sums = [sum(some) for count in range(8) for some in itertools.combinations(ranks, count)]
        self.assertEqual(list(signed_rank._ways(7)), [sums.count(one) for one in range(29)])

    def test_coverage(self):
        chance = random.Random(1)
        held = 0
        for _ in range(1000):
            _, low, high = signed_rank.middle([chance.gauss(1, 1) for _ in range(10)])
            held += low <= 1 <= high
        self.assertTrue(935 <= held <= 970, held)


if __name__ == "__main__":
    unittest.main()
