#!/usr/bin/python3
"""When the interpreters of a machine are enough for CI."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import interpreters


class Fake(interpreters.Interpreter):
    def __init__(self, version, is_shared, has_symbols, free_threaded=False, implementation="CPython"):
        self.path = self.elf = "/pythons/%s-%s-%s" % (version, is_shared, has_symbols)
        self.implementation, self.version, self.free_threaded = implementation, version, free_threaded
        self.is_shared, self.has_symbols = is_shared, has_symbols
        self.facts = [implementation, version, self.elf, is_shared, free_threaded, has_symbols]


def fakes():
    """What CI's matrix needs, each as it is needed."""
    return [Fake(version + (1,), build != interpreters.STATIC, build != interpreters.STATIC)
            for version, build in interpreters.MATRIX]


class InterpretersTest(unittest.TestCase):
    def outcome(self, found, ci):
        """(exit status, what is said, what is written)."""
        with tempfile.TemporaryDirectory() as directory, mock.patch("interpreters.find", return_value=found), \
                mock.patch("sys.argv", ["interpreters.py", "--output", directory + "/pythons"]), \
                mock.patch.dict(os.environ, {"CI": ci}), contextlib.redirect_stdout(io.StringIO()) as said, \
                contextlib.redirect_stderr(said):
            status = interpreters.main()
            with open(directory + "/pythons") as file:
                return status, said.getvalue(), file.read()

    def test_the_whole_matrix(self):
        status, said, written = self.outcome(fakes(), "true")
        self.assertEqual(status, 0, said)
        self.assertEqual(written.count("/pythons/"), len(interpreters.MATRIX))

    def test_what_is_known_is_not_asked_for_again(self):
        own = interpreters.Interpreter(sys.executable)
        with mock.patch.dict(os.environ, {"SBUMP_PYTHONS_FACTS": json.dumps({"/nowhere/python3": own.facts})}):
            known = interpreters.Interpreter("/nowhere/python3")
            self.assertRaises(OSError, interpreters.Interpreter, "/nowhere/else")
        self.assertEqual((known.path, known.version, known.elf, known.build),
                         ("/nowhere/python3", own.version, own.elf, own.build))

    def test_each_that_is_missing_fails_in_ci_by_name(self):
        for i, (version, build) in enumerate(interpreters.MATRIX):
            others = [one for j, one in enumerate(fakes()) if j != i]
            status, said, _ = self.outcome(others, "true")
            self.assertEqual(status, 1, (version, build))
            self.assertIn("missing: CPython %d.%d" % version, said)
            self.assertEqual(self.outcome(others, "")[0], 0)

    def test_another_build_of_a_version_is_no_substitute(self):
        for build, other in ((interpreters.SHARED, (False, False)), (interpreters.STATIC, (True, True))):
            of_that = ((3, 9), build)
            self.assertIn(of_that, interpreters.MATRIX)
            found = [one for one in fakes() if not one.covers(*of_that)] + [Fake((3, 9, 2), *other)]
            self.assertIn("missing: CPython 3.9 (%s)" % build, self.outcome(found, "true")[1])

    def test_what_covers_nothing(self):
        for one in (Fake((3, 13, 1), True, True, free_threaded=True), Fake((3, 13, 1), True, True, implementation="PyPy"),
                    Fake((3, 12, 1), True, True), Fake((3, 16, 0), True, True)):
            self.assertFalse(one.covers((3, 13), interpreters.SHARED), one)
        self.assertTrue(Fake((3, 13, 1), True, True).covers((3, 13), interpreters.SHARED))

    def test_each_supported_version_is_in_the_matrix(self):
        self.assertEqual({version for version, _ in interpreters.MATRIX},
                         {(3, minor) for minor in range(interpreters.OLDEST[1], interpreters.NEWEST[1] + 1)})

    def test_each_build_has_a_suffix_of_its_own(self):
        builds = [Fake((3, 9, 1), *kind).build for kind in ((True, True), (False, False), (False, True), (True, False))]
        self.assertEqual(set(builds), set(interpreters.SUFFIXES))
        self.assertEqual(len(set(interpreters.SUFFIXES.values())), 4)


if __name__ == "__main__":
    unittest.main()
