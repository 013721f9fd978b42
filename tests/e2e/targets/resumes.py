"""Generators and coroutines that count each entry of their own frame; apart from these the entries with an exception
(throw() and close()), which begin at no instruction of a resumption."""
import asyncio
import json
import os
import sys

from protocol import serve

names = ("plain", "numbers", "delegates", "receives", "waits", "ticks")
entries = dict.fromkeys(names, 0)
thrown = dict.fromkeys(names, 0)


def plain(x):
    entries["plain"] += 1
    return x


def numbers(n):
    entries["numbers"] += 1
    for i in range(n):
        try:
            yield i
        except GeneratorExit:
            thrown["numbers"] += 1
            raise
        entries["numbers"] += 1


def delegates(n):
    entries["delegates"] += 1
    yield from counted(numbers(n), "delegates")


def counted(iterator, name):
    """The same, and counts for `name` what comes back."""
    while True:
        try:
            value = next(iterator)
        except StopIteration:
            return
        yield value
        entries[name] += 1


def receives():
    entries["receives"] += 1
    total = 0
    while True:
        try:
            total += yield total
            entries["receives"] += 1
        except KeyError:
            total += 100
            thrown["receives"] += 1
        except GeneratorExit:
            thrown["receives"] += 1
            return


class Turn:
    """Suspends its task once."""

    def __init__(self, name):
        self.name = name

    def __await__(self):
        yield
        entries[self.name] += 1


async def waits(n):
    entries["waits"] += 1
    for _ in range(n):
        await Turn("waits")
    return n


async def ticks(n):
    entries["ticks"] += 1
    for i in range(n):
        await Turn("ticks")


async def gathers(n):
    answers = await asyncio.gather(*(waits(i) for i in range(n)), ticks(3), ticks(3))
    return sum(answers[:n])


def run(n):
    """[answer, entries by name, those with an exception by name]: since the start."""
    total = 0
    for i in range(n):
        total += plain(i) + sum(numbers(i)) + sum(delegates(i))
        for x in numbers(5):
            if x == 2:
                break  # closed
        receiver = receives()
        next(receiver)
        receiver.send(i)
        total += receiver.throw(KeyError())
        receiver.close()
        numbers(3).close()  # never entered
        total += asyncio.run(gathers(5))
    return [total, entries, thrown]


children = {}


def have_child():
    """Forks one that waits for an order: its pid."""
    orders, to_child = os.pipe()
    from_child, answers = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(to_child)  # or it would not see the end of its parent
            os.close(from_child)
            n = int(os.read(orders, 20))
            for counts in entries, thrown:
                counts.update(dict.fromkeys(names, 0))
            os.write(answers, json.dumps(run(n)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(orders)
    os.close(answers)
    children[pid] = to_child, from_child
    return pid


def run_in_child(pid, n):
    """What run(n) answers there."""
    to_child, from_child = children.pop(pid)
    os.write(to_child, b"%d" % n)
    with os.fdopen(from_child) as answers:
        answer = json.load(answers)
    os.close(to_child)
    os.waitpid(pid, 0)
    return answer


seen_by_tool = []


def watch(event):
    """Starts a sys.monitoring tool that counts the events of suspended() in this file."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(3, "watcher")
    monitoring.register_callback(3, getattr(monitoring.events, event), lambda code, place: seen_by_tool.append(
        code.co_name) if code.co_filename == __file__ and code.co_name in ("inner", "outer") else None)
    monitoring.set_events(3, getattr(monitoring.events, event))


def watched():
    """How many since the last time."""
    count = len(seen_by_tool)
    seen_by_tool.clear()
    return count


def unwatch():
    sys.monitoring.set_events(3, 0)
    sys.monitoring.free_tool_id(3)


def inner():
    """Handles what is thrown into it, so that its answer shows where it stood."""
    x = yield "first"
    try:
        y = yield "second"
    except KeyError:
        y = "thrown"
    return x, y


def outer():
    answer = yield from inner()
    return answer


async def awaited():
    return await Turn("waits")


async def numbered():
    for i in range(3):
        await Turn("ticks")
        yield i


def finish(coroutine):
    """What it sends out, and its answer."""
    sent = []
    try:
        while True:
            sent.append(coroutine.send(None))
    except StopIteration as end:
        return [repr(sent), repr(end.value)]


def suspended():
    """Generators and coroutines that stand at each kind of suspension, and what can be asked of them and done to them
    there."""
    generator = outer()
    seen = [next(generator), generator.gi_yieldfrom.__name__, generator.send(1), generator.gi_frame.f_lineno]
    try:
        generator.throw(KeyError())
    except StopIteration as end:
        seen.append(repr(end.value))
    generator = outer()
    next(generator)
    generator.close()
    seen.append(generator.gi_frame is None)
    coroutine = awaited()
    coroutine.send(None)
    seen += [type(coroutine.cr_await).__name__, coroutine.cr_frame.f_lineno]
    try:
        coroutine.throw(ValueError())
    except ValueError:
        seen.append("ValueError")
    asynchronous = numbered()
    step = asynchronous.__anext__()
    seen += [repr(step.send(None)), type(asynchronous.ag_await).__name__]
    seen += finish(step) + finish(asynchronous.asend(None)) + finish(asynchronous.aclose())
    return seen + [sum(i * i for i in range(5)), "".join(str(i) for i in inner())]


def suspended_often(n):
    """The distinct answers."""
    return sorted({repr(suspended()) for _ in range(n)})


if __name__ == "__main__":
    serve(globals())
