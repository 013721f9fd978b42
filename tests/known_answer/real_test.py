#!/usr/bin/python3
"""Orders of windows, and what is made of their paces."""
import random
import unittest

import real
from real import BASE


class RealTest(unittest.TestCase):
    def test_each_order_is_there_and_back(self):
        orders = list(real.orders([BASE, "f", "g"], 20, random.Random(1)))
        self.assertEqual(len(orders), 20)
        for order in orders:
            self.assertEqual(set(order[:3]), {BASE, "f", "g"})
            self.assertEqual(order[3:], order[2::-1])
        self.assertGreater(len(set(map(tuple, orders))), 3)

    def test_gains(self):
        blocks = [[(BASE, 100 + n), ("f", 90 + n), ("f", 90 + n), (BASE, 100 + n)] for n in range(7)]
        unit, gains = real.gains(blocks)
        self.assertEqual(unit, 103)
        for value in gains["f"]:
            self.assertAlmostEqual(value, 10 / 103)

    def test_a_drift_has_no_part_in_it(self):
        order = [BASE, "f", "g", "g", "f", BASE]
        _, gains = real.gains([[(arm, 100 + n) for n, arm in enumerate(order)]] * 6)
        self.assertEqual(gains, {"f": (0, 0, 0), "g": (0, 0, 0)})

    def test_a_block_with_a_window_without_work_is_left_out(self):
        good = [(BASE, 100), ("f", 50), ("f", 50), (BASE, 100)]
        bad = [(BASE, 100), ("f", None), ("f", 1), (BASE, 100)]
        self.assertEqual(real.gains([good, bad])[1], {"f": (0.5, None, None)})
        with self.assertRaises(AssertionError):
            real.gains([[(BASE, None), ("f", None)]])

    def test_a_cost_is_a_gain_below_0(self):
        self.assertEqual(real.cost((-0.2, -0.3, -0.1)), (0.2, 0.1, 0.3))
        self.assertEqual(real.cost((-0.2, None, None)), (0.2, None, None))


if __name__ == "__main__":
    unittest.main()
