"""Two branches side by side, what needs both of them, and a tail.

A delay of left() keeps the GIL, so that right() begins as much later: its slack is the same. A delay of right() keeps
it while left() waits without it.
"""
import queue
import work

begun, done = queue.SimpleQueue(), queue.SimpleQueue()


def left():
    work.wait("left")


def right():
    work.wait("right")


def tail():
    work.wait("tail")


def beside():
    begun.get()
    right()
    done.put(None)


def step():
    begun.put(None)
    left()
    done.get()
    tail()
    work.shadow()
    work.unit()


if __name__ == "__main__":
    work.run(lambda: work.begin_threads(work.forever(step), work.forever(beside)))
