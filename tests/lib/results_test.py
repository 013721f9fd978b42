#!/usr/bin/python3
"""What is said of a test that failed."""
import pathlib
import tempfile
import unittest

import results

TRACEBACK = """Traceback (most recent call last):
  File "a_test.py", line 7, in test_it
    self.assertEqual(answer.code, 16, answer)
AssertionError: 12 != 16 : status 12
stdout: a thousand lines
"""
GTEST = """plan_test.cc:71
Expected equality of these values:
  2
  1
"""


def written(directory, name, text):
    path = pathlib.Path(directory) / name
    path.write_text("<testsuites><testsuite>%s</testsuite></testsuites>" % text)
    return {**results.of_file(path), "status": "FAILED"}


class ResultsTest(unittest.TestCase):
    def failed(self, text):
        with tempfile.TemporaryDirectory() as directory:
            total = results.Count()
            total.add_target("//t", written(directory, "test.xml", text))
            return total.failed

    def test_the_error_of_a_traceback(self):
        self.assertEqual(self.failed('<testcase name="a"><failure>%s</failure></testcase>' % TRACEBACK),
                         ["//t a: AssertionError: 12 != 16 : status 12"])

    def test_where_and_what_of_gtest(self):
        self.assertEqual(self.failed('<testcase name="a"><failure message="%s"></failure></testcase>' % GTEST),
                         ["//t a: plan_test.cc:71 Expected equality of these values: 2 1"])

    def test_the_last_words_of_a_program(self):
        case = '<testcase name="a"><error message="exited with error code 1"></error></testcase>'
        self.assertEqual(self.failed(case + "<system-out>began\nHARM to somebody\nharm found: 1\n\n</system-out>"),
                         ["//t a: HARM to somebody harm found: 1"])
        self.assertEqual(self.failed(case), ["//t a: exited with error code 1"])

    def test_no_more_than_a_line(self):
        said, = self.failed('<testcase name="a"><failure message="%s"></failure></testcase>' % ("x" * 1000))
        self.assertEqual(said, "//t a: %s..." % ("x" * results.LONGEST_REASON))

    def test_what_left_no_cases(self):
        self.assertEqual(self.failed(""), ["//t: FAILED"])


if __name__ == "__main__":
    unittest.main()
