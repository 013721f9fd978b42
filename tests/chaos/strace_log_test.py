#!/usr/bin/python3
"""Which phase each system call of a daemon belongs to."""
import unittest

import strace_log
from strace_log import Phases

SEIZE = ("ptrace", "PTRACE_SEIZE, 77, NULL, 0) = 0")
DETACH = ("ptrace", "PTRACE_DETACH, 77, NULL, 0) = 0")
READ = ("pread64", "9</proc/77/mem>, ..., 64, 4096) = 64")
WRITE = ("pwrite64", "9</proc/77/mem>, ..., 1, 4096) = 1")
BUMP = ("pwrite64", '12</state/journal/77-1>, "bump 3\\n", 7, 0) = 7')
ARM = ("pwrite64", '12</state/journal/77-1>, "arm 1 2 3\\n", 10, 7) = 10')


def phases(*calls):
    told = Phases("attach")
    return [told.of(*call) for call in calls]


class PhasesTest(unittest.TestCase):
    def test_an_attach(self):
        self.assertEqual(phases(READ, SEIZE, READ, ARM, WRITE, DETACH, READ),
                         ["attach", "walk", "walk", "arm", "arm", "arm", "hold"])

    def test_an_attach_that_raises_the_version(self):
        self.assertEqual(phases(SEIZE, ARM, BUMP, DETACH, READ), ["walk", "arm", "bump", "bump", "hold"])
        self.assertEqual(phases(SEIZE, BUMP, DETACH, READ), ["walk", "bump", "bump", "hold"])

    def test_a_process_that_collected_garbage_is_stopped_again(self):
        self.assertEqual(phases(SEIZE, READ, DETACH, READ, SEIZE, READ, BUMP, DETACH, READ),
                         ["walk", "walk", "walk", "hold", "walk", "walk", "bump", "bump", "hold"])

    def test_what_introduces_itself_is_armed_with_its_thread_held(self):
        self.assertEqual(phases(SEIZE, BUMP, DETACH, READ, ARM, WRITE, READ),
                         ["walk", "bump", "bump", "hold", "arm", "arm", "hold"])

    def test_a_stop_that_repairs_is_no_walk(self):
        self.assertEqual(phases(SEIZE, ARM, DETACH, SEIZE, DETACH), ["walk", "arm", "arm", "hold", "hold"])


class PointsTest(unittest.TestCase):
    def test_those_that_come_back(self):
        self.assertEqual(strace_log.that_come_back([("pread64", 800), ("pwrite64", 5), ("ptrace", 40), ("mmap", 41)]),
                         [("pwrite64", 5), ("ptrace", 40)])
        self.assertEqual(strace_log.that_come_back([("pread64", 800)]), [("pread64", 800)])


if __name__ == "__main__":
    unittest.main()
