"""A process that does at random what processes do, while its threads compute the same answers again and again.

Runs on CPython 3.8 to 3.15. What it computes comes from tests/e2e/targets.
"""
import ctypes
import dis
import gc
import importlib
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
import types

import births
import calls
import protocol
import tools

MODULES = ["colorsys", "textwrap", "fractions", "shlex", "sched", "quopri", "calendar", "html"]
MB = 1 << 20


def step(x):
    return x + 1


def aside(x):
    return x + 2


class Workers:
    """Compute and compare in the background; `with workers.paused():` keeps them still for a moment."""

    def __init__(self, count):
        self.answer = calls.work(3)
        self.computed = 0
        self.wrong = 0
        self.ended = False
        self.may_run = threading.Event()
        self.may_run.set()
        self.turns = [threading.Lock() for _ in range(count)]
        for turn in self.turns:
            threading.Thread(target=self._compute, args=(turn,), daemon=True).start()

    def _compute(self, turn):
        while not self.ended:
            self.may_run.wait()
            with turn:
                self.wrong += calls.work(3) != self.answer
                self.computed += 1
                step(self.computed)

    def __enter__(self):
        self.may_run.clear()
        for turn in self.turns:
            turn.acquire()

    def __exit__(self, *error):
        for turn in self.turns:
            turn.release()
        self.may_run.set()


workers = None


class Lodger:
    """A forked process that stays: a session with --children is on it, too."""

    def __init__(self):
        question, answer = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(question[0], 0), os.dup2(answer[1], 1)
            for fd in (*question, *answer):
                os.close(fd)
            self._live()
        os.close(question[0]), os.close(answer[1])
        self.question, self.answer = question[1], open(answer[0])

    def _live(self):
        """The parent's other threads are none of its own."""
        global workers
        expected, workers, status = workers.answer, Workers(0), 3
        try:
            while os.read(0, 1):
                call_all()
                said = {"right": calls.work(3) == expected, "armed": protocol.armed_code(), "speed": speed(),
                        "bytecode": bytecode()}
                os.write(1, json.dumps(said).encode() + b"\n")
            status = 0
        finally:
            os._exit(status)

    def ask(self):
        os.write(self.question, b"?")
        line = self.answer.readline()
        if not line:
            raise AssertionError("the forked process ended with status %d" % os.waitpid(self.pid, 0)[1])
        return dict(json.loads(line), pid=self.pid)

    def end(self):
        os.close(self.question)
        self.answer.close()
        return os.waitpid(self.pid, 0)[1]


lodger = None


# ---- Deeds: each returns something that never changes ----

def imports(chance):
    name = chance.choice(MODULES)
    sys.modules.pop(name, None)
    return importlib.import_module(name).__name__ == name


def forks(chance):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if gives_birth(None) and sum(calls.add(i) for i in range(50)) == 1275 else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1]


def lodges(chance):
    """Another than the one before."""
    global lodger
    status = lodger.end() if lodger else 0
    lodger = Lodger()
    return status


def executes(chance):
    return subprocess.run([sys.executable, "-I", "-S", "-c", "print(6 * 7)"], stdout=subprocess.PIPE,
                          check=True).stdout.strip() == b"42"


def gives_birth(chance):
    number = 0 if chance is None else chance.randrange(1000)
    return births.born("born_%d.py" % number, 20)


def forgets(chance):
    """Code objects that live for a moment, by the hundred."""
    births.churn(0.02, 1)
    return gc.collect() >= 0


def is_traced(chance):
    return tools.settrace(20)


def is_profiled(chance):
    return tools.setprofile(20) + tools.profile(20)


def is_monitored(chance):
    if sys.version_info < (3, 12):
        return 0
    tools.watch("LINE", False)
    try:
        tools.work(5)
    finally:
        tools.unwatch()
    return tools.work(5)


def runs_out_of_memory(chance):
    """Each allocation fails at some time, and calls go on meanwhile."""
    with workers:
        before = resource.getrlimit(resource.RLIMIT_AS)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        hoard, failed, total = [], False, 0
        resource.setrlimit(resource.RLIMIT_AS, (used + 8 * MB, before[1]))
        try:
            for i in range(64):
                hoard.append(bytearray(MB))
                total = calls.add(i)
        except MemoryError:
            failed = True
            total = calls.add(62)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        return [failed, total]


