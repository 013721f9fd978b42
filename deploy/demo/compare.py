"""The quickstart's table: what slowing a function did to the throughput of deploy/demo/service.py.

  compare.py REPORT NAME=UPDATES...

REPORT is the service's own report; UPDATES the JSON of `sbumpctl watch` or `attach`, one message a line.
For each NAME prints requests a second before and during the slowing, the time injected into each request as
sbump measured it, and the time that each request lost. Standard library only.
"""
import bisect
import json
import os
import sys

BEFORE_SECONDS = 4.0  # how much of the time before an attach counts as "before"
NOISE_SHARE = 0.15  # of the injected time: less than this lost says "hidden"


def read_lines(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


class Report:
    """The service's counter of requests over time."""

    def __init__(self, lines):
        points = [(int(line["unix_ns"]), line["requests"]) for line in lines if "unix_ns" in line]
        self._times = [time for time, _ in points]
        self._requests = [requests for _, requests in points]

    def rate(self, begin_ns, end_ns):
        """Requests and requests a second between the first and last point within."""
        first = bisect.bisect_left(self._times, begin_ns)
        last = bisect.bisect_right(self._times, end_ns) - 1
        if last <= first:
            raise ValueError("the demo program reported nothing in this time")
        requests = self._requests[last] - self._requests[first]
        return requests, requests * 1e9 / (self._times[last] - self._times[first])


def injected(updates):
    """Time of the first and last ACTIVE update, and what was injected in between."""
    total = 0
    points = []
    rows = {}
    for update in updates:
        for row in update.get("targets", []):
            rows[row["filename"], row["qualname"], row["first_line"]] = int(row["injected_delay_ns"])
        total = sum(rows.values())
        if update.get("state") == "ACTIVE" and int(update.get("unix_ns", 0)):
            points.append((int(update["unix_ns"]), total))
    if len(points) < 2:
        raise ValueError("fewer than two updates of the active session")
    (begin_ns, first), (end_ns, last) = points[0], points[-1]
    return begin_ns, end_ns, last - first


def compare(report, updates):
    begin_ns, end_ns, injected_ns = injected(updates)
    started_ns = min(int(update["unix_ns"]) for update in updates if int(update.get("unix_ns", 0)))
    _, before = report.rate(started_ns - int((BEFORE_SECONDS + 0.5) * 1e9), started_ns - int(0.5e9))
    requests, during = report.rate(begin_ns, end_ns)
    return {
        "before": before,
        "during": during,
        # The dose counts per request over the whole time that the updates span.
        "injected_ms": injected_ns / 1e6 / max(1.0, during * (end_ns - begin_ns) / 1e9),
        "lost_ms": 1e3 / during - 1e3 / before,
        "requests": requests,
    }


def trouble(updates):
    """Why the session's end is not clean; None where it is."""
    last = updates[-1] if updates else {}
    proof = last.get("end", {}).get("detach_proof")
    if last.get("state") != "ENDED" or proof is None:
        return "the session's end was not seen"
    if last.get("inexact"):
        return "the session is INEXACT: some calls were not attributed"
    left = {name: proof.get(name) for name in ("links_left", "fields_left", "text_bytes_changed")}
    if not proof.get("verified") or any(left.values()):
        return "the detach is not proven clean: %s" % proof
    return None


def meaning(row):
    if row["injected_ms"] <= 0:
        return "nothing was injected"
    share = row["lost_ms"] / row["injected_ms"]
    if share < NOISE_SHARE:
        return "hidden: slower, and no request noticed"
    if share > 1 - NOISE_SHARE:
        return "on the critical path: its time is every request's time"
    return "partly hidden (%.0f %% arrived)" % (100 * share)


def main():
    report = Report(read_lines(sys.argv[1]))
    print("%-12s %10s %10s %8s %14s %12s  %s" % (
        "slowed", "before", "during", "change", "injected", "lost", "meaning"))
    print("%-12s %10s %10s %8s %14s %12s" % ("", "requests/s", "requests/s", "", "ms/request", "ms/request"))
    troubles = []
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        updates = read_lines(path)
        if trouble(updates):
            troubles.append("%s: %s" % (name, trouble(updates)))
        row = compare(report, updates)
        print("%-12s %10.1f %10.1f %+7.1f%% %14.2f %12.2f  %s" % (
            name, row["before"], row["during"], 100 * (row["during"] / row["before"] - 1),
            row["injected_ms"], row["lost_ms"], meaning(row)))
    if os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        print("The machine is busy (load %.1f on %d processors): expect noise." % (
            os.getloadavg()[0], os.cpu_count()))
    for line in troubles:
        print(line, file=sys.stderr)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
