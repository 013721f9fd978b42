"""Calls two functions for as long as it lives, beside answering requests: a service under load."""
import os
import sys
import threading
import time

from protocol import serve

loops = 0
calls = 0
stop = False


def step(x):
    return x + 1


def aside(x):
    return x + 2


def loop(pause):
    global loops, calls
    while not stop:
        for i in range(10):
            if step(i) != i + 1 or aside(i) != i + 2:
                os._exit(99)
            calls += 1
        loops += 1
        time.sleep(pause)


def progress():
    return [loops, calls]


def timed(n):
    """Nanoseconds for n calls of step, by the program's own clock."""
    begin = time.perf_counter_ns()
    for i in range(n):
        step(i)
    return time.perf_counter_ns() - begin


def each(n):
    """Nanoseconds of each of n calls of step."""
    times = []
    for i in range(n):
        begin = time.perf_counter_ns()
        step(i)
        times.append(time.perf_counter_ns() - begin)
    return times


def call(name, n):
    function = globals()[name]
    for i in range(n):
        function(i)
    return n


def start(threads, pause):
    for _ in range(threads):
        threading.Thread(target=loop, args=(pause,)).start()


def finish():
    global stop
    stop = True
    return [loops, calls]


def leave(status):
    os._exit(status)


def execute(*command):
    os.execv(command[0], command)


if __name__ == "__main__":
    try:
        serve({"progress": progress, "timed": timed, "each": each, "call": call, "start": start, "finish": finish,
               "leave": leave, "execute": execute, "pid": os.getpid, "path": lambda: sys.path})
    finally:
        stop = True