def asks_the_kernel(chance):
    return len({os.getppid() for _ in range(20)})


def starts_threads(chance):
    return calls.run(2, 4)


DEEDS = [imports, forks, lodges, executes, asks_the_kernel, gives_birth, forgets, runs_out_of_memory, starts_threads]
# From 3.12 on these write what sbump writes, too: often enough without them, that it is alone with its marks.
TOOLS = [is_traced, is_profiled, is_monitored]
first = {}


def turmoil(seed, seconds):
    """Deeds at random for so long. Those whose result was not what it was the first time, and what was done."""
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    deeds = DEEDS + TOOLS if chance.random() < 0.5 else DEEDS
    done, differs = {}, []
    while True:
        deed = chance.choice(deeds)
        result = deed(chance)
        if result != first[deed.__name__]:
            differs.append("%s: %r instead of %r" % (deed.__name__, result, first[deed.__name__]))
        done[deed.__name__] = done.get(deed.__name__, 0) + 1
        if time.monotonic() > end:
            return {"differs": differs, "done": done}


def prepare(threads):
    """Before anything is attached: what every deed and answer must be from then on."""
    global workers
    workers = Workers(threads)
    for deed in DEEDS + TOOLS:
        first[deed.__name__] = deed(random.Random(0))
    return answers()


def answers():
    """Checksums that never change, and how often a thread computed another one."""
    every = [calls.run(5, 2), births.born("born_answers.py", 10), tools.work(10), gives_birth(None)]
    return {"checksums": every, "wrong": workers.wrong}


def computed():
    return workers.computed


def ns_per_call(function):
    """By this thread's own clock: what others do on the machine is not in it. The lower quartile of many batches, and not
    the best one: in a virtual machine that clock can leave out a part of one (seen: 19 ns a call instead of 65)."""
    batches = []
    for _ in range(60):
        begin = time.thread_time_ns()
        for i in range(200):
            function(i)
        batches.append(time.thread_time_ns() - begin)
    return sorted(batches)[len(batches) // 4] / 200


def meter():
    """The loop above as code of its own: where one loop calls several functions, CPython makes it fast for one of them, and
    its JIT leaves the others slow now and then, for ever (3.15: 46 instead of 17 ns in 2 of 507 untouched processes)."""
    return types.FunctionType(ns_per_call.__code__.replace(), globals())


meter_of_step, meter_of_aside = meter(), meter()


def both_speeds():
    return [meter_of_step(step), meter_of_aside(aside)]


def bytecode():
    """What CPython has made of the functions whose speed is told, for a finding that one is slow."""
    if sys.version_info < (3, 11):
        return None
    codes = {"step": step, "aside": aside, "meter_of_step": meter_of_step, "meter_of_aside": meter_of_aside}
    return {name: " ".join(one.opname for one in dis.get_instructions(function, adaptive=True))
            for name, function in codes.items()}


def speed():
    with workers:
        return both_speeds()


def armed_code():
    """gc.get_objects() hands out a tuple that a thread is still filling, which ends that thread with a SystemError."""
    with workers:
        return protocol.armed_code()


def call_all():
    tools.work(3), calls.work(3), births.born("born_answers.py", 1), both_speeds()


def settle():
    """Calls what CPython's own tools have marked: on 3.12 and later their marks go at the next call."""
    with workers:
        call_all()
    return gives_birth(None) == first["gives_birth"]


def ask_lodger():
    return lodger.ask() if lodger else None


def end_lodger():
    """Its status."""
    global lodger
    leaver, lodger = lodger, None
    return leaver.end() if leaver else 0


def execute(status):
    """The next program in this process."""
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "raise SystemExit(%d)" % status])


def leave(status):
    os._exit(status)


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(1, 9)  # its own children have a parent that ends with the test
    sys.setswitchinterval(0.0005)
    try:
        protocol.serve({"prepare": prepare, "turmoil": turmoil, "answers": answers, "computed": computed, "speed": speed, "bytecode": bytecode,
                        "settle": settle, "execute": execute, "leave": leave, "armed_code": armed_code,
                        "ask_lodger": ask_lodger, "end_lodger": end_lodger})
    finally:
        if workers:
            workers.ended = True
