"""Two threads side by side that take the same time, or nearly: to slow either costs all of it, beyond the slack, and
what can be gained of the later one is the slack."""
from case import BOUND, Case, Function, MATTERS, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    left = lengths.share(chance, 0.4, 0.5)
    slack = chance.choice([0, lengths.share(chance, 0.02, 0.1)])
    of_left, of_right = slack + lengths.share(chance), lengths.share(chance)
    return Case("tied", "branches.py", {
        "lengths": lengths.seconds(unit_s, left=left, right=left - slack, tail=1 - lengths.SHADOW - left,
                                   shadow=lengths.SHADOW),
    }, unit_s, [
        Function("left", BOUND, 1 if slack else None, 1, of_left * unit_s, slack, MATTERS),
        # Within the slack the first doses are hidden; where there is none each counts.
        Function("right", BOUND, None, 1, of_right * unit_s, 0, None if slack else MATTERS, straight=False),
        null(),
    ])
