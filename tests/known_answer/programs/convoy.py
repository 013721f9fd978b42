"""Threads that queue for one lock, which is never free for long: what is done under it decides the pace.

A delay keeps the GIL, so nobody else may be in need of it meanwhile, or handing it on takes some 0.015 ms of the thread
that has the lock. held() is delayed when the thread before has just begun its wait "between", which is longer. outside()
is delayed after that wait, in the next thread's wait under the lock, and is over before that needs the GIL again.
"""
import threading
import work

lock = threading.Lock()


def held():
    work.wait("held")


def outside():
    work.wait("outside")


def step():
    with lock:
        held()
        work.shadow()
        work.unit()
    work.wait("between")
    outside()


if __name__ == "__main__":
    work.run(lambda: work.begin_threads(*[work.forever(step)] * work.parameters["threads"]))
