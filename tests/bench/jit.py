"""What a session costs a loop that the JIT compiled, and what stays of that afterwards: README's figures.

  SBUMPD=PATH SBUMPCTL=PATH /usr/bin/python3 tests/bench/jit.py PYTHON

PYTHON: CPython 3.14 or 3.15 that was built with the JIT, as Debian's. Root; not part of tests/bench/run.

ns a round of a loop around a call of f, which a session arms at dose 0; medians, in one process.
"""
import os
import sys

from bench import calmly
from rows import median
from sessions import F_ONLY, attached, started  # before the harness: it says where that is
import interpreters
from harness.daemon import Daemon
from harness.session import Session


def round_ns(target):
    return median(calmly(target))


def in_one_process(python, daemon):
    """The sham session ends as it should, then another daemon is killed."""
    with started(python) as target:
        target.ask("batches", 2000, 2000)  # until it is compiled
        yield "before", round_ns(target)
        with attached(daemon, target, "--delay", "0"):
            yield "attached, dose 0", round_ns(target)
        yield "after the detach", round_ns(target)
        target.ask("batches", 2000, 2000)
        yield "some million calls later", round_ns(target)
        killed = Daemon()
        try:
            session = Session(killed, "--pid", target.pid, *F_ONLY, "--delay", "0")
            session.wait_active()
            round_ns(target)
            killed.kill()
            session.child.wait()
            yield "daemon killed, the field still armed", round_ns(target)
        finally:
            killed.clean_up()


def main():
    os.environ["PYTHON_JIT"] = "1"
    python = interpreters.Interpreter(sys.argv[1])
    daemon = Daemon()
    try:
        for what, ns in in_one_process(python, daemon):
            print("%-40s %6.0f ns" % (what, ns), flush=True)
    finally:
        daemon.clean_up()


if __name__ == "__main__":
    main()
