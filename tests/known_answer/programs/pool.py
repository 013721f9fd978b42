"""A batch is done when the slowest of its processes is."""
import multiprocessing
import os
import time

import work

HEAD_START_S = 0.0003

workers = []


def straggler():
    work.wait("straggler")


def others():
    work.wait("others")


def serve(connection, function):
    work.dies_with_parent()
    while True:
        work.change(connection.recv())
        function()
        connection.send(None)


def hire(function):
    connection, other = multiprocessing.Pipe()
    if os.fork() == 0:
        serve(other, function)
    workers.append(connection)


def step():
    """The straggler waits, and needs no processor, before the others begin: slowed, they take all of two."""
    slowest, *quick = workers
    slowest.send(work.changed())
    time.sleep(HEAD_START_S)
    for connection in quick:
        connection.send(work.changed())
    for connection in workers:
        connection.recv()
    work.shadow()
    work.unit()


def begin():
    for function in [straggler] + [others] * work.parameters["others"]:
        hire(function)
    work.begin_threads(work.forever(step))


if __name__ == "__main__":
    work.run(begin)
