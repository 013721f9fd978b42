#!/usr/bin/python3
"""Which phase a daemon is killed in first, and which was left out."""
import collections
import unittest

import phases
from phases import PHASES

NO_BUMP = [phase for phase in PHASES if phase != "bump"]
VERSIONS = [(3, 10, 13), (3, 11, 2), (3, 12, 1), (3, 13, 5), (3, 15, 2)]


class TurnsTest(unittest.TestCase):
    def test_each_has_all_of_its_phases_in_their_order(self):
        self.assertEqual(phases.turns([(3, 15, 2)]), [PHASES])
        for version, turn in zip(VERSIONS, phases.turns(VERSIONS)):
            order = phases.phases_of(version)
            begin = order.index(turn[0])
            self.assertEqual(turn, order[begin:] + order[:begin])

    def test_each_begins_with_another(self):
        self.assertEqual(len({turn[0] for turn in phases.turns(VERSIONS)}), len(VERSIONS))

    def test_the_first_four_of_each_are_all_together(self):
        for count in range(2, len(VERSIONS) + 1):
            first = sum((turn[:4] for turn in phases.turns(VERSIONS[-count:])), [])
            self.assertEqual(set(first), set(PHASES), count)


class WithoutKillTest(unittest.TestCase):
    def test_what_nobody_was_killed_in(self):
        self.assertEqual(phases.without_kill(VERSIONS, collections.Counter(PHASES)), [])
        self.assertEqual(phases.without_kill(VERSIONS, collections.Counter(PHASES[:4])),
                         ["hold", "hit", "disarm", "restart"])

    def test_what_nobody_has(self):
        self.assertEqual(phases.without_kill(VERSIONS[:2], collections.Counter(NO_BUMP)), [])
        self.assertEqual(phases.without_kill(VERSIONS[:3], collections.Counter(NO_BUMP)), ["bump"])


if __name__ == "__main__":
    unittest.main()
