#!/usr/bin/python3
"""Processors are kept awake where that can be, and what they are is told."""
import pathlib
import tempfile
import unittest

import awake


class AwakeTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.driver, self.latency = (pathlib.Path(scratch.name, name) for name in ("driver", "latency"))

    def told(self, wanted):
        with awake.processors(wanted, self.driver, self.latency) as told:
            return told

    def test_kept_awake(self):
        self.driver.write_text("acpi_idle\n")
        self.latency.touch()
        self.assertEqual(self.told(awake.AWAKE), awake.AWAKE)
        self.assertEqual(self.latency.read_bytes(), bytes(4))

    def test_not_wanted(self):
        self.driver.write_text("acpi_idle\n")
        self.assertEqual(self.told(awake.MAY_SLEEP), awake.MAY_SLEEP)
        self.assertFalse(self.latency.exists())

    def test_a_machine_without_the_device(self):
        self.driver.write_text("acpi_idle\n")
        self.assertEqual(self.told(awake.AWAKE), awake.MAY_SLEEP)
        self.assertFalse(self.latency.exists())

    def test_nothing_that_could(self):
        self.assertEqual(self.told(awake.AWAKE), awake.MAY_SLEEP)
        self.driver.write_text("none\n")
        self.assertEqual(self.told(awake.AWAKE), awake.MAY_SLEEP)
        self.assertFalse(self.latency.exists())


if __name__ == "__main__":
    unittest.main()
