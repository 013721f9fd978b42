#!/usr/bin/python3
"""Records are kept, and found again."""
import json
import pathlib
import tempfile
import unittest

from records import Records


class RecordsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name, "records")
        self.records = Records(self.directory)

    def test_none(self):
        self.assertEqual(self.records.all(), {})

    def test_each_family_has_a_file(self):
        for seed, family in ((3, "serial"), (1, "slack"), (2, "serial")):
            self.records.add({"seed": seed, "family": family})
        self.assertEqual(list(self.records.all()), [1, 2, 3])
        self.assertEqual(sorted(path.name for path in self.directory.iterdir()), ["serial.jsonl", "slack.jsonl"])
        self.assertEqual(len((self.directory / "serial.jsonl").read_text().splitlines()), 2)

    def test_where_processors_may_sleep_they_are_apart(self):
        asleep = Records(self.directory, "may sleep")
        asleep.add({"seed": 1, "family": "serial", "load": 1})
        self.records.add({"seed": 1, "family": "serial", "load": 2})
        self.assertEqual([self.records.all()[1]["load"], asleep.all()[1]["load"]], [2, 1])

    def test_one_is_replaced(self):
        for seed in (1, 2, 3):
            self.records.add({"seed": seed, "family": "serial", "load": seed})
        self.records.replace({"seed": 2, "family": "serial", "load": 7})
        lines = (self.directory / "serial.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["load"] for line in lines], [1, 7, 3])

    def test_six_digits(self):
        self.records.add({"seed": 1, "family": "serial", "functions": [{"gain": 0.123456789, "calls": 2, "low": None}]})
        self.assertEqual(self.records.all()[1]["functions"], [{"gain": 0.123457, "calls": 2, "low": None}])


if __name__ == "__main__":
    unittest.main()
