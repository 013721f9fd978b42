"""Makes code while it runs: functions by exec, closures, modules by the hundred. Counts its own calls."""
import importlib
import sys
import threading
import time

from protocol import serve

SOURCE = """
def plain(x):
    seen.append("plain")
    return x + 1

def loops(n):
    seen.append("loops")
    total = 0
    for i in range(n):
        total += i
    return total

def generates(n):
    seen.append("generates")
    for i in range(n):
        yield i

class Born:
    def method(self):
        seen.append("Born.method")
        return 3

    @staticmethod
    def still():
        seen.append("Born.still")
        return 4

def outer():
    seen.append("outer")
    def inner():
        seen.append("outer.<locals>.inner")
        return 5
    return inner()
"""


def born(name, n):
    """New functions of that file name, called n times each from their first call on: [answer, counts]."""
    seen = []
    space = {"seen": seen, "__name__": name}
    exec(compile(SOURCE, name, "exec"), space)
    total = 0
    for i in range(n):
        total += space["plain"](i) + space["loops"](50) + sum(space["generates"](5))
        total += space["Born"]().method() + space["Born"].still() + space["outer"]()
    return [total, {one: seen.count(one) for one in sorted(set(seen))}]


def churn(seconds, threads):
    """Code objects by the thousand that live for a moment. Their number of calls, all of one name."""
    source = "def passing(x):\n    return x + 1\nresult = sum(passing(i) for i in range(3))\n"
    end = time.monotonic() + seconds
    counts = []

    def work():
        calls = 0
        while time.monotonic() < end:
            space = {}
            exec(compile(source, "churned.py", "exec"), space)
            assert space["result"] == 6
            calls += 3
            def closure(y, calls=calls):
                return y + calls
            assert closure(1) == calls + 1
        counts.append(calls)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts)


def evaluate(n):
    """Each is compiled anew."""
    return sum(eval("1 + 1") for _ in range(n))


kept = []


def keep(n):
    """New functions that stay, each called once."""
    for i in range(n):
        space = {}
        exec(compile("def kept_%d():\n    return 1\n" % i, "kept.py", "exec"), space)
        kept.append(space["kept_%d" % i])
    return sum(one() for one in kept)


def import_all(directory, names):
    """Imports the modules and calls what they hold: [answer, {file: {name: calls}}]."""
    sys.path.insert(0, directory)
    importlib.invalidate_caches()
    total = 0
    counts = {}
    for name in names:
        module = importlib.import_module(name)
        total += module.run()
        counts[module.__file__] = {one: module.seen.count(one) for one in sorted(set(module.seen))}
    return [total, counts]


def answer(n):
    return sum(i * i for i in range(n))


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)
    serve({"born": born, "churn": churn, "keep": keep, "evaluate": evaluate, "import_all": import_all, "answer": answer})
