"""Writes a run whose names and texts would like to be markup, with seven groups, stalls and flawed windows: of one experiment,
or of several.

    hostile_run.py OUT.sbump [EXPERIMENTS]
"""
import json
import random
import sys

NAMES = ["<script>alert(1)</script>", "a\"b'c & d\n\u202e evil \x1b[31m", "AVeryLongNameWithoutAnyBreak_" * 12,
         "日本語の関数 *:Engine.step", "\uffff\ufffe]]>", "<img src=http://evil.example/x.png>", "javascript:alert(1)"]
CRITICALITIES = [1, 0.5, 0, 0.02, 1.4, -0.3, 0.9]
DOSES_NS = (1000, 2000, 4000)


def arms():
    made = [{"kind": "SHAM", "delay_ns": ["0"] * 7}]
    for group in range(7):
        for dose_ns in DOSES_NS:
            made.append({"kind": "DOSE", "delay_ns": [str(dose_ns * (i == group)) for i in range(7)]})
    return made + [{"kind": "BARE"}]


def header():
    return {"sbump": 1, "version": "<b>9</b>", "unix_ns": "1795738165600000000", "host": "h<i>",
            "kernel": "Linux </style><script>", "cpu": "x" * 300, "processors": 4,
            "command": ["sbumpctl", "sweep", "--target", "a'b\n</code><script>alert(2)</script>", "http://evil.example/x"]}


def heads(names, part_of):
    yield {"begin": {"metric": {"sampled": {"text": "prom:http://127.0.0.1:8000/metrics#x{a=\"b\"}"}}, "margin": 0.1,
                     "groups": [{"name": name, "part_of": part_of} for name in names]}}
    yield {"plan": {"groups": [{"name": name, "role": "TESTED", "hits_per_unit": 1} for name in names], "arms": arms(),
                    "blocks": 40, "window_ns": "1000000000", "washout_ns": "100000000", "seed": "5", "unit_ns": 40000,
                    "variation": 0.02, "warnings": ["a <warning>"]}}


def window(draw, block, arm, delays_ns, level_ns, begin_ns):
    y_ns = level_ns * (1 + draw.gauss(0, 0.01)) + sum(c * x for c, x in zip(CRITICALITIES, delays_ns))
    y_ns *= 3 if draw.random() < 0.02 else 1
    flaw = "the <metric> stood still & nothing moved for all of this long window" if draw.random() < 0.03 else ""
    groups = [{"hits": "1000", "delayed_hits": "1000", "injected_ns": str(1000 * x)} for x in delays_ns]
    return {"window": {"phase": "MAIN", "block": block, "arm": arm, "begin_ns": str(begin_ns),
                       "end_ns": str(begin_ns + 10**9), "units": 1000, "work_ns": 1000 * y_ns, "units_in_all": 1000,
                       "groups": groups, "flaw": flaw}}


def windows():
    draw = random.Random(4)
    begin_ns = 0
    for block in range(9):
        order = list(range(23 if block % 4 == 0 else 22))
        draw.shuffle(order)
        level_ns = 40000 * (1 + 0.03 * draw.gauss(0, 1))
        for arm in order:
            delays_ns = [int(ns) for ns in arms()[arm].get("delay_ns", ["0"] * 7)]
            yield window(draw, block, arm, delays_ns, level_ns, begin_ns)
            begin_ns += 11 * 10**8


def experiment(number):
    """The first one's groups, or parts of the first of the one before."""
    names, wholes = ([name + " of it" * i for name in NAMES] for i in (number, max(0, number - 1)))
    return [*heads(names, wholes[0] if number > 0 else ""), *windows()]


def write(path, experiments=1):
    with open(path, "w", encoding="utf-8") as file:
        for line in (header(), *(line for number in range(experiments) for line in experiment(number))):
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
