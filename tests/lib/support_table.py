"""The README's table of what was tried with which Python, out of the end-to-end tests' own results.

  support_table.py EVENTS                 prints it
  support_table.py EVENTS --check README  also fails where a cell of the README's table differs
                          --table NAME    not the table called `support`, but another one

EVENTS is a --build_event_json_file, or a folder with the TEST.xml of each test. The cases of a test that says on which
interpreter it runs end in `_on_` and its name (tests/e2e/harness/interpreters.py).
"""
import argparse
import collections
import os
import pathlib
import platform
import re
import sys
import time

import results

BEGIN, END = "<!-- %s:begin -->", "<!-- %s:end -->"
# (what, test, which of its cases, as CLASS.CASE): in the table's order.
ROWS = (
    ("counts equal the program's own", "counts_test", ""),
    ("threads at once, without a GIL", "free_threaded_test", ""),
    ("the same with `PYTHON_JIT=1`", "counts_test|dose_test|resumes_test", "jit|compiled"),
    ("doses, flags, messages", "dose_test|contract_test|max_stop_test", ""),
    ("code that is made and dropped meanwhile", "births_test", ""),
    ("`--on resume`", "resumes_test", ""),
    ("`--mode sleep`", "sleep_test|sleep_faults_test", ""),
    ("forks, `--children`", "fork_test|children_test|multiprocessing_test|prefork_test", ""),
    ("in containers: namespaces and roots of their own", "containers_test", "^NamespacesTest(?!.*user_namespace)"),
    ("in containers: root of a user namespace", "containers_test", "root_of_a_user_namespace"),
    ("in containers: runc", "containers_test", "^RuncTest"),
    ("in containers: the daemon itself", "containers_test", "^DaemonInContainerTest"),
    ("embedded in another program", "embedding_test", "^EmbeddingTest"),
    ("several libpythons in a process", "embedding_test", "^SeveralTest"),
    ("subinterpreters", "subinterpreters_test", ""),
    ("file deleted, replaced, without sections", "replaced_files_test", ""),
    ("native functions beside Python", "native_and_python_test", ""),
    ("the module tree of a model", "modules_test", ""),
    ("delays of single modules", "module_delay_test", ""),
    ("models as schedules", "schedule_test", ""),
    ("spans of modules", "spans_test", ""),
    ("callables that are no modules", "callables_test", ""),
    ("experiments: does it matter?", "sweep_test", ""),
    ("the tree, delays and spans with Debian's torch", "torch_test", ""),
    ("the graph of a model: refused without Debian's torch, told with it", "graph_test", ""),
    ("beside the process's own tracers", "tools_test", ""),
    ("hostile", "hostile_test", ""),
    ("a detach proof that finds something", "proof_test", ""),
    ("the kernel's code of the BPF programs, with threads beside each other", "programs_test", ""),
    ("daemon or client killed", "daemon_killed_test|client_faults_test|daemon_test", ""),
)
# Marks of builds in the table's head, by the end of a case's name (tests/lib/interpreters.py, SUFFIXES).
BUILDS = {"": ("", "no mark: shared library, with symbols"), "_debian": (" D", "D: static and stripped, as Debian's"),
          "_static": (" S", "S: static, with symbols"), "_stripped": (" L", "L: shared library, stripped")}
CASE = re.compile(r"(?P<what>.+)_on_(?P<python>\d+_\d+_\d+t?(?P<build>%s))$" % "|".join(sorted(BUILDS, reverse=True)))


def version(python):
    return [int(part) for part in re.findall(r"\d+", python)], python


def build(python):
    return BUILDS[CASE.match("case_on_" + python)["build"]]


def title(python):
    """3_11_2_debian: `3.11.2 D`."""
    mark, _ = build(python)
    return re.match(r"[\d_]+\d+t?", python)[0].replace("_", ".") + mark


def titles(cases):
    """Those of the interpreters on which cases of these names ran."""
    found = {match["python"] for match in map(CASE.match, cases) if match}
    return [title(python) for python in sorted(found, key=version)]


