"""Two threads that compute under one GIL.

The one in front needs a seconds of it for a unit. The other one pauses for p seconds, waits for the GIL for about a
switch interval s, and keeps it for b. So of each p + s + b seconds the one in front has p + s, and a unit takes a (p +
s + b) / (p + s), in which the other is called a / (p + s) times: D more of each of its calls costs a unit just as much
as was injected. D more of each unit in front costs 1 + b / (p + s) times that, as the other one takes its part of it.
Both are linear in D.

There is no null() here: even in a process beside, it takes a processor on which the GIL's next owner would wake up.
"""
from case import ADDITIVE, Case, Function, MATTERS
from families import lengths

SWITCH_S = 0.005


def draw(chance):
    front_s = lengths.unit(chance)
    pause_s, back_s = round(chance.uniform(0.004, 0.008), 6), round(chance.uniform(0.001, 0.002), 6)
    share, part_s = lengths.share(chance), chance.uniform(0.4, 0.7) * back_s
    unit_s = front_s * (1 + back_s / (pause_s + SWITCH_S))
    return Case("gil", "gil.py", {
        "switch_s": SWITCH_S,
        "lengths": {"foreground": front_s, "pause": pause_s, "background": back_s},
    }, unit_s, [
        Function("foreground", ADDITIVE, None, 1, share * front_s, share, MATTERS),
        Function("background", ADDITIVE, 1, None, part_s, None),
    ], top_percent=12)  # not more: a call and its delay have to be shorter than a switch interval
