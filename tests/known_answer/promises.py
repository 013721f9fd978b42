"""How soon what matters is found; see tests/known_answer/promises."""
import argparse
import contextlib
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "lib")]

from harness import interpreters  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.target import Target  # noqa: E402
import accuracy  # noqa: E402
import awake  # noqa: E402
from known_answer import machine  # noqa: E402
import promises_table  # noqa: E402

PROGRAMS = HERE.parent / "e2e" / "targets"
BEGIN, END = "<!-- promises:begin -->", "<!-- promises:end -->"
# Of each wait, evenly on both sides. Found by trying: windows of the length that is planned vary by 2 % then.
SPREAD = 0.35
EFFECT_PERCENT = 3
HANGS_S = 20 * 60  # what takes longer
THE_THREE = {"shop.part_03", "shop.part_14", "shop.part_22"}


@contextlib.contextmanager
def running(python, program):
    """A daemon, and the program."""
    daemon = Daemon()
    try:
        target = Target(python, PROGRAMS / program)
        try:
            yield daemon, target
        finally:
            target.kill()
    finally:
        daemon.clean_up()


def ask(daemon, target, command, *arguments):
    """The plans, the answer, and how long it took to say it."""
    begin = time.monotonic()
    answer = daemon.ctl(command, "--pid", target.pid, *arguments, "--yes", "--format", "json", seconds=HANGS_S)
    took_s = time.monotonic() - begin
    if answer.code != 0:
        raise AssertionError("%s: status %d: %s" % (command, answer.code, answer.err))
    lines = [json.loads(line) for line in answer.out.splitlines()]
    target.ask("finish")
    return [line["plan"] for line in lines if "plan" in line], lines[-1], took_s


def sweep(python):
    """Of what all of a unit waits for: the largest dose, 3 % of a unit, is an effect of 3 %."""
    with running(python, "service.py") as (daemon, target):
        target.ask("start", None, SPREAD, 1)
        plans, answer, took_s = ask(daemon, target, "sweep", "--metric", "calls:*/service.py:step", "--target",
                                    "*/service.py:critical", "--top-share", EFFECT_PERCENT, "--mde", EFFECT_PERCENT)
    result = answer["results"][0]
    return {"variation": plans[0]["variation"], "took_s": took_s, "matters": result["verdict"] == "MATTERS", "found": result["p"] <= 0.05}


def rank(python):
    with running(python, "thirty.py") as (daemon, target):
        scratch = target.ask("start")
        try:
            plans, answer, took_s = ask(daemon, target, "rank", "--metric", "calls:*/thirty.py:step")
        finally:
            shutil.rmtree(scratch)
    named = sorted(result["name"] for result in answer["results"] if result["verdict"] == "MATTERS")
    return {"took_s": took_s, "experiments": len(plans), "right": {name.split(":")[0] for name in named} == THE_THREE, "named": named}


def arguments():
    parser = argparse.ArgumentParser(prog="tests/known_answer/promises")
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--markdown", type=pathlib.Path)
    return parser.parse_args()


def answer_of(ask_once, python):
    """None: it gave none, which is a result, too."""
    try:
        answer = ask_once(python)
    except (AssertionError, subprocess.TimeoutExpired) as why:
        answer = None
        print("no answer: %s" % why, flush=True)
    print(answer, flush=True)
    return answer


def main():
    options = arguments()
    python = interpreters.any_supported()
    with awake.processors() as processors:
        where = {"date": str(datetime.date.today()), "machine": machine(), "processors": processors, "python": "CPython " + python.name}
        sweeps = [answer_of(sweep, python) for _ in range(options.sweeps)]
        ranks = [answer_of(rank, python) for _ in range(options.ranks)]
    text = promises_table.markdown(where, sweeps, ranks)
    print(text)
    if options.markdown:
        accuracy.put_between(options.markdown, BEGIN, END, text)
    sys.exit(0 if all(sweeps + ranks) else 1)


if __name__ == "__main__":
    main()
