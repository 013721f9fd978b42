#!/usr/bin/python3
"""A thread pool, for the recipe in docs/method.md. Python 3.8 or later, standard library only.

Four threads take jobs from a queue. Each job waits for a device (8 ms), then writes its result under one lock that all of them
share (3 ms): with four threads the lock is always taken, so that it decides the pace, and the wait for the device is hidden. What a
thread computes is not: it has the GIL meanwhile, right after it has let go of the lock.
"""
import argparse
import concurrent.futures
import threading
import time

THREADS = 4
DEVICE_SECONDS, WRITE_SECONDS = 0.008, 0.003

lock = threading.Lock()


def ask_device():
    time.sleep(DEVICE_SECONDS)


def write_result():
    time.sleep(WRITE_SECONDS)


def done():
    """A unit of work."""


def job():
    ask_device()
    with lock:
        write_result()
        done()


def report():
    time.sleep(0.002)


def keep_reporting():
    while True:
        report()


def main(seconds):
    threading.Thread(target=keep_reporting, daemon=True).start()
    deadline = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        while time.monotonic() < deadline:
            for future in [pool.submit(job) for _ in range(10 * THREADS)]:
                future.result()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    main(parser.parse_args().seconds)
