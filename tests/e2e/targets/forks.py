"""Forks while it is slowed: the children are other processes, and nobody slows them."""
import multiprocessing
import os
import subprocess
import sys
import time

from protocol import serve

calls = 0


def step(x):
    global calls
    calls += 1
    return x + 1


def work(n):
    return sum(step(i) for i in range(n))


def timed_work(n):
    begin = time.perf_counter_ns()
    answer = work(n)
    return [answer, time.perf_counter_ns() - begin]


def fork(n):
    """The child's answer and time for the same work, then the parent's."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr(timed_work(n)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        answer = eval(file.read())
    status = os.waitpid(child, 0)[1]
    return [status, answer, timed_work(n)]


def fork_and_stay(n):
    """A child that works on after the parent's session: its pid. It ends when its input does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        expected = work(n)
        while True:
            if work(n) != expected:
                os._exit(99)
            os.set_blocking(read, False)
            try:
                if os.read(read, 1) == b"":
                    os._exit(0)
            except BlockingIOError:
                pass
    os.close(read)
    os.set_inheritable(write, False)
    stays.append((child, write))
    return child


stays = []


def collect():
    statuses = []
    while stays:
        child, write = stays.pop()
        os.close(write)
        statuses.append(os.waitpid(child, 0)[1])
    return statuses


def pool(n):
    with multiprocessing.get_context("fork").Pool(4) as workers:
        return workers.map(work, [n] * 20)


def spawned(n):
    return int(subprocess.run([sys.executable, "-c", "print(sum(i + 1 for i in range(%d)))" % n],
                              stdout=subprocess.PIPE, check=True).stdout)


def take_calls():
    global calls
    taken, calls = calls, 0
    return taken


if __name__ == "__main__":
    serve({"work": work, "fork": fork, "fork_and_stay": fork_and_stay, "collect": collect, "pool": pool,
           "spawned": spawned, "take_calls": take_calls})
