"""Measures sbump on each interpreter and prints the tables; see tests/bench/run."""
import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import sys
import time

from daemon_cost import fork_pool, full_house, idle_cost, memory_mb, selected_pool
from rows import Row, markdown, median, ratio_row, table
from sessions import F_ONLY, Closable, attached, started  # before the harness and the library: it says where they are
import interpreters
from graph import graph_column
from modules import module_costs, torch_costs
from harness import traces
from harness.daemon import Daemon
from harness.interpreters import with_torch
from harness.session import Session

DOSES = [("2us", 2_000), ("10us", 10_000), ("100us", 100_000), ("1ms", 1_000_000)]
SLEEPS = [("1ms", 1_000_000, 0.10), ("50ms", 50_000_000, 0.01)]  # and how far off the median may be
MANY_TARGETS = 1000
NEW_CODE = {"eval": "an eval() of new text", "exec": "an exec() of a file's text that no module has (a template's)"}


def call_costs(daemon, target, rounds):
    """f armed at dose 0, g not matched; unattached and attached rounds take turns."""
    without, during = {"f": [], "g": []}, {"f": [], "g": []}
    target.ask("batches", 20, 2000)
    for _ in range(rounds):
        for name, times in target.ask("batches", 20, 2000).items():
            without[name] += times
        with attached(daemon, target, "--delay", "0"):
            for name, times in target.ask("batches", 20, 2000).items():
                during[name] += times
    return without, during


def rows_of_call_costs(without, during):
    more_median = median(during["f"]) - median(without["f"])
    more_min = min(during["f"]) - min(without["f"])
    return [
        Row("function that does not match, unattached", "%.1f ns" % median(without["g"])),
        ratio_row("the same, while another is armed and hit", without["g"], during["g"], "1.03"),
        Row("function that matches, dose 0, per call", "+%.0f ns" % more_median, "at most +900 ns",
            more_median <= 900, "minima +%.0f ns" % more_min),
    ]


