"""Calls of every kind, counted by the program itself: what a session says is compared with these counts."""
import asyncio
import collections
import sys
import threading

from protocol import serve

tallies = []


class Tally(threading.local):
    """A count per thread: adding to a shared one would lose calls."""

    def __init__(self):
        self.calls = collections.defaultdict(int)
        tallies.append(self.calls)


tally = Tally()


def add(x):
    tally.calls["add"] += 1
    return x + 1


def beside(x):
    tally.calls["beside"] += 1
    return x * 2


def fib(n):
    tally.calls["fib"] += 1
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def depth(n):
    tally.calls["depth"] += 1
    return 0 if n == 0 else 1 + depth(n - 1)


def numbers(n):
    tally.calls["numbers"] += 1
    for i in range(n):
        yield i


def delegates(n):
    tally.calls["delegates"] += 1
    yield from numbers(n)
    return n


def receives():
    tally.calls["receives"] += 1
    total = 0
    while True:
        try:
            total += yield total
        except KeyError:
            total += 100


def fails(x):
    tally.calls["fails"] += 1
    if x % 3 == 0:
        raise ValueError(x)
    return x


async def leaf(x):
    tally.calls["leaf"] += 1
    await asyncio.sleep(0)
    return x


async def ticks(n):
    tally.calls["ticks"] += 1
    for i in range(n):
        yield await leaf(i)


async def gathers(n):
    tally.calls["gathers"] += 1
    total = sum(await asyncio.gather(*(leaf(i) for i in range(n))))
    async for i in ticks(n):
        total += i
    return total


class Shape:
    def __init__(self, side):
        tally.calls["Shape.__init__"] += 1
        self.side = side

    def area(self):
        tally.calls["Shape.area"] += 1
        return self.side * self.side

    @property
    def size(self):
        tally.calls["Shape.size"] += 1
        return self.side

    @staticmethod
    def zero():
        tally.calls["Shape.zero"] += 1
        return 0

    @classmethod
    def unit(cls):
        tally.calls["Shape.unit"] += 1
        return cls(1)

    def __del__(self):
        tally.calls["Shape.__del__"] += 1

    def __enter__(self):
        tally.calls["Shape.__enter__"] += 1
        return self

    def __exit__(self, *error):
        tally.calls["Shape.__exit__"] += 1
        return True


def encloses(x):
    tally.calls["encloses"] += 1

    def inner(y):
        tally.calls["encloses.<locals>.inner"] += 1
        return x + y

    return inner


def arguments(a, b=2, *rest, c, **more):
    tally.calls["arguments"] += 1
    return a + b + sum(rest) + c + sum(more.values())


def work(n):
    """The same answer each time."""
    total = 0
    for i in range(n):
        total += add(i) + beside(i) + arguments(i, 1, 2, c=3, d=4)
        try:
            total += fails(i)
        except ValueError:
            total += 1
        with Shape(i) as shape:
            total += shape.area() + shape.size + Shape.zero() + Shape.unit().side
            fails(0)
        total += encloses(i)(i)
    total += fib(12) + depth(100) + sum(numbers(n)) + sum(delegates(n)) + sum(map(add, range(n)))
    receiver = receives()
    next(receiver)
    for i in range(10):
        total += receiver.send(i)
    total += receiver.throw(KeyError())
    receiver.close()
    for i in numbers(5):  # left unfinished
        break
    return total + asyncio.run(gathers(20))


def run(n, threads):
    """`work` in so many threads at once, this one among them; the sum of their answers."""
    answers = []
    workers = [threading.Thread(target=lambda: answers.append(work(n))) for _ in range(threads - 1)]
    for worker in workers:
        worker.start()
    answers.append(work(n))
    for worker in workers:
        worker.join()
    assert len(answers) == threads
    return sum(answers)


looping = []
wrong = []


def start_looping(threads):
    """Calls and compares, in the background, for as long as it is wanted."""
    expected = work(3)

    def loop():
        while looping:
            looping_over(expected)

    looping[:] = [threading.Thread(target=loop) for _ in range(threads)]
    for worker in list(looping):
        worker.start()


def looping_over(expected):
    if work(3) != expected:
        wrong.append(1)


def stop_looping():
    """How often an answer was wrong."""
    workers = list(looping)
    looping.clear()
    for worker in workers:
        worker.join()
    return len(wrong)


def take_counts():
    """The counts since the last time, over all threads."""
    total = collections.Counter()
    for calls in tallies:
        total.update(calls)
        calls.clear()
    return total


def generators_never_started(n):
    for i in range(n):
        numbers(i)
        receives().close()
    return n


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)
    serve({"run": run, "start_looping": start_looping, "stop_looping": stop_looping,
           "take_counts": take_counts, "generators_never_started": generators_never_started})
