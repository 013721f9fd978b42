"""Loaders that read ahead, and a device that is given the next batch while it computes one.

The device is a clock: it is busy until some moment, whoever holds the GIL. Either it limits the pace, and loading and
launching are hidden, or the loaders do: of each second in one of them the pace has one, divided by their number.
"""
import queue
import time

import work

batches = None
done_at = [0, 0]  # the batch before the last one, and the last one


def load():
    work.wait("load")


def launch():
    work.wait("launch")


def loader():
    load()
    batches.put(None)


def submit():
    done_at[:] = [done_at[1], max(time.perf_counter(), done_at[1]) + work.lengths["device"]]


def step():
    batches.get()
    launch()
    submit()
    work.null()
    time.sleep(max(0, done_at[0] - time.perf_counter()))
    work.unit()


def begin():
    global batches
    batches = queue.Queue(work.parameters["depth"])
    work.begin_threads(work.forever(step), *[work.forever(loader)] * work.parameters["loaders"])


if __name__ == "__main__":
    work.run(begin)