def doses(daemon, target, quick):
    """What the target's own clock says of one call, attached less unattached."""
    rows = []
    with attached(daemon, target, "--delay", "0", "--interval", "50ms") as session:
        for text, requested_ns in DOSES:
            calls = max(30, min(2000, 400_000_000 // requested_ns // (4 if quick else 1)))
            daemon.ctl("update", session.id, "--delay", "0")
            daemon.ctl("update", session.id, "--delay", text)
            with_dose = target.ask("single_calls", calls)
            rows.append((text, requested_ns, with_dose))
    plain = target.ask("single_calls", 2000)
    after_work = target.ask("calls_after_work", 2000, 100_000)
    result = [Row("without sbump: a function that 100 us of C code come before, later by",
                  "%+.0f ns" % (median(after_work) - median(plain)))]
    for text, requested_ns, with_dose in rows:
        seen_ns = median(with_dose) - median(plain)
        off_ns = seen_ns - requested_ns
        allowed_ns = max(requested_ns / 100, 300)
        result.append(Row("delay of %s, as the target's clock sees it" % text,
                          "%.2f us" % (seen_ns / 1000), "within %.0f ns" % allowed_ns,
                          abs(off_ns) <= allowed_ns,
                          "%+.0f ns; p99 %.2f us" % (off_ns, sorted(with_dose)[int(len(with_dose) * 0.99)] / 1000)))
    return result


def sleeps(daemon, target, quick):
    """The same for a thread that is held: with what of them had to spin."""
    plain = target.ask("single_calls", 2000)
    result = []
    for text, requested_ns, share in SLEEPS:
        calls = max(20, 1_000_000_000 // requested_ns // (4 if quick else 1))
        with attached(daemon, target, "--mode", "sleep", "--delay", text) as session:
            with_dose = target.ask("single_calls", calls)
        spun = sum(one["count"] for one in session.updates[-1]["skipped"])
        seen_ns = median(with_dose) - median(plain)
        result.append(Row("delay of %s with --mode sleep" % text, "%.2f us" % (seen_ns / 1000),
                          "within %.0f %%" % (share * 100), abs(seen_ns - requested_ns) <= share * requested_ns,
                          "p99 %.2f us; %d of %d spun" % (sorted(with_dose)[int(calls * 0.99)] / 1000, spun, calls)))
    return result


def hit_cost_beside_many(daemon, target, rounds):
    """What a call of f costs, armed alone and beside many others, by turns."""
    target.ask("generate", MANY_TARGETS)
    alone, beside = [], []
    for _ in range(rounds):
        with attached(daemon, target, "--delay", "0"):
            alone += target.ask("batches", 20, 2000)["f"]
        with attached(daemon, target, "--delay", "0", "--target", "generated.py:*") as session:
            target.ask("call_generated")
            beside += target.ask("batches", 20, 2000)["f"]
    hit = sum(row["calls"] != 0 for row in session.updates[-1]["targets"])
    if hit <= MANY_TARGETS:
        raise AssertionError("%d targets were hit" % hit)
    return [ratio_row("a hit beside %d other targets that are armed" % MANY_TARGETS, alone, beside, "1.10")]


def attach_times(daemon, python, rounds):
    with started(python) as target:
        alive = target.ask("grow", 7000)
        attach, stop, detach = [], [], []
        for _ in range(rounds):
            target.send("run", 0.9)
            with attached(daemon, target, "--delay", "10us") as session:
                time.sleep(0.1)
            target.answer()
            times = session.updates[-1]["times"]
            attach.append(times["attach_ns"] / 1e6)
            stop.append(times["longest_stop_ns"] / 1e6)
            detach.append(times["detach_ns"] / 1e6)
    def row(name, values, aim):
        return Row(name, "%.0f ms" % median(values), "at most %d ms" % aim, median(values) <= aim,
                   "min %.0f, max %.0f; %d code objects" % (min(values), max(values), alive))
    return [row("attach until ACTIVE, about 7,000 code objects", attach, 250),
            row("longest stop of the target meanwhile", stop, 60),
            row("detach, with its proof", detach, 300)]


def import_cost(daemon, python, rounds):
    """Cold code: fresh processes that import, by turns without and with a session that matches none of it."""
    without, during, modules = [], [], 0
    for _ in range(rounds):
        with started(python) as target:
            without.append(target.ask("import_modules")["cpu_ns"] / 1e6)
        with started(python) as target, attached(daemon, target):
            answer = target.ask("import_modules")
            during.append(answer["cpu_ns"] / 1e6)
            modules = answer["modules"]
    return [Row("importing about 300 modules meanwhile (all of it cold code)",
                "%.2fx" % (median(during) / median(without)), "", None,
                "%.0f ms to %.0f ms; %d modules" % (median(without), median(during), modules))]


def new_code_costs(daemon, target, rounds):
    """Code that is made and run once, and that no pattern takes; one pattern may be a dotted name."""
    without, during = {}, {}
    for _ in range(rounds):
        for kind in NEW_CODE:
            without.setdefault(kind, []).append(target.ask("make_and_run", kind, 300))
        with attached(daemon, target, "--delay", "0", "--target", "app.engine:step"):
            for kind in NEW_CODE:
                during.setdefault(kind, []).append(target.ask("make_and_run", kind, 300))
    return [Row(text, "+%.1f us" % ((median(during[kind]) - median(without[kind])) / 1000), "", None,
                "%.1f us to %.1f us" % (median(without[kind]) / 1000, median(during[kind]) / 1000))
            for kind, text in NEW_CODE.items()]


def other_process(daemon, python, rounds):
    """Another process of the same interpreter file, while the first one is attached and not: the best of each
    round, since nothing that others do on the machine makes it better."""
    without, during = [], []
    with started(python) as first, started(python) as other:
        for _ in range(rounds):
            without.append(min(other.ask("batches", 20, 2000)["f"]))
            with attached(daemon, first):
                during.append(min(other.ask("batches", 20, 2000)["f"]))
    return [ratio_row("another process of the same interpreter", without, during, "1.015")]


def calmly(target):
    """ns per call of f, over half a second: the end of a daemon keeps the machine busy for some ms."""
    values = []
    for _ in range(10):
        time.sleep(0.05)
        values += target.ask("batches", 10, 2000)["f"]
    return values


def after_kill(python):
    """The daemon is killed while f is armed; then a new one, on the same state directory, cleans up."""
    killed = Daemon()
    try:
        with started(python) as target:
            before = calmly(target)
            session = Session(killed, "--pid", target.pid, *F_ONLY)
            session.wait_active()
            target.ask("batches", 2, 2000)
            keepers = traces.children(killed.pid)
            killed.kill()
            begin = time.monotonic()
            session.child.wait()
            while any(traces.runs(pid) for pid in keepers):
                time.sleep(0.001)
            gone_ms = (time.monotonic() - begin) * 1e3
            armed = calmly(target)
            with contextlib.closing(Closable(Daemon(state_dir=killed.state_dir))):
                cleaned = calmly(target)
    finally:
        killed.clean_up()
    more, healed = median(armed) - median(before), median(cleaned) - median(before)
    return [Row("per call of a once-armed function, daemon killed (-9)", "%+.1f ns" % more, "at most +25 ns",
                more <= 25, "minima %+.1f ns; after a restart %+.1f ns" % (min(armed) - min(before), healed)),
            Row("from that kill until the probes are gone", "%.0f ms" % gone_ms)]


def children(daemon, python, count, request, how, name):
    with started(python) as target:
        with attached(daemon, target, "--children") as session:
            target.ask(request, count)
        made = [one for one in session.updates[-1]["processes"] if one["joined"].startswith(how)]
    # "executed; attached after 16ms"
    ms = [int(after[1]) for after in (re.search("after ([0-9]+)ms", one["joined"]) for one in made) if after]
    held = sum("before its first call" in one["joined"] for one in made)
    others = "".join("; one: %s" % one.get("end", {}).get("reason", one["state"]) for one in made if one["joined"] == how)
    return [Row(name, "%d ms, %d at most" % (median(ms), max(ms)), "within 50 ms", len(ms) == count and max(ms) <= 50,
                "%d of %d%s%s" % (len(ms), count, "; %d before their first call" % held if held else "", others))]


def measure(daemon, interpreter, quick):
    python, rounds = interpreter, 3 if quick else 9
    rows = []
    with started(python) as target:
        rows += rows_of_call_costs(*call_costs(daemon, target, rounds))
        rows += doses(daemon, target, quick)
        rows += sleeps(daemon, target, quick)
        rows += new_code_costs(daemon, target, rounds)
        rows += hit_cost_beside_many(daemon, target, rounds)
    rows += attach_times(daemon, python, rounds)
    rows += children(daemon, python, 6 if quick else 16, "fork", "forked", "a child that is forked, until attached")
    rows += children(daemon, python, 6 if quick else 16, "execute", "executed",
                     "a program that a child executes, from exec until attached")
    rows += import_cost(daemon, python, 2 if quick else 5)
    rows += other_process(daemon, python, rounds)
    rows += after_kill(python)
    rows += module_costs(daemon, python, rounds)
    return rows


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return "%s, %d processors, Linux %s, load %.1f at the start; %s" % (
        model, os.cpu_count(), platform.release(), os.getloadavg()[0], datetime.date.today())


def verdict(rows, strict):
    """The exit status."""
    missed = sum(row.met is False for row in rows)
    print("%d aims missed" % missed)
    return 1 if missed and strict else 0


def keep(options, where, tables):
    """Of each table its columns; the exit status."""
    tables = [one for one in tables if one]
    columns = [column for one in tables for column in one]
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write("%s.\n\n%s" % (where, "\n".join(map(markdown, tables))))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({title: [vars(row) for row in rows] for title, rows in columns}, file, indent=1)
    return verdict([row for _, rows in columns for row in rows], options.strict)


def models(daemon, quick):
    """Of the real torch, in each interpreter that has it: the columns."""
    columns = []
    for one in with_torch():
        title, rows = graph_column(daemon, one)
        rows += torch_costs(daemon, one, 2 if quick else 7)
        columns.append((title, rows))
        print("\n" + table("A model: %s" % title, rows), flush=True)
    return columns


def only_models(options, where):
    daemon = Daemon()
    try:
        return keep(options, where, [models(daemon, options.quick)])
    finally:
        daemon.clean_up()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--full-house", type=int, metavar="N")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--json")
    parser.add_argument("pythons", nargs="*")
    options = parser.parse_args()
    found = [interpreters.Interpreter(path) for path in options.pythons] or interpreters.find()
    found = [one for one in found if one.supported]
    where = machine()  # with the load before we make one
    print(where, flush=True)
    if options.full_house:
        rows = full_house(found[-1], options.full_house)
        print("\n" + table("CPython %s" % ".".join(map(str, found[-1].version)), rows))
        return verdict(rows, options.strict)
    if options.models:
        return only_models(options, where)
    everything = []
    daemon = Daemon()
    try:
        for one in found:
            title = "CPython %s, %s" % (".".join(map(str, one.version)), one.build)
            rows = measure(daemon, one, options.quick)
            everything.append((title, rows))
            print("\n" + table(title, rows), flush=True)
        graphs = models(daemon, options.quick)
        newest = found[-1]
        rows = idle_cost(newest, 3 if options.quick else 10)
        rows += [Row("daemon that had all the sessions above: memory", "%.0f MB" % memory_mb(daemon))]
        rows += fork_pool(newest, 16, 2) + fork_pool(newest, 64, 8) + selected_pool(newest, 63, 8)
        everything.append(("The daemon (targets: CPython %s)" % ".".join(map(str, newest.version)), rows))
        print("\n" + table(*everything[-1]), flush=True)
    finally:
        daemon.clean_up()
    return keep(options, where, [everything[:-1], graphs, everything[-1:]])


if __name__ == "__main__":
    sys.exit(main())
