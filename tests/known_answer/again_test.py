#!/usr/bin/python3
"""Results that are computed again."""
import copy
import json
import pathlib
import tempfile
import types
import unittest

import again

PLAN = {"seed": "8", "blocks": 12, "window_ns": "1000"}
RECORD = {"seed": 7, "plan": {**PLAN, "variation": 0.01},
          "functions": [{"name": "f", "measured": {"criticality": 1}}, {"name": "idle", "measured": None}]}
RESULT = {"name": "f", "criticality": 0.9, "verdict": "MATTERS", "role": "TESTED"}


class AgainTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.run_file = pathlib.Path(scratch.name, "7.sbump")
        self.write(PLAN)
        self.record = copy.deepcopy(RECORD)

    def write(self, plan):
        self.run_file.write_text('{"sbump": 1}\n%s\n' % json.dumps({"plan": plan}), encoding="utf-8")

    def estimate(self, last, code=0, err=""):
        out = "{}\n%s\n" % json.dumps(last) if last else ""
        again.estimate(self.record, self.run_file, lambda run: types.SimpleNamespace(out=out, err=err, code=code))

    def refuses(self, why, *args):
        with self.assertRaisesRegex(again.NotAgain, why):
            self.estimate(*args)
        self.assertEqual(self.record, RECORD)

    def test_is_what_the_recording_says(self):
        self.estimate({"results": [RESULT], "partial": False})
        self.assertEqual(self.record["functions"][0]["measured"], {"criticality": 0.9, "verdict": "MATTERS"})
        self.assertIsNone(self.record["functions"][1]["measured"])

    def test_no_answer(self):
        self.refuses("status 3: not a run", None, 3, "not a run\n")

    def test_a_part_of_it(self):
        self.refuses("no whole answer", {"results": [RESULT], "partial": True})

    def test_a_function_that_is_not_in_it(self):
        self.refuses("nothing of f", {"results": [], "partial": False})

    def test_a_recording_of_another_draw(self):
        self.write({**PLAN, "window_ns": "2000"})
        self.refuses("another draw than the record of seed 7", {"results": [RESULT], "partial": False})


if __name__ == "__main__":
    unittest.main()
