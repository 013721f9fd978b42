"""What it costs to watch and slow modules of a model: of tests/e2e/targets/models.py, with the stub of torch; the tree and spans also
with the real one."""
import contextlib
import json
import tempfile

from rows import Row, median, ratio_row
from sessions import is_clean  # it says where the harness is
from harness.session import Session
from harness.spans import SPANS_OF_FORWARD
from harness.target import Target

Q_PROJ = r"re:top\.layers\.1\.attn\.q_proj$"
BLOCKS_OF_A_LARGE_MODEL = 289  # 2,614 modules


@contextlib.contextmanager
def model(python, *arguments, kind="2.13"):
    target = Target(python, "models.py", kind)
    try:
        target.ask("make", "main", *arguments)
        yield target
        target.end()
    finally:
        target.kill()


@contextlib.contextmanager
def watched(daemon, target, pattern, *options):
    session = Session(daemon, "--pid", target.pid, "--module", pattern, *options)
    try:
        session.wait_active()
        yield session
        last = session.finish()
        if not is_clean(last):
            raise AssertionError("left behind: %s" % last["end"])
    finally:
        session.kill()


def call_costs(daemon, target, rounds):
    """Rounds without and with all modules counted take turns."""
    without, during = {}, {}
    for _ in range(rounds):
        for kind, ns in target.ask("call_each", 20000).items():
            without.setdefault(kind, []).append(ns)
        with watched(daemon, target, "top*"):
            for kind, ns in target.ask("call_each", 20000).items():
                during.setdefault(kind, []).append(ns)
    def more(kind, name, most):
        ns = median(during[kind]) - median(without[kind])
        return Row(name, "+%.0f ns" % ns, "at most +%d ns" % most if most else "", ns <= most if most else None,
                   "%.0f ns to %.0f ns" % (median(without[kind]), median(during[kind])))
    return [more("module", "a call of a module (of the stub of torch) that is counted", None),
            more("object", "a call of an object that is no module, meanwhile", 800),
            ratio_row("a Python function meanwhile", without["function"], during["function"], "1.03")]


# What is timed, how often without and with hooks, and how many calls of modules are told of it.
ONE_MODULE = ("call_shaped", 10000, 1000, 1)
FORWARDS = ("forward_ns", 300, 100, SPANS_OF_FORWARD)


def span_costs(daemon, target, rounds, of, timed):
    """Each call told with shapes: by spans, and by hooks in the process that do the same work."""
    name, count, count_hooked, calls = timed
    alone, spans, hooks, objects, functions = [], [], [], ([], []), ([], [])
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(rounds):
            alone.append(target.ask(name, count))
            hooks.append(target.ask("hooked", name, count_hooked))
            before = target.ask("call_each", 10000)
            with watched(daemon, target, "top*", "--spans", scratch + "/spans.pb"):
                spans.append(target.ask(name, count))
                during = target.ask("call_each", 10000)
            for kind, lists in (("object", objects), ("function", functions)):
                lists[0].append(before[kind])
                lists[1].append(during[kind])
    told, hooked = ((median(those) - median(alone)) / calls for those in (spans, hooks))
    object_ns = median(objects[1]) - median(objects[0])
    what = "spans (of %s): " % of
    return [Row(what + "a call of a module that is told, with shapes", "+%.1f us" % (told / 1000), "at most +3.5 us", told <= 3500,
                "of %.0f ns" % (median(alone) / calls)),
            Row(what + "the same by hooks in the process", "+%.1f us" % (hooked / 1000)),
            Row(what + "against these hooks", "%.3fx" % (told / hooked), "at most 0.333x", told / hooked <= 0.333),
            Row(what + "a call of an object that is no module", "+%.0f ns" % object_ns, "at most +800 ns", object_ns <= 800),
            ratio_row(what + "a Python function meanwhile", *functions, "1.03")]


def one_slow_layer(daemon, target, rounds):
    """Against a sham run of the same pattern: the layers run the same code."""
    sham, slow = [[], [], []], [[], [], []]
    for delay, layers in (("0", sham), ("1ms", slow)) * rounds:
        with watched(daemon, target, Q_PROJ, "--delay", delay):
            for layer, ns in zip(layers, target.ask("forwards", "main", 60)):
                layer.append(ns)
    moved_us = [(median(now) - median(then)) / 1000 for now, then in zip(slow, sham)]
    twins_us = max(abs(moved_us[0]), abs(moved_us[2]))
    return [Row("1ms on one module of a layer, against a sham run of the same pattern: that layer", "%.1f us" % moved_us[1],
                "within 5 %", abs(moved_us[1] - 1000) <= 50),
            Row("the same, against that sham run: its twin layers", "%.1f us" % twins_us, "at most 10 us", twins_us <= 10)]


def large_tree(daemon, python, rounds, kind, suffix):
    with model(python, 4, BLOCKS_OF_A_LARGE_MODEL, kind=kind) as target:
        ms, modules = [], 0
        for _ in range(rounds):
            answer = daemon.ctl("modules", "--pid", target.pid, "--format", "json")
            reply = json.loads(answer.out)
            modules = len(reply["modules"])
            ms.append(int(reply["read_ns"]) / 1e6)
    return Row("the tree of a model of %d modules, without a stop%s" % (modules, suffix), "%.0f ms" % median(ms), "at most 150 ms",
               median(ms) <= 150, "min %.0f, max %.0f" % (min(ms), max(ms)))


def module_costs(daemon, python, rounds):
    with model(python) as target:
        rows = call_costs(daemon, target, rounds) + span_costs(daemon, target, rounds, "the stub of torch", ONE_MODULE)
        rows += one_slow_layer(daemon, target, rounds)
    rows.append(large_tree(daemon, python, rounds, "2.13", ""))
    return rows


def torch_costs(daemon, python, rounds):
    """The same with the real torch."""
    tree = large_tree(daemon, python, rounds, "torch", "")
    with model(python, kind="torch") as target:
        return [tree, *span_costs(daemon, target, rounds, "whole forwards", FORWARDS)]
