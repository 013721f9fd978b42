#!/usr/bin/python3
"""What is told of what promises.py measured."""
import unittest

import promises_table

WHERE = {"date": "2026-12-01", "python": "CPython 3.11", "machine": "a machine", "processors": "awake"}
RIGHT = {"took_s": 500.2, "experiments": 3, "right": True, "named": ["shop.part_03:Part.run", "shop.part_14"]}


class PromisesTableTest(unittest.TestCase):
    def test_the_table(self):
        sweeps = [{"variation": 0.01 * one, "took_s": 100 + one, "matters": one > 1, "found": True} for one in (1, 2, 3)]
        text = promises_table.markdown(WHERE, sweeps, [RIGHT, {**RIGHT, "right": False}])
        self.assertIn("2026-12-01, CPython 3.11: a machine, processors awake\n", text)
        self.assertIn("vary by 2.0 % (1.0 to 3.0) | 3 | 102 s (101 to 103) | p of at most 0.05: 3 of 3, 100 % [17, 100] |", text)
        self.assertIn("`MATTERS`: 2 of 3, 67 % [4, 100] |", text)
        self.assertIn("| 500 s, 3 experiments | right: `shop.part_03:Part.run`, `shop.part_14` |", text)
        self.assertIn("| WRONG: ", text)

    def test_what_gave_no_answer_is_counted(self):
        sweep = {"variation": 0.02, "took_s": 100, "matters": True, "found": True}
        text = promises_table.markdown(WHERE, [sweep, None], [None])
        self.assertIn("| 2 | 100 s (100 to 100) | p of at most 0.05: 1 of 2, 50 % [0, 100]; 1 gave none |", text)
        self.assertIn("which 3 matter | 1 | - | none |", text)
        self.assertIn("| a 3 % effect | 1 | - | none |", promises_table.markdown(WHERE, [None], []))

    def test_of_one_kind_alone(self):
        self.assertNotIn("MATTERS", promises_table.markdown(WHERE, [], [RIGHT]))


if __name__ == "__main__":
    unittest.main()
