#!/usr/bin/python3
"""When the README's table is that of a run."""
import contextlib
import io
import unittest
import xml.etree.ElementTree

import support_table

COUNTS, RESUME = "counts equal the program's own", "`--on resume`"
README = """Text | with | bars
%s
Linux 6.1, x86_64; 2026-01-01.

| tests passed, of those that ran | %s |
|---|---|---|
%s
%s
| another | table |
"""


def case(name, outcome=None):
    """Perhaps CLASS.CASE."""
    classname, _, name = name.rpartition(".")
    element = xml.etree.ElementTree.Element("testcase", name=name, classname=classname)
    if outcome:
        xml.etree.ElementTree.SubElement(element, outcome)
    return element


def seen(*cases):
    """Of (test, case, and `failure` or `skipped` where it did not pass)."""
    result = support_table.Seen()
    for test, *rest in cases:
        result.add(test, case(*rest))
    return result


def readme(*rows, pythons="3.8.18 | 3.11.2 D", name="support"):
    return README % (support_table.BEGIN % name, pythons, "\n".join("| %s |" % row for row in rows), support_table.END % name)


BOTH = seen(("counts_test", "test_a_on_3_8_18"), ("counts_test", "test_b_on_3_8_18"),
            ("counts_test", "test_a_on_3_11_2_debian"), ("resumes_test", "test_c_on_3_11_2_debian"))
SAID = (COUNTS + " | 2 of 2 | 1 of 1", RESUME + " |  | 1 of 1")


