"""Threads that queue for one lock."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    of_held = lengths.share(chance)
    return Case("convoy", "convoy.py", {
        "threads": chance.randint(2, 3),
        "lengths": lengths.seconds(unit_s, held=1 - lengths.SHADOW, shadow=lengths.SHADOW, between=0.3,
                                   outside=lengths.share(chance, 0.15, 0.3)),
    }, unit_s, [
        Function("held", ADDITIVE, 1, 1, of_held * unit_s, of_held),
        Function("outside", HIDDEN, 0, 1, 0.1 * unit_s),
        null(),
    ])
