"""A batch is done when the slowest of its processes is."""
import multiprocessing
import os

import work

workers = []


def straggler():
    work.wait("straggler")


def others():
    work.wait("others")


def serve(connection, function):
    work.dies_with_parent()
    while True:
        work.remove(connection.recv())
        function()
        connection.send(None)


def hire(function):
    connection, other = multiprocessing.Pipe()
    if os.fork() == 0:
        serve(other, function)
    workers.append(connection)


def step():
    for connection in workers:
        connection.send(work.removed)
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
