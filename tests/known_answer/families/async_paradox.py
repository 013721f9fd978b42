"""asyncio: a paradoxical slowdown. A poller adds b seconds to what the next reply takes, each p seconds.

A unit takes r + b u / p, which is u = r / (1 - b / p); D more of each poll makes p longer, and u shorter: criticality
-b / (p - b). The curve is convex: what is taken away costs more than is predicted. p is a little longer than the
poller's wait, so that this is known to a tenth only.
"""
from case import BOUND, BYSTANDER, bystander, Case, Function, MATTERS
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    period_s = unit_s * lengths.share(chance, 0.25, 0.35)
    burden = lengths.share(chance, 0.25, 0.4)
    return Case("async_paradox", "async_paradox.py", {
        "lengths": {"request": unit_s * (1 - burden), "burden": burden * period_s, "poll": period_s,
                    "bystander": unit_s},
    }, unit_s, [
        Function("poll", BOUND, None, None, lengths.share(chance, 0.1, 0.25) * period_s, None, MATTERS,
                 straight=False),
        bystander(),
    ], **BYSTANDER)