class Seen:
    """How many cases passed, of how many, by row and interpreter."""

    def __init__(self):
        self.passed = collections.Counter()
        self.ran = collections.Counter()
        self.without_row = set()  # tests with a case on an interpreter that the table would not show

    def add(self, test, case):
        match = CASE.match(case.get("name", "").partition(" ")[0])  # of a subtest, which has failed, its case
        if not match or case.find("skipped") is not None:
            return
        what = "%s.%s" % (case.get("classname", ""), match["what"])
        rows = [row for row, (_, tests, cases) in enumerate(ROWS)
                if re.fullmatch(tests, test) and re.search(cases, what)]
        for row in rows:
            self.ran[row, match["python"]] += 1
            self.passed[row, match["python"]] += not results.has_failed(case)
        if not rows:
            self.without_row.add(test)

    def pythons(self):
        return sorted({python for _, python in self.ran}, key=version)


def see(path):
    seen = Seen()
    for test, result in by_test(path):
        for case in results.cases(result):
            seen.add(test, case)
    return seen


def by_test(path):
    """(name of a test, its result as bazel tells it)."""
    if os.path.isdir(path):
        return [(file.stem, results.of_file(file)) for file in sorted(pathlib.Path(path).glob("*.xml"))]
    return [(label.rpartition(":")[2], result) for (label, _, _), result in results.read(path)[1].items()]


def table(seen):
    pythons = seen.pythons()
    yield "Linux %s, %s; %s. Builds of CPython: %s." % (
        platform.release(), platform.machine(), time.strftime("%Y-%m-%d"),
        "; ".join(words for _, words in dict.fromkeys(map(build, pythons))))
    yield ""
    yield "| tests passed, of those that ran | %s |" % " | ".join(map(title, pythons))
    yield "|---|" + "---|" * len(pythons)
    for row, (what, _, _) in enumerate(ROWS):
        cells = ["%d of %d" % (seen.passed[row, one], seen.ran[row, one]) if seen.ran[row, one] else ""
                 for one in pythons]
        if any(cells):
            yield "| %s | %s |" % (what, " | ".join(cells))


def without_micro(python):
    """Of `3.11.2 D`: `3.11 D`. Machines differ in the micro version."""
    return re.sub(r"\.\d+(?=t?(?: [A-Z])?$)", "", python)


def cells(lines):
    """{(row, Python): what is said of it} of a table; a list, since several micro versions are one Python here."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    found = {}
    for row in rows[1:]:
        for python, cell in zip(rows[0][1:], row[1:]):
            if cell:
                found.setdefault((row[0], without_micro(python)), []).append(cell)
    return found


def differences(seen, readme, name="support"):
    """Each cell in which the README's table is not the one of this run. Both ways: a number that is too low is as stale."""
    now = cells(table(seen))
    said = cells(readme.partition(BEGIN % name)[2].partition(END % name)[0].splitlines())
    for row, python in dict.fromkeys([*now, *said]):
        ours, theirs = (", ".join(one.get((row, python), ["nothing"])) for one in (now, said))
        if ours != theirs:
            yield "%s, CPython %s: the README says %s, this run saw %s" % (row, python, theirs, ours)


def check(seen, readme, name="support"):
    for test in sorted(seen.without_row):
        print("%s has cases on an interpreter, and no row of the table is about them: see ROWS" % test)
    found = list(differences(seen, readme, name))
    if not found:
        return 1 if seen.without_row else 0
    print("\n".join(found))
    print("The table above belongs into the README, between %s and %s." % (BEGIN % name, END % name))
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("events")
    parser.add_argument("--check")
    parser.add_argument("--table", default="support")
    options = parser.parse_args()
    seen = see(options.events)
    print("\n".join(table(seen)))
    if not options.check:
        return 0
    with open(options.check) as file:
        return check(seen, file.read(), options.table)


if __name__ == "__main__":
    sys.exit(main())
