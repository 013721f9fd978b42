#!/usr/bin/python3
"""What is drawn keeps to what its truth rests on."""
import ast
import pathlib
import random
import unittest

import families
from case import ADDITIVE, HIDDEN, MATTERS, NULL

DRAWS = 300


def cases(name):
    return [families.draw(name, random.Random(seed)) for seed in range(DRAWS)]


def functions_of(program):
    path = pathlib.Path(__file__).resolve().parent / "programs" / program
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


class FamiliesTest(unittest.TestCase):
    def test_each_seed_has_one(self):
        self.assertEqual([families.of_seed(seed) for seed in range(len(families.NAMES))], list(families.NAMES))

    def test_a_seed_gives_the_same_again(self):
        for name in families.NAMES:
            self.assertEqual(families.draw(name, random.Random(7)), families.draw(name, random.Random(7)))

    def test_some_work_is_left(self):
        for name in families.NAMES:
            for case in cases(name):
                for one in case.functions:
                    if one.kind != NULL:
                        self.assertLess(one.removed_s, 0.95 * case.parameters["lengths"][one.name], (case, one.name))
                self.assertGreaterEqual(min(case.parameters["lengths"].values()), 0, case)

    def test_a_gain_is_what_is_taken_away_of_what_is_critical(self):
        for name in families.NAMES:
            for case in cases(name):
                for one in case.functions:
                    if one.kind == ADDITIVE and None not in (one.gain, one.criticality):
                        saved = one.criticality * one.calls * one.removed_s / case.unit_s
                        self.assertAlmostEqual(saved, one.gain, places=6, msg=(name, one.name))

    def test_verdicts_follow_from_criticality(self):
        for name in families.NAMES:
            for one in families.draw(name, random.Random(1)).functions:
                if one.kind in (HIDDEN, NULL):
                    self.assertEqual((one.criticality, one.gain, one.verdict), (0, 0, "DOES_NOT_MATTER"))
                elif one.kind == ADDITIVE:
                    self.assertEqual(one.verdict, MATTERS)

    def test_each_draw_has_an_a_a_test(self):
        for name in families.NAMES:
            for case in cases(name):
                self.assertEqual([one.kind for one in case.functions].count(NULL), name != "gil")

    def test_null_is_in_a_shadow_that_is_longer_than_its_delay(self):
        for name in families.NAMES:
            for case in cases(name):
                if any(one.kind == NULL for one in case.functions) and "shadow" in case.parameters["lengths"]:
                    shadow = case.parameters["lengths"]["shadow"]
                    self.assertGreater(shadow, 1.3 * case.top_percent / 100 * case.unit_s)

    def test_functions_are_there(self):
        for name in families.NAMES:
            case = families.draw(name, random.Random(1))
            for one in case.functions:
                self.assertIn(one.name, functions_of(one.file or case.program), (name, one.name))


class SlackTest(unittest.TestCase):
    """What is hidden stays so when it is slowed, and what hides it stays critical when it is made faster."""

    def assert_slack(self, case, slack_s, gain=0):
        self.assertGreater(slack_s, 1.3 * case.top_percent / 100 * case.unit_s, case)
        self.assertGreater(slack_s, 1.1 * gain * case.unit_s, case)

    def test_slack(self):
        for case in cases("slack"):
            of = case.parameters["lengths"]
            self.assert_slack(case, of["left"] - of["right"], case.function("left").gain)

    def test_tied(self):
        slacks = []
        for case in cases("tied"):
            of = case.parameters["lengths"]
            slacks.append(of["left"] - of["right"])
            self.assertLess(slacks[-1], case.function("left").removed_s)
        self.assertGreater(sum(slack < 1e-9 for slack in slacks), DRAWS / 3)

    def test_producer_consumer(self):
        for case in cases("producer_consumer"):
            of, slow = case.parameters["lengths"], case.parameters["slow"]
            fast = next(one.name for one in case.functions if one.kind == HIDDEN)
            self.assert_slack(case, of[slow] + of["shadow"] - of[fast], case.function(slow).gain)

    def test_convoy_and_async_lock(self):
        for name, others, before in (("convoy", "threads", "between"), ("async_lock", "tasks", "released")):
            for case in cases(name):
                of = case.parameters["lengths"]
                held = (case.parameters[others] - 1) * (of["held"] + of["shadow"])
                self.assert_slack(case, held - of[before] - of["outside"], case.function("held").gain)

    def test_nobody_needs_the_gil_while_what_is_held_is_delayed(self):
        for case in cases("convoy"):
            self.assertGreater(case.parameters["lengths"]["between"], 1.3 * case.top_percent / 100 * case.unit_s)

    def test_gil_is_given_away_before_it_is_asked_for(self):
        for case in cases("gil"):
            of = case.parameters["lengths"]
            calls = of["foreground"] / (of["pause"] + case.parameters["switch_s"])
            dose_s = case.top_percent / 100 * case.unit_s / calls
            self.assertLess(of["background"] + dose_s, case.parameters["switch_s"])

    def test_async_steps(self):
        for case in cases("async_steps"):
            of = case.parameters["lengths"]
            self.assert_slack(case, of["limiting"] + of["shadow"] - of["following"], case.function("limiting").gain)

    def test_async_cpu(self):
        for case in cases("async_cpu"):
            of = case.parameters["lengths"]
            slack_s = case.parameters["tasks"] * of["compute"] - of["lookup"]
            self.assertGreater(slack_s, case.function("compute").gain * case.unit_s)

    def test_pool(self):
        for case in cases("pool"):
            of = case.parameters["lengths"]
            self.assert_slack(case, of["straggler"] - of["others"], case.function("straggler").gain)

    def test_loader(self):
        for case in cases("loader"):
            of = case.parameters["lengths"]
            rates = of["load"] / case.parameters["loaders"], of["device"]
            self.assert_slack(case, abs(rates[0] - rates[1]), case.function("load").gain)

    def test_batcher(self):
        for case in cases("batcher"):
            of, clients = case.parameters["lengths"], case.parameters["clients"]
            waits = of["timeout"] - clients * of["prepare"]
            if case.parameters["size"] > clients:
                self.assert_slack(case, waits)
            else:
                self.assertGreater(waits, case.unit_s)


if __name__ == "__main__":
    unittest.main()
