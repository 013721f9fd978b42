"""A queue of some places between two threads, one of which is slower.

The faster one waits for a place, or for an item: it goes on when the slower one begins its next wait, without the GIL.
So a delay of the faster one, which keeps the GIL, is over before the slower one needs it.
"""
import queue
import work

items = None


def produce():
    work.wait("produce")


def consume():
    work.wait("consume")


def shadow_of(side):
    if work.parameters["slow"] == side:
        work.shadow()


def producer():
    produce()
    shadow_of("produce")
    items.put(None)


def consumer():
    items.get()
    consume()
    shadow_of("consume")
    work.unit()


def begin():
    global items
    items = queue.Queue(work.parameters["places"])
    work.begin_threads(work.forever(producer), work.forever(consumer))


if __name__ == "__main__":
    work.run(begin)
