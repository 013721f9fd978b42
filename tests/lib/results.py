"""Counts the test cases of one `bazel test`, and says why one failed, by its build events and the test.xml of each target.

  results.py EVENTS EXIT_CODE

EVENTS is a --build_event_json_file. Prints, on lines that begin with it, `failed` and `skipped` cases,
and last `counts PASSED FAILED SKIPPED`. A target that failed without a failed case (a crash, a
time-out, a failed build) counts as one.
"""
import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree

LONGEST_REASON = 300
NO_TESTS = 4  # Bazel's exit code where the filters left no test


def events(path):
    try:
        with open(path) as lines:
            for line in lines:
                yield json.loads(line)
    except (OSError, ValueError):
        return  # Bazel died early; its exit code says so


def xml_path(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml" and output.get("uri", "").startswith("file://"):
            return urllib.parse.unquote(output["uri"][len("file://"):])
    return None


def of_file(path):
    """As if bazel had run what wrote that file."""
    return {"testActionOutput": [{"name": "test.xml", "uri": pathlib.Path(path).resolve().as_uri()}]}


def cases(result):
    """The test cases of one target; none where it did not get as far as that."""
    try:
        yield from xml.etree.ElementTree.parse(xml_path(result)).iter("testcase")
    except (OSError, TypeError, xml.etree.ElementTree.ParseError):
        return


def log_of(result):
    """What a target printed, where Bazel made its test.xml."""
    try:
        return xml.etree.ElementTree.parse(xml_path(result)).findtext(".//system-out") or ""
    except (OSError, TypeError, xml.etree.ElementTree.ParseError):
        return ""


def failure_reason(case, log):
    """One line: of a Python traceback the error, of gtest where and what, of a program its last words."""
    element = case.find("failure") if case.find("failure") is not None else case.find("error")
    lines = [line for line in (element.text or element.get("message") or "").splitlines() if line.strip()]
    traced = [i for i, line in enumerate(lines) if line.startswith("  File ")]
    if traced:
        lines = [line for line in lines[traced[-1] + 1:] if not line.startswith(" ")][:1]
    elif not element.text and log:
        lines = [line for line in log.splitlines() if line.strip()][-2:]
    words = " ".join(" ".join(lines).split())
    return words if len(words) <= LONGEST_REASON else words[:LONGEST_REASON] + "..."


def has_failed(case):
    return case.find("failure") is not None or case.find("error") is not None


def skip_reason(element):
    """gtest's message is "file:line", "Skipped" and then the words of the test."""
    lines = [line.strip() for line in (element.get("message") or element.text or "").splitlines()]
    words = [line for line in lines if line and line != "Skipped"]
    if len(words) > 1 and ":" in words[0]:
        words = words[1:]
    return " ".join(words) or "no reason given"


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add_case(self, label, case, log=""):
        name = "%s %s" % (label, ".".join(filter(None, (case.get("classname"), case.get("name")))))
        skipped = case.find("skipped")
        if has_failed(case):
            self.failed.append("%s: %s" % (name, failure_reason(case, log)))
        elif skipped is not None:
            self.skipped.append("%s: %s" % (name, skip_reason(skipped)))
        elif case.get("status") != "notrun":
            self.passed += 1

    def add_target(self, label, result):
        status = result.get("status", "NO_STATUS")
        failed_before = len(self.failed)
        found = list(cases(result))
        for case in found:
            self.add_case(label, case, log_of(result) if has_failed(case) else "")
        if not found and status == "PASSED":
            self.passed += 1
        if status != "PASSED" and len(self.failed) == failed_before:
            self.failed.append("%s: %s" % (label, status))


def read(path):
    """(labels of tests, results by label, run and shard, labels of what did not build), each result the last attempt."""
    tests, results, broken = set(), {}, set()
    for event in events(path):
        identity = event.get("id", {})
        if "targetConfigured" in identity and event.get("configured", {}).get("testSize"):
            tests.add(identity["targetConfigured"]["label"])
        elif "testResult" in identity and "testResult" in event:
            one = identity["testResult"]
            key = one["label"], one.get("run", 1), one.get("shard", 1)
            attempt = one.get("attempt", 1)
            if key not in results or attempt >= results[key][0]:
                results[key] = attempt, event["testResult"]
        elif "targetCompleted" in identity and not event.get("completed", {}).get("success"):
            broken.add(identity["targetCompleted"]["label"])
    return tests, {key: result for key, (_, result) in sorted(results.items())}, broken


def count(path, exit_code):
    tests, results, broken = read(path)
    total = Count()
    for (label, _, _), result in results.items():
        total.add_target(label, result)
    for label in sorted((broken & tests) - {key[0] for key in results}):
        total.failed.append("%s: did not build" % label)
    if exit_code not in (0, NO_TESTS) and not total.failed:
        total.failed.append("bazel ended with status %d" % exit_code)
    return total


def main():
    total = count(sys.argv[1], int(sys.argv[2]))
    for name in total.failed:
        print("failed " + name)
    for name in total.skipped:
        print("skipped " + name)
    print("counts %d %d %d" % (total.passed, len(total.failed), len(total.skipped)))


if __name__ == "__main__":
    main()
