"""A service whose truth is known: each unit of work waits for two things that happen side by side. One of them takes longer, so
that what the other does is hidden, up to the slack; what comes afterwards is critical."""
import os
import random
import sys
import threading
import time

from protocol import serve

stop = False
units = 0
spread = 0
slower = 1
log = None  # gets a line of five bytes for each unit
begun, done = threading.Event(), threading.Event()

LONG_S, SHORT_S, MANY_S = 0.002, 0.0005, 0.015


def critical(x):
    return x + 1


def hidden(x):
    return x + 2


def idle(x):
    return x + 3


def step(x):
    return x + 4


def beside():
    while True:
        begun.wait()
        begun.clear()
        if stop:
            return
        time.sleep(SHORT_S * slower)
        hidden(1)
        done.set()


def work():
    global units
    while not stop:
        begun.set()
        time.sleep(LONG_S * slower * random.uniform(1 - spread, 1 + spread))
        critical(1)
        done.wait()
        done.clear()
        step(1)
        units += 1
        if log:
            log.write(b"did1\n")
    begun.set()


def start(log_file=None, noise=0, times_slower=1):
    """`noise`: how much longer or shorter the first part takes each time, at most. `times_slower`: both parts."""
    global log, slower, spread
    slower, spread = times_slower, noise
    log = log_file and open(log_file, "ab", buffering=0)
    for loop in (work, beside):
        thread = threading.Thread(target=loop)
        thread.daemon = True
        thread.start()


def work_side_by_side():
    """A part of a service whose workers each make all of a unit, and wait most of the time."""
    global units
    while not stop:
        time.sleep(MANY_S)
        critical(1)
        step(1)
        units += 1
        log.write(b"did1\n")


def start_many(workers, log_file):
    global log
    log = open(log_file, "ab", buffering=0)
    for _ in range(workers):
        threading.Thread(target=work_side_by_side, daemon=True).start()


def beget(after_s, for_s):
    """A process that does nothing and ends."""
    def later():
        time.sleep(after_s)
        pid = os.fork()
        if pid == 0:
            time.sleep(for_s)
            os._exit(0)
        os.waitpid(pid, 0)

    threading.Thread(target=later).start()


def finish():
    global stop
    stop = True
    return units


if __name__ == "__main__":
    serve({"start": start, "start_many": start_many, "finish": finish, "units": lambda: units, "idle": idle, "beget": beget})
