"""A service of 30 modules of which 3 decide its pace: they are called one after the other by the thread that does the work. The others
are called by a thread beside it, while the work waits for something that takes longer."""
import importlib
import pathlib
import queue
import sys
import tempfile
import threading
import time

from protocol import serve

CRITICAL = (3, 14, 22)
WAIT_S = 0.004

SOURCE = """
def helper(x):
    return x + {number}


class Part:
    def run(self, x):
        return helper(x)


part = Part()


def work(x):
    return part.run(x)
"""

stop = False
units = 0
begun, done = queue.SimpleQueue(), queue.SimpleQueue()  # in C: nothing else is called
modules = []


def load():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="thirty-"))
    package = directory / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(30):
        (package / ("part_%02d.py" % number)).write_text(SOURCE.format(number=number))
    sys.path.insert(0, str(directory))
    modules.extend(importlib.import_module("shop.part_%02d" % number) for number in range(30))
    return str(directory)


def step(x):
    return x + 1


def beside():
    while begun.get():
        for number, module in enumerate(modules):
            if number not in CRITICAL:
                module.work(number)
        done.put(None)


def service():
    global units
    while not stop:
        begun.put(True)
        time.sleep(WAIT_S)
        for number in CRITICAL:
            modules[number].work(number)
        done.get()
        step(1)
        units += 1
    begun.put(False)


def start():
    directory = load()
    for loop in (service, beside):
        thread = threading.Thread(target=loop)
        thread.daemon = True
        thread.start()
    return directory


def finish():
    global stop
    stop = True
    return units


if __name__ == "__main__":
    serve({"start": start, "finish": finish, "units": lambda: units})
