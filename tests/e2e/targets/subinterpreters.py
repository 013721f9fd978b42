"""Several interpreters in one process. Each defines and counts functions of its own."""
import ast
import os
import sys
import threading

from protocol import armed_code, is_armed, serve

# Run once in each interpreter, under a file name of its own.
SOURCE = """
counts = {}

def note(name):
    counts[name] = counts.get(name, 0) + 1

def add(x):
    note("add")
    return x + 1

def fib(n):
    note("fib")
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def items(n):
    note("items")
    for i in range(n):
        yield i

class Shape:
    def area(self, side):
        note("Shape.area")
        return side * side

def work(n):
    note("work")
    return sum(add(i) + Shape().area(i) for i in items(n)) + fib(10)
"""
NAMES = "note add fib items Shape.area work".split()

# What is run there for an answer: `result` is told, through a pipe.
ASK = """
import os
{script}
os.write({end}, repr(result).encode())
"""


class Subinterpreter:
    def __init__(self, own_gil):
        self.id = create(own_gil)

    def ask(self, script):
        end, start = os.pipe()
        try:
            execute(self.id, ASK.format(script=script, end=start))
            os.close(start)
            start = None
            with os.fdopen(os.dup(end), "rb") as answer:
                return ast.literal_eval(answer.read().decode())
        finally:
            for fd in (end, start):
                if fd is not None:
                    os.close(fd)


if sys.version_info >= (3, 13):
    import _interpreters

    def create(own_gil):
        return _interpreters.create("isolated" if own_gil else "legacy")

    def execute(number, script):
        failure = _interpreters.run_string(number, script)
        if failure is not None:
            raise RuntimeError(failure.formatted)
else:
    import _xxsubinterpreters

    def create(own_gil):
        try:
            return _xxsubinterpreters.create(isolated=own_gil)
        except TypeError:
            return _xxsubinterpreters.create()

    execute = _xxsubinterpreters.run_string

started = []


def start(n, own_gil):
    """So many more interpreters, which have `work`. The names of their files."""
    files = []
    for _ in range(n):
        interpreter = Subinterpreter(own_gil)
        files.append("sub_%d.py" % len(started))
        interpreter.ask("exec(compile(%r, %r, 'exec'))\nresult = None" % (SOURCE, files[-1]))
        started.append(interpreter)
    return files


def in_each(script):
    """Its `result` in each interpreter, all at once."""
    answers = [None] * len(started)

    def ask(i):
        answers[i] = started[i].ask(script)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(started))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def work(n):
    return in_each("result = work(%d)" % n)


def work_in_turn(n):
    """So that first calls wait for nobody but themselves."""
    return [one.ask("result = work(%d)" % n) for one in started]


def take_counts():
    """What was called in each since the last time."""
    return in_each("result = dict(counts)\ncounts.clear()")


def born(name, n):
    """New code objects of that file name in each: [answer, counts]."""
    script = ("space = {}\nexec(compile(%r, %r, 'exec'), space)\n"
              "result = [[space['work'](10) for _ in range(%d)][-1], space['counts']]" % (SOURCE, name, n))
    return [one.ask(script) for one in started]


def armed_everywhere():
    addresses = in_each("result = [id(eval(name).__code__) for name in %r]" % NAMES)
    return armed_code() + ["sub_%d.py:%s" % (i, name) for i, of_one in enumerate(addresses)
                           for name, address in zip(NAMES, of_one) if is_armed(address)]


if __name__ == "__main__":
    serve({"start": start, "work": work, "work_in_turn": work_in_turn, "take_counts": take_counts, "born": born,
           "armed_code": armed_everywhere})
