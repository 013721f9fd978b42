"""A service that computes in processes of `multiprocessing`: some of its own, and a pool of them."""
import multiprocessing
import os
import sys
from multiprocessing import forkserver, resource_tracker

import workers
from protocol import armed_code, serve
from workers import work


# ---- What runs in each process: it says who it is, and how many calls it has made in all ----

def compute(n):
    return [os.getpid(), work(n), workers.calls]


def armed(_):
    return [os.getpid(), armed_code()]


tasks = {"compute": compute, "armed": armed}


def serve_tasks(connection):
    for name, n in iter(connection.recv, None):
        connection.send(tasks[name](n))


# ---- The service ----

class Process:
    def __init__(self):
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve_tasks, args=(other,))
        self.process.start()
        other.close()

    def ask(self, name, n):
        self.connection.send((name, n))
        return self.connection.recv()

    def end(self):
        self.connection.send(None)
        self.process.join()
        return self.process.exitcode


processes = []
pools = []


def hire(count):
    """Starts so many processes: their pids."""
    new = [Process() for _ in range(count)]
    processes.extend(new)
    return [one.process.pid for one in new]


def open_pool(count):
    others = {one.pid for one in multiprocessing.active_children()}
    pools.append(context.Pool(count))
    return [one.pid for one in multiprocessing.active_children() if one.pid not in others]


def order(n):
    """Each process's own answer."""
    return [one.ask("compute", n) for one in processes]


def share(count, n):
    """The answers to so many tasks, each from whoever of the pool was free."""
    return pools[-1].map(compute, [n] * count, 1)


def armed_in_each(size):
    """What is armed, by process. Of a pool of that size all are asked until each has answered."""
    found = dict(one.ask("armed", 0) for one in processes)
    everybody = len(found) + size
    while len(found) < everybody:
        found.update(pools[-1].map(armed, range(size), 1))
    return found


def dismiss():
    """How the processes ended. Those of the pool end with it."""
    statuses = [one.end() for one in processes]
    processes.clear()
    while pools:
        pools[-1].close()
        pools.pop().join()
    return statuses


def helpers():
    """The processes that `multiprocessing` runs for itself."""
    return [pid for pid in (forkserver._forkserver._forkserver_pid, resource_tracker._resource_tracker._pid) if pid]


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    serve({"work": work, "hire": hire, "open_pool": open_pool, "order": order, "share": share,
           "armed_in_each": armed_in_each, "dismiss": dismiss, "helpers": helpers})
