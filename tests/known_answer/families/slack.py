"""Two threads side by side, of which one is always later: the other has slack."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    left = lengths.share(chance, 0.45, 0.6)
    slack = lengths.share(chance, lengths.HIDDEN_SLACK, left - 0.12)
    tail = 1 - lengths.SHADOW - left
    of_left, of_tail = lengths.share(chance), lengths.share(chance, high=min(lengths.SHARES[1], 0.8 * tail))
    return Case("slack", "branches.py", {
        "lengths": lengths.seconds(unit_s, left=left, right=left - slack, tail=tail, shadow=lengths.SHADOW),
    }, unit_s, [
        Function("left", ADDITIVE, 1, 1, of_left * unit_s, of_left),
        Function("right", HIDDEN, 0, 1, 0.1 * unit_s),
        Function("tail", ADDITIVE, 1, 1, of_tail * unit_s, of_tail),
        null(),
    ])
