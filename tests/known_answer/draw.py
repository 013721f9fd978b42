"""One draw: an experiment on its program, then the real thing, and the record of both."""
import dataclasses
import json
import pathlib
import random

import families
from case import NULL
from harness.daemon import Daemon
from harness.target import Target
import real
from records import kept_of_result

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
WARM_UP_S = 1
TOO_SMALL = 12  # sbumpctl's exit status, where a budget holds too few blocks
WASHOUT_S = 0.1
KEPT_OF_PLAN = ("blocks", "window_ns", "washout_ns", "unit_ns", "variation", "lag1", "seed", "warnings")


@dataclasses.dataclass
class Effort:
    budget_s: float = 60   # of the experiment
    window_s: float = 0.4  # of what is really changed
    blocks: int = 10
    runs: pathlib.Path = None  # a folder for the experiments' .sbump files


SHORT = Effort(budget_s=45, window_s=0.3, blocks=4)


def seconds_at_most(effort):
    """After which something hangs."""
    return 60 + 3 * effort.budget_s + 16 * effort.blocks * (effort.window_s + WASHOUT_S)


def drawn(family, seed):
    return families.draw(family, random.Random("%d %s" % (seed, family)))


def run(python, family, seed, effort):
    """The record, but for where and when."""
    case = drawn(family, seed)
    daemon = Daemon()
    try:
        target = Target(python, PROGRAMS / case.program)
        try:
            return _measured(case, seed, daemon, target, effort)
        finally:
            target.kill()
    finally:
        daemon.clean_up()


def _measured(case, seed, daemon, target, effort):
    target.ask("start", case.parameters)
    if target.ask("pace", WARM_UP_S, effort.window_s) is None:
        raise AssertionError("the program does no work")
    plan, results = sweep(case, seed, daemon, target, effort)
    own_delays = delays_like(case, plan, results)
    unit_ns, gains = really_change(case, own_delays, random.Random(seed), target, effort)
    target.end()
    return {
        "seed": seed, "family": case.family, "parameters": case.parameters, "plan": plan, "unit_ns": unit_ns,
        "functions": [_function(one, results.get(one.name), own_delays.get(one.name), gains) for one in case.functions],
    }


def _function(function, result, own_delay_ns, gains):
    record = {"name": function.name, "kind": function.kind, "removed_ns": 1e9 * function.removed_s,
              "truth": {"criticality": function.criticality, "calls": function.calls, "gain": function.gain,
                        "verdict": function.verdict},
              "measured": kept_of_result(result)}
    if (LESS, function.name) in gains:
        record["real"] = dict(zip(("gain", "low", "high"), gains[LESS, function.name]))
    if own_delay_ns:
        cost = real.cost(gains[LATER, function.name])
        record["own_delay"] = {"delay_ns": own_delay_ns, **dict(zip(("cost", "low", "high"), cost))}
    return record


# ---- The experiment ----

def sweep(case, seed, daemon, target, effort):
    """What is kept of the plan and of all of it, and the results by name. Where the machine is so busy that its budget holds too few
    blocks it has twice as much."""
    output = ["-o", effort.runs / ("%d.sbump" % seed)] if effort.runs else []
    answer = _answer(case, seed, daemon, target, effort.budget_s, output)
    if answer.code == TOO_SMALL and "budget" in answer.err:
        answer = _answer(case, seed, daemon, target, 2 * effort.budget_s, output)
    messages = [json.loads(line) for line in answer.out.splitlines()]
    plan = next((message["plan"] for message in messages if "plan" in message), {})
    last = messages[-1] if messages else {}
    if answer.code != 0 or "results" not in last or last["partial"]:
        raise AssertionError("the experiment came to no end, status %d: %s" % (answer.code, last_line(answer.err)))
    kept = {key: plan.get(key) for key in KEPT_OF_PLAN}
    kept["steal_share"] = last["steal_share"]
    return kept, {result["name"]: result for result in last["results"]}


def last_line(text):
    return (text.splitlines() or [""])[-1]


def _answer(case, seed, daemon, target, budget_s, output):
    groups = ["--group=%s=*/%s:%s" % (one.name, one.file or case.program, one.name) for one in case.functions]
    # The control is off: of tasks side by side a unit's own delay costs each a part, as it should.
    return daemon.ctl("sweep", "--pid", target.pid, "--metric", "calls:*/work.py:unit", *groups, "--budget",
                      "%gs" % budget_s, "--top-share", case.top_percent, "--seed", seed + 1, "--max-stop", "1s",
                      "--no-controls", "--yes", "--format", "json", *output, *case.options, seconds=30 + budget_s)


# ---- The real thing ----

LESS, LATER = "less", "later"  # arms: time is taken away from a function's calls, or the program holds them up itself


def delays_like(case, plan, results):
    """{function: of each call, in nanoseconds}: the experiment's largest dose. Of those whose cost is in proportion to it."""
    top_ns = case.top_percent / 100 * plan["unit_ns"]
    calls = {one.name: results[one.name]["hits_per_unit"] for one in case.functions
             if one.kind != NULL and one.straight and one.name in results}
    return {name: round(top_ns / each) for name, each in calls.items() if each > 0}


def really_change(case, own_delays, chance, target, effort):
    """As real.gains(), of arms of two."""
    changes = {real.BASE: _change()}
    changes.update({(LESS, one.name): _change(removed_s={one.name: one.removed_s}) for one in case.functions if one.kind != NULL})
    changes.update({(LATER, name): _change(delays_ns={name: delay_ns}) for name, delay_ns in own_delays.items()})
    return real.gains([[(arm, _pace(changes[arm], target, effort)) for arm in order]
                       for order in real.orders(list(changes), effort.blocks, chance)])


def _change(removed_s=None, delays_ns=None):
    return {"removed_s": removed_s or {}, "delays_ns": delays_ns or {}}


def _pace(change, target, effort):
    target.ask("change", change)
    return target.ask("pace", WASHOUT_S, effort.window_s)