class SupportTableTest(unittest.TestCase):
    def found(self, run, text):
        return list(support_table.differences(run, text))

    def test_the_same(self):
        self.assertEqual(self.found(BOTH, readme(*SAID)), [])

    def test_what_is_printed_can_be_pasted(self):
        pasted = "\n".join([support_table.BEGIN % "support", *support_table.table(BOTH), support_table.END % "support"])
        self.assertEqual(self.found(BOTH, pasted), [])

    def test_another_micro_version_is_no_difference(self):
        self.assertEqual(self.found(BOTH, readme(*SAID, pythons="3.8.20 | 3.11.14 D")), [])

    def test_another_build_is(self):
        self.assertEqual(len(self.found(BOTH, readme(*SAID, pythons="3.8.18 | 3.11.2"))), 4)
        free_threaded = seen(("counts_test", "test_a_on_3_13_5t"))
        self.assertEqual(self.found(free_threaded, readme(COUNTS + " | 1 of 1", pythons="3.13.0t")), [])
        self.assertEqual(len(self.found(free_threaded, readme(COUNTS + " | 1 of 1", pythons="3.13.5"))), 2)

    def test_the_readme_claims_more(self):
        self.assertEqual(self.found(BOTH, readme(COUNTS + " | 3 of 3 | 1 of 1", SAID[1])),
                         [COUNTS + ", CPython 3.8: the README says 3 of 3, this run saw 2 of 2"])

    def test_the_readme_claims_less(self):
        self.assertEqual(self.found(BOTH, readme(COUNTS + " | 1 of 1 | 1 of 1", SAID[1])),
                         [COUNTS + ", CPython 3.8: the README says 1 of 1, this run saw 2 of 2"])

    def test_a_cell_that_this_run_did_not_see(self):
        self.assertEqual(self.found(BOTH, readme(SAID[0], RESUME + " | 1 of 1 | 1 of 1")),
                         [RESUME + ", CPython 3.8: the README says 1 of 1, this run saw nothing"])

    def test_a_cell_and_a_row_that_the_readme_lacks(self):
        self.assertEqual(self.found(BOTH, readme(COUNTS + " |  | 1 of 1", SAID[1])),
                         [COUNTS + ", CPython 3.8: the README says nothing, this run saw 2 of 2"])
        self.assertEqual(self.found(BOTH, readme(SAID[0])),
                         [RESUME + ", CPython 3.11 D: the README says nothing, this run saw 1 of 1"])

    def test_no_table(self):
        self.assertEqual(len(self.found(BOTH, "no table")), 3)

    def test_another_table_of_the_readme(self):
        text = readme(name="support") + readme(*SAID, name="other")
        self.assertEqual(list(support_table.differences(BOTH, text, "other")), [])
        self.assertEqual(len(self.found(BOTH, text)), 3)

    def test_a_failed_case_and_a_skipped_one(self):
        run = seen(("counts_test", "test_a_on_3_8_18"), ("counts_test", "test_b_on_3_8_18", "failure"),
                   ("counts_test", "test_c_on_3_8_18", "skipped"))
        self.assertEqual(self.found(run, readme(COUNTS + " | 2 of 2 | ")),
                         [COUNTS + ", CPython 3.8: the README says 2 of 2, this run saw 1 of 2"])

    def test_a_case_of_which_a_part_failed(self):
        run = seen(("counts_test", "test_a_on_3_8_18"), ("counts_test", "test_b_on_3_8_18 (number=4)", "failure"))
        self.assertEqual(self.found(run, readme(COUNTS + " | 2 of 2 | ")),
                         [COUNTS + ", CPython 3.8: the README says 2 of 2, this run saw 1 of 2"])

    def test_two_micro_versions_of_one_build(self):
        run = seen(("counts_test", "test_a_on_3_12_1"), ("counts_test", "test_a_on_3_12_3"))
        self.assertEqual(self.found(run, readme(COUNTS + " | 1 of 1 | 1 of 1", pythons="3.12.1 | 3.12.3")), [])
        self.assertEqual(self.found(run, readme(COUNTS + " | 1 of 1 | ", pythons="3.12.1 | 3.11.2")),
                         [COUNTS + ", CPython 3.12: the README says 1 of 1, this run saw 1 of 1, 1 of 1"])

    def test_rows_of_classes_of_one_test(self):
        run = seen(("containers_test", "NamespacesTest.test_a_on_3_8_18"),
                   ("containers_test", "NamespacesTest.test_root_of_a_user_namespace_on_3_8_18"),
                   ("containers_test", "RuncTest.test_a_on_3_8_18", "failure"),
                   ("containers_test", "DaemonInContainerTest.test_a_on_3_8_18"))
        rows = [line.split(" | ")[1] for line in support_table.table(run) if line.startswith("| in containers")]
        self.assertEqual(rows, ["1 of 1 |", "1 of 1 |", "0 of 1 |", "1 of 1 |"])

    def test_one_libpython_and_several(self):
        run = seen(("embedding_test", "EmbeddingTest.test_a_on_3_8_18"),
                   ("embedding_test", "EmbeddingTest.test_b_on_3_8_18"),
                   ("embedding_test", "SeveralTest.test_a_on_3_8_18"))
        self.assertEqual(list(support_table.table(run))[4:], ["| embedded in another program | 2 of 2 |",
                                                              "| several libpythons in a process | 1 of 1 |"])

    def test_interpreters_of_cases(self):
        self.assertEqual(support_table.titles(["counts_on_3_12_1", "fork_on_3_12_1", "doctor", "fork_on_3_8_18",
                                               "counts_on_3_11_2_debian"]), ["3.8.18", "3.11.2 D", "3.12.1"])

    def test_kinds_of_build(self):
        run = seen(*(("counts_test", "test_a_on_" + python) for python in
                     ("3_8_18", "3_13_5t", "3_11_2_debian", "3_11_2_static", "3_14_0_stripped")))
        head, _, titles, *_ = support_table.table(run)
        self.assertIn("3.8.18 | 3.11.2 D | 3.11.2 S | 3.13.5t | 3.14.0 L |", titles)
        self.assertTrue(head.endswith(" Builds of CPython: no mark: shared library, with symbols; D: static and stripped, "
                                      "as Debian's; S: static, with symbols; L: shared library, stripped."), head)

    def test_cases_without_a_row(self):
        run = seen(("counts_test", "test_a_on_3_8_18"), ("new_test", "test_a_on_3_8_18"), ("new_test", "test_a_on_3_9_2"),
                   ("daemon_test", "test_starts"))
        self.assertEqual(run.without_row, {"new_test"})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(support_table.check(run, readme(COUNTS + " | 1 of 1 | ")), 1)
        self.assertIn("new_test", said.getvalue())

    def test_it_says_what_to_do(self):
        for text, status, words in ((readme(*SAID), 0, ""), (readme(), 1, "The table above belongs into the README")):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(support_table.check(BOTH, text), status)
            self.assertIn(words, said.getvalue())
            self.assertEqual(bool(words), bool(said.getvalue()))


if __name__ == "__main__":
    unittest.main()
