"""The tables of docs/reliability.md, from what was tried."""
import datetime
import os
import platform

from phases import PHASES
from world import EXPERIMENT, KINDS
import support_table  # tests/lib


def markdown(ledgers, seed):
    lines = ["%s, %d processors, Linux %s, %s; seed %d." % (
        _processor(), os.cpu_count(), platform.release(), datetime.date.today(), seed), ""]
    phases = [(phase, lambda one, phase=phase: _points(one, phase)) for phase in PHASES
              if any(ledger.kills[phase] for ledger in ledgers)]
    kinds = [("in a session of kind `%s`" % kind, lambda one, kind=kind: one.kills_of_kind[kind]) for kind in KINDS]
    lines += _table("killed (-9) in", ledgers, phases + [
        ("**all points**", lambda one: sum(one.kills.values()))] + kinds + [
        ("with the keeper of the probes, or that alone", lambda one: one.both),
        ("of these: the kernel left a breakpoint, the next daemon took it", lambda one: one.breakpoints_left),
        ("**harm found**", lambda one: sum(name.startswith("kill in ") for _, name, _ in one.findings))])
    names = sorted({name for ledger in ledgers for name in ledger.upheavals})
    lines += [""] + _table("sessions with", ledgers, [
        (name, lambda one, name=name: one.upheavals[name]) for name in names] + [
        ("of kind `%s`" % kind, lambda one, kind=kind: one.upheavals_of_kind[kind]) for kind in (*KINDS, EXPERIMENT)] + [
        ("updates in force, of those that were asked for", lambda one: "%d of %d" % (one.updates_in_force, one.updates)),
        ("**harm found**", lambda one: sum(not name.startswith("kill in ") for _, name, _ in one.findings)),
        ("minutes in all", lambda one: "%.1f" % one.minutes)])
    for ledger in ledgers:
        for step, name, finding in ledger.findings:
            lines.append("\n- CPython %s, step %d (%s): %s" % (ledger.python.name, step, name, finding.splitlines()[-1]))
    return "\n".join(lines) + "\n"


def _points(ledger, phase):
    if ledger.kills[phase] == 0:
        return ""
    return "%d (%d different)" % (ledger.kills[phase], len(ledger.distinct[phase]))


def _table(title, ledgers, rows):
    heads = ["CPython " + support_table.title(one.python.name.replace(".", "_")) for one in ledgers]
    lines = ["| %s | %s |" % (title, " | ".join(heads)), "|---" * (len(ledgers) + 1) + "|"]
    return lines + ["| %s | %s |" % (name, " | ".join(str(figure(one)) for one in ledgers)) for name, figure in rows]


def _processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
