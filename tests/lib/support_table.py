"""The README's table of what was tried with which Python, out of the end-to-end tests' own results.

  support_table.py EVENTS                 prints it
  support_table.py EVENTS --check README  fails where the README's table says more than was seen here

EVENTS is a --build_event_json_file. The cases of a test that runs once for each interpreter end in `_on_` and its name
(tests/e2e/harness/interpreters.py).
"""
import argparse
import collections
import platform
import re
import sys
import time

import results

BEGIN, END = "<!-- support:begin -->", "<!-- support:end -->"
# (what, test, which of its cases): in the table's order.
ROWS = (
    ("counts equal the program's own", "counts_test", ""),
    ("the same with `PYTHON_JIT=1`", "counts_test|resumes_test", "jit|compiled"),
    ("doses, flags, messages", "dose_test|contract_test", ""),
    ("code that is made and dropped meanwhile", "births_test", ""),
    ("`--on resume`", "resumes_test", ""),
    ("`--mode sleep`", "sleep_test", ""),
    ("forks, `--children`", "fork_test|children_test", ""),
    ("in containers", "containers_test", ""),
    ("embedded; several libpythons", "embedding_test", ""),
    ("subinterpreters", "subinterpreters_test", ""),
    ("file deleted, replaced, without sections", "replaced_files_test", ""),
    ("native functions beside Python", "native_test", ""),
    ("beside the process's own tracers", "tools_test", ""),
    ("hostile", "hostile_test", ""),
    ("daemon or client killed", "daemon_killed_test|client_faults_test|daemon_test", ""),
)
CASE = re.compile(r"(?P<what>.+)_on_(?P<python>\d+_\d+_\d+t?(?:_debian)?)$")


def version(python):
    return [int(part) for part in re.findall(r"\d+", python)], python


def title(python):
    """3_11_2_debian: `3.11.2 D`."""
    return python.replace("_debian", " D").replace("_", ".")


class Seen:
    """How many cases passed, of how many, by row and interpreter."""

    def __init__(self):
        self.passed = collections.Counter()
        self.ran = collections.Counter()

    def add(self, test, case):
        match = CASE.match(case.get("name", ""))
        if not match or case.find("skipped") is not None:
            return
        for row, (_, tests, cases) in enumerate(ROWS):
            if re.fullmatch(tests, test) and re.search(cases, match["what"]):
                self.ran[row, match["python"]] += 1
                self.passed[row, match["python"]] += not results.has_failed(case)

    def pythons(self):
        return sorted({python for _, python in self.ran}, key=version)


def see(path):
    seen = Seen()
    for (label, _, _), result in results.read(path)[1].items():
        for case in results.cases(result):
            seen.add(label.rpartition(":")[2], case)
    return seen


def table(seen):
    pythons = seen.pythons()
    yield "Linux %s, %s; %s." % (platform.release(), platform.machine(), time.strftime("%Y-%m-%d"))
    yield ""
    yield "| tests passed, of those that ran | %s |" % " | ".join(map(title, pythons))
    yield "|---|" + "---|" * len(pythons)
    for row, (what, _, _) in enumerate(ROWS):
        cells = ["%d of %d" % (seen.passed[row, one], seen.ran[row, one]) if seen.ran[row, one] else ""
                 for one in pythons]
        if any(cells):
            yield "| %s | %s |" % (what, " | ".join(cells))


def claims(readme):
    """(row, minor version and build) of each cell of the README's table that says that tests passed."""
    block = readme.partition(BEGIN)[2].partition(END)[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
             if line.startswith("| ")]
    for line in lines[1:]:
        for python, cell in zip(lines[0][1:], line[1:]):
            if cell and not cell.startswith("0 "):
                yield line[0], kind(python)


def kind(python):
    """Of `3.11.2 D`: (3.11, D): machines differ in the micro version."""
    number, _, build = python.partition(" ")
    return ".".join(number.split(".")[:2]), build


def check(seen, readme):
    proven = {(ROWS[row][0], kind(title(python))) for (row, python), count in seen.passed.items()
              if count and count == seen.ran[row, python]}
    found = list(claims(readme))
    missing = ["%s: CPython %s" % (row, " ".join(filter(None, python))) for row, python in found
               if (row, python) not in proven]
    for one in missing:
        print("the README says that this works, and here it was not seen: " + one)
    if not found:
        print("the README has no table between %s and %s" % (BEGIN, END))
    return 1 if missing or not found else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("events")
    parser.add_argument("--check")
    options = parser.parse_args()
    seen = see(options.events)
    if not options.check:
        print("\n".join(table(seen)))
        return 0
    with open(options.check) as file:
        return check(seen, file.read())


if __name__ == "__main__":
    sys.exit(main())
