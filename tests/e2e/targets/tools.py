"""Turns Python's own tracing, profiling and monitoring on and off around the same work."""
import cProfile
import hashlib
import sys

from protocol import serve

calls = 0
watching = []
TOOL = 3


def step(x):
    global calls
    calls += 1
    return x + 1


def items(n):
    global calls
    calls += 1
    for i in range(n):
        yield step(i)


def work(n):
    return sum(items(n)) + sum(step(i) for i in range(n))


def take_calls():
    global calls
    taken, calls = calls, 0
    return taken


def is_ours(code):
    return code.co_filename == __file__ and code.co_name in ("step", "items", "work")


def with_trace(set_tool, n):
    """The answer, and a digest of every event that the tool saw."""
    digest = hashlib.sha1()

    def tool(frame, event, argument):
        if is_ours(frame.f_code):
            digest.update(("%s:%s:%d" % (event, frame.f_code.co_name, frame.f_lineno)).encode())
        return tool

    set_tool(tool)
    try:
        answer = work(n)
    finally:
        set_tool(None)
    return [answer, digest.hexdigest()]


def settrace(n):
    return with_trace(sys.settrace, n)


def setprofile(n):
    return with_trace(sys.setprofile, n)


def profile(n):
    """The answer, and cProfile's count of calls."""
    profiler = cProfile.Profile()
    profiler.enable()
    answer = work(n)
    profiler.disable()
    return [answer, sum(one.callcount for one in profiler.getstats()
                        if getattr(one.code, "co_filename", "") == __file__ and one.code.co_name == "step")]


def watch(event, disable):
    """Starts a sys.monitoring tool on PY_START or LINE."""
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(TOOL, "watcher")

    def callback(code, place):
        if is_ours(code) and code.co_name == "step":
            watching.append(place)
        return sys.monitoring.DISABLE if disable else None

    sys.monitoring.register_callback(TOOL, getattr(events, event), callback)
    sys.monitoring.set_events(TOOL, getattr(events, event))


def unwatch():
    sys.monitoring.set_events(TOOL, 0)
    sys.monitoring.free_tool_id(TOOL)
    return seen()


def seen():
    """What the tool saw since the last time."""
    count = len(watching)
    watching.clear()
    return count


if __name__ == "__main__":
    serve({"work": work, "take_calls": take_calls, "settrace": settrace, "setprofile": setprofile, "profile": profile,
           "watch": watch, "unwatch": unwatch, "seen": seen})
