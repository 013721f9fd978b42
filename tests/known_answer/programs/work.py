"""What the programs share: work of known length, units of it and their pace, and what is really taken away. Runs on
CPython 3.8 to 3.15.

A wait gives the GIL away, as a reply from elsewhere or a device does: a thread that is delayed, and keeps the GIL, does
not make another's wait longer. A burn lasts until its thread has had so much of a processor, however busy the machine
is.
"""
import ctypes
import os
import signal
import threading
import time

from protocol import serve

PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
SPIN_S = 0.0002  # the last part of an exact wait

parameters = {}
lengths = {}  # of each function's work, in seconds
removed = {}  # of them, what is really taken away from each call
delays = {}  # of functions, for how many nanoseconds each call is held up by the program itself
last_unit = (0, 0)  # its number, and when it began (perf_counter_ns)


def null():
    """Called where slowing it changes nothing."""


def unit():
    global last_unit
    last_unit = (last_unit[0] + 1, time.perf_counter_ns())


# ---- Work ----

def length(name):
    return lengths[name] - removed.get(name, 0)


def delay(name):
    """As a probe at the begin of a call does it: its thread keeps a processor and the GIL. All of it is one call within C,
    in which CPython does not ask whether another thread wants the GIL."""
    if name in delays:
        end = time.perf_counter_ns() + delays[name]
        next(filter(end.__le__, iter(time.perf_counter_ns, None)))


def wait(name):
    delay(name)
    time.sleep(length(name))


def burn(name):
    delay(name)
    end = time.thread_time_ns() + int(1e9 * length(name))
    while time.thread_time_ns() < end:
        pass


def wait_exactly(name):
    """Only for programs of one thread: its end keeps the GIL."""
    delay(name)
    _until(time.perf_counter() + length(name))


def do(name):
    """What the draw says that this function's work is like."""
    KINDS[parameters["kinds"][name]](name)


KINDS = {"burn": burn, "wait": wait_exactly}


def shadow():
    """An external wait, begun before null() is called: that is over long before, even when it is slowed. The end is
    exact, so that it is all the same whether the processor slept meanwhile. That keeps the GIL for a moment: nobody
    else is in a hurry then."""
    end = time.perf_counter() + lengths["shadow"]
    null()
    _until(end)


def _until(end):
    left = end - time.perf_counter()
    if left > SPIN_S:
        time.sleep(left - SPIN_S)
    spin_until(end)


def spin_until(end):
    while time.perf_counter() < end:
        pass


def begin_bystander():
    """For programs in which somebody always needs the loop: null() is called in a process beside this one."""
    if os.fork() == 0:
        dies_with_parent()
        while True:
            wait("bystander")
            null()


def dies_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# ---- What the process is told ----

def take(drawn):
    parameters.update(drawn)
    lengths.update(drawn["lengths"])


def begin_threads(*loops):
    for loop in loops:
        thread = threading.Thread(target=loop)
        thread.daemon = True
        thread.start()


def forever(step):
    def loop():
        while True:
            step()
    return loop


def change(what):
    """Each {function: of a call}: of the others nothing is removed, and they are not held up."""
    for kept, now in ((removed, what["removed_s"]), (delays, what["delays_ns"])):
        kept.clear()
        kept.update(now)


def changed():
    """For change(), in another process."""
    return {"removed_s": removed, "delays_ns": delays}


def pace(washout_s, window_s):
    """Nanoseconds of a unit, from the last one before the window to the last in it; None where there was none."""
    time.sleep(washout_s)
    first, begin = last_unit
    time.sleep(window_s)
    last, end = last_unit
    return (end - begin) / (last - first) if last > first else None


def run(begin):
    """Serves; `begin` starts the work when the parameters are there. A daemon thread of a program that ends is of no
    concern."""
    def start(drawn):
        take(drawn)
        if "bystander" in lengths:
            begin_bystander()
        begin()

    # Waits are as long as they say, not 50 us longer; threads inherit that.
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    serve({"start": start, "change": change, "pace": pace, "units": lambda: last_unit[0]})
