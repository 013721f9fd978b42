"""Threads that are delayed at once, and a thread that signals find in a delay."""
import ctypes
import signal
import threading
import time

from protocol import serve

getppid = ctypes.CDLL(None).getppid  # without the interpreter lock
handled = 0


def step(x):
    return x + 1


def on_signal(number, frame):
    global handled
    handled += 1


def together(threads, n):
    """[nanoseconds of each of n calls of getppid in each thread, how often this one got round meanwhile]."""
    times = []

    def work():
        for _ in range(n):
            begin = time.perf_counter_ns()
            getppid()
            times.append(time.perf_counter_ns() - begin)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    rounds = 0
    while any(worker.is_alive() for worker in workers):
        rounds += 1
    return [times, rounds]


def signalled():
    """[nanoseconds of a call, signals handled by the end of it]."""
    signal.signal(signal.SIGUSR1, on_signal)
    begin = time.perf_counter_ns()
    step(1)
    return [time.perf_counter_ns() - begin, handled]


if __name__ == "__main__":
    serve(globals())
