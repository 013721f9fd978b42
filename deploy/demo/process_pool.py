#!/usr/bin/python3
"""A pool of processes, for the recipe in docs/method.md. Python 3.8 or later, standard library only.

A batch is shared among workers, and is done when the last one is. One part of each batch is larger than the others: whoever has it
is the straggler, and what is slow in the others is hidden behind it.
"""
import argparse
import multiprocessing
import time

WORKERS = 3
SMALL_SECONDS, LARGE_SECONDS = 0.004, 0.012


def small_part():
    time.sleep(SMALL_SECONDS)


def large_part():
    time.sleep(LARGE_SECONDS)


def work(is_large):
    return large_part() if is_large else small_part()


def batch_done(results):
    """A unit of work, in the process that hands out the batches."""
    return len(results)


def main(seconds):
    deadline = time.monotonic() + seconds
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        while time.monotonic() < deadline:
            batch_done(pool.map(work, [True] + [False] * (WORKERS - 1), chunksize=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    main(parser.parse_args().seconds)
