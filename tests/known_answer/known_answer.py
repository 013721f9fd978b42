"""Programs whose truth is known, one draw after the other; see tests/known_answer/run."""
import argparse
import dataclasses
import datetime
import os
import pathlib
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "lib")]

from harness import interpreters  # noqa: E402
from harness.daemon import SBUMPCTL, run_client  # noqa: E402
import accuracy  # noqa: E402
import again  # noqa: E402
import awake  # noqa: E402
import draw  # noqa: E402
import families  # noqa: E402
from records import Records  # noqa: E402

FAMILIES_OF_SHORT = ("producer_consumer", "async_steps", "batcher")  # of three functions each: so much is quickly asked


def arguments():
    parser = argparse.ArgumentParser(prog="tests/known_answer/run")
    parser.add_argument("--draws", type=int, default=8 * len(families.NAMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", choices=families.NAMES, metavar="FAMILY")
    parser.add_argument("--records", type=pathlib.Path)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--may-sleep", action="store_true")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--runs", type=pathlib.Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.again and not options.runs:
        parser.error("--again computes from recordings: --runs says where they are")
    return options


def pythons(paths):
    known = [one for one in interpreters.supported() if not one.free_threaded]
    chosen = [one for one in known if one.path in paths] if paths else known
    if not chosen or len(chosen) < len(paths):
        sys.exit("tests/known_answer: of %s only %s are supported interpreters with a GIL" % (paths, chosen))
    return chosen


class Overdue(BaseException):
    """A draw hangs."""


class Suite:
    def __init__(self, chosen, records, effort, processors):
        self.pythons = chosen
        self.records = records
        self.effort = effort
        self.processors = processors
        self.machine = machine()
        self.failures = 0

    def try_seed(self, seed, family):
        # Those of one family take turns.
        python = self.pythons[seed // len(families.NAMES) % len(self.pythons)]
        where = {"date": str(datetime.date.today()), "machine": self.machine, "processors": self.processors,
                 "load": os.getloadavg()[0], "python": python.name, "sbump": version(), "commit": commit(),
                 "estimator": accuracy.ESTIMATOR}
        begin = time.monotonic()
        record = self.measured(python, family, seed)
        record.update(where, seconds=time.monotonic() - begin)
        self.records.add(record)
        print(line(record), flush=True)

    def measured(self, python, family, seed):
        signal.alarm(int(draw.seconds_at_most(self.effort)))
        try:
            return draw.run(python, family, seed, self.effort)
        except (Exception, Overdue) as error:  # what does not work is a result, too
            self.failures += 1
            if self.effort.runs:
                (self.effort.runs / ("%d.sbump" % seed)).unlink(missing_ok=True)
            return {"seed": seed, "family": family, "error": "%s: %s" % (type(error).__name__, error)}
        finally:
            signal.alarm(0)


def line(record):
    """For people."""
    begin = "seed %d, %s, CPython %s, %.0f s: " % tuple(record[key] for key in ("seed", "family", "python", "seconds"))
    if "error" in record:
        return begin + "FAILED: " + record["error"]
    return begin + ", ".join("%s %s" % (one["name"], _figure(one["measured"])) for one in record["functions"])


def _figure(measured):
    if not measured:
        return "not tested"
    return "%.2f [%s]" % (measured["criticality"], ", ".join("%.2f" % measured[end] for end in ("ci_low", "ci_high")
                                                             if measured.get(end) is not None))


def machine():
    with open("/proc/cpuinfo") as file:
        models = [text.split(":", 1)[1].strip() for text in file if text.startswith("model name")]
    return "%s, %d processors, Linux %s" % ((models or [platform.machine()])[0], os.cpu_count(), platform.release())


def version():
    return run_client(None, "version").out.split()[1]


def commit():
    """Of the sources here; empty: they are no repository."""
    said = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=False)
    return said.stdout.strip()


def estimate_again(records, runs):
    """How many could not be."""
    failures = 0
    for record in records.all().values():
        run = runs / ("%d.sbump" % record["seed"])
        if "error" in record or not run.exists():
            continue
        try:
            again.estimate(record, run, lambda path: run_client(None, "report", path, "--format", "json"))
        except again.NotAgain as why:
            print("not computed again: %s" % why)
            failures += 1
            continue
        records.replace({**record, "estimator": accuracy.ESTIMATOR, "estimated_commit": commit()})
    return failures


def seeds(options):
    """[(seed, family)] of what is to be tried."""
    wanted = options.families or (FAMILIES_OF_SHORT if options.short else families.NAMES)
    count = len(families.NAMES) if options.short else options.draws
    pairs = [(seed, families.of_seed(seed)) for seed in range(options.seed, options.seed + count)]
    return [(seed, family) for seed, family in pairs if family in wanted]


def overdue(*_):
    raise Overdue("the draw took too long")


def main():
    options = arguments()
    signal.signal(signal.SIGALRM, overdue)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which puts away what runs
    wanted = awake.MAY_SLEEP if options.may_sleep else awake.AWAKE
    with tempfile.TemporaryDirectory() as scratch, awake.processors(wanted) as processors:
        if processors != wanted:
            print("this machine cannot keep its processors awake: they may sleep")
        kept = pathlib.Path(options.records or (scratch if options.short else HERE / "records"))
        sys.exit(run(options, kept, processors))


def effort_of(options):
    effort = draw.SHORT if options.short else draw.Effort()
    if options.runs:
        options.runs.mkdir(parents=True, exist_ok=True)
    return dataclasses.replace(effort, runs=options.runs)


def run(options, kept, processors):
    """The exit status."""
    records = Records(kept, processors)
    suite = Suite(pythons(options.python), records, effort_of(options), processors)
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    done = records.all()
    todo = [(seed, family) for seed, family in seeds(options) if seed not in done]
    print("%d draws, %d have a record" % (len(seeds(options)), len(seeds(options)) - len(todo)), flush=True)
    for seed, family in todo:
        if time.monotonic() > end:
            print("out of time")
            break
        suite.try_seed(seed, family)
    if options.again:
        suite.failures += estimate_again(records, options.runs)
    if options.markdown:
        told = [Records(kept), Records(kept, awake.MAY_SLEEP), Records(kept / "another_machine")]
        accuracy.write(options.markdown, *(list(one.all().values()) for one in told))
    return 1 if suite.failures else 0


if __name__ == "__main__":
    main()
