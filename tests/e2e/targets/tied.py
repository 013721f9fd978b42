"""A service whose units are done by two processes side by side, which take equally long, and then by itself: to slow either branch costs
all of it, and to slow both no more."""
import ctypes
import multiprocessing
import os
import signal
import threading
import time

from protocol import serve

stop = False
BRANCH_S = 0.003
workers = []


def left(x):
    return x + 1


def right(x):
    return x + 2


def tail(x):
    return x + 3


def step(x):
    return x + 4


def branch(function, pipe, processor):
    """On a processor of its own: two that spin on one would wait for each other."""
    os.sched_setaffinity(0, {processor})
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not longer than the service
    while pipe.recv():
        time.sleep(BRANCH_S)
        pipe.send(function(1))


def work(pipes):
    while not stop:
        for pipe in pipes:
            pipe.send(True)
        for pipe in pipes:
            pipe.recv()
        time.sleep(BRANCH_S / 3)
        tail(1)
        step(1)
    for pipe in pipes:
        pipe.send(False)


def start():
    pipes = []
    processors = sorted(os.sched_getaffinity(0))
    for function, processor in ((left, processors[0]), (right, processors[-1])):
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=branch, args=(function, there, processor))
        process.start()
        workers.append(process)
        pipes.append(here)
    workers.append(threading.Thread(target=work, args=(pipes,)))
    workers[-1].start()


def finish():
    global stop
    stop = True
    for worker in reversed(workers):
        worker.join()


if __name__ == "__main__":
    serve({"start": start, "finish": finish})
