#!/usr/bin/python3
"""A small service, to try sbump on. Python 3.8 or later, standard library only.

Each request asks a slow device (20 ms) and, beside that wait, scores 20 items on the CPU; when both are
done it signs the reply:

    device      |------------ 20 ms -----------|
    score_item  |==========|                      20 calls a request: nearly all of the CPU time
    sign_reply                                 |=|  1 call a request: next to no CPU time

A profiler blames score_item. It is the device that requests wait for: score_item can become much slower
before any request notices, while every microsecond of sign_reply is one microsecond of each request.

Each reply is compared with the one computed at start. SIGTERM, SIGINT or --seconds ends it.
"""
import argparse
import hashlib
import json
import queue
import signal
import sys
import threading
import time

DEVICE_SECONDS = 0.020
ITEMS_PER_REQUEST = 20
DISTINCT_REQUESTS = 16
REPORT_SECONDS = 0.1


def score_item(seed):
    """The hot function: pure Python arithmetic, some 50 us a call."""
    value = seed
    for step in range(450):
        value = (value * 1103515245 + 12345 + step) & 0x7FFFFFFF
    return value


def sign_reply(scores):
    """The cool function: a few microseconds, but nothing runs beside it."""
    return hashlib.sha256(repr(scores).encode()).hexdigest()


class Device:
    """Answers after DEVICE_SECONDS, without using the CPU: stands for a GPU, a disk or a database."""

    def __init__(self):
        self._requests = queue.Queue()
        self._answers = queue.Queue()
        threading.Thread(target=self._run, daemon=True).start()

    def ask(self, number):
        self._requests.put((number, time.monotonic() + DEVICE_SECONDS))

    def answer(self):
        return self._answers.get()

    def _run(self):
        while True:
            number, ready = self._requests.get()
            time.sleep(max(0.0, ready - time.monotonic()))
            self._answers.put(number * 7 + 1)


def handle(device, number):
    device.ask(number)
    scores = [score_item(number * ITEMS_PER_REQUEST + i) for i in range(ITEMS_PER_REQUEST)]
    scores.append(device.answer())
    return sign_reply(scores)


def checksum(replies):
    return hashlib.sha256("".join(replies).encode()).hexdigest()[:16]


def serve(device, expected, deadline, stopping, report):
    """Serves until told to stop; returns how many, and how many replies were wrong."""
    served = wrong = 0
    next_report = 0.0
    while not stopping.is_set():
        number = served % DISTINCT_REQUESTS
        wrong += handle(device, number) != expected[number]
        served += 1
        now = time.monotonic()
        if now >= next_report:
            next_report = now + REPORT_SECONDS
            print(json.dumps({"unix_ns": time.time_ns(), "requests": served}), file=report, flush=True)
        if now >= deadline:
            break
    return served, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="the longest it runs (default: 120)")
    parser.add_argument("--report", default="-", help="file for one JSON line every 0.1 s (default: output)")
    arguments = parser.parse_args()

    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())

    device = Device()
    expected = [handle(device, number) for number in range(DISTINCT_REQUESTS)]
    report = sys.stdout if arguments.report == "-" else open(arguments.report, "w")
    with report:
        served, wrong = serve(device, expected, time.monotonic() + arguments.seconds, stopping, report)
        again = [handle(device, number) for number in range(DISTINCT_REQUESTS)]
        last = {"requests": served, "wrong_replies": wrong, "checksum_at_start": checksum(expected),
                "checksum_at_end": checksum(again)}
        print(json.dumps(last), file=report, flush=True)
    return 0 if wrong == 0 and again == expected else 1


if __name__ == "__main__":
    sys.exit(main())
