"""Processes that share a batch, and one of them a straggler."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s, others = lengths.unit(chance), chance.randint(1, 3)
    of_straggler = lengths.share(chance)
    return Case("pool", "pool.py", {
        "others": others,
        "lengths": lengths.seconds(unit_s, straggler=1 - lengths.SHADOW, shadow=lengths.SHADOW,
                                   others=lengths.share(chance, 0.2, 0.4)),
    }, unit_s, [
        Function("straggler", ADDITIVE, 1, 1, of_straggler * unit_s, of_straggler),
        Function("others", HIDDEN, 0, others, 0.1 * unit_s / others),
        null(),
    ], options=("--children",))
