"""Threads that queue for one lock, which is never free for long: what is done under it decides the pace.

outside() is called after a wait: its delay, which keeps the GIL, falls into the wait of the next thread under the lock,
and is over before that needs the GIL again. Right after the lock is given away it would hold up that thread's begin.
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
