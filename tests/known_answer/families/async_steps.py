"""asyncio: a step that limits the rate, and one that does not."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    of_limiting = lengths.share(chance)
    return Case("async_steps", "async_steps.py", {
        "places": chance.randint(1, 4),
        "lengths": lengths.seconds(unit_s, limiting=1 - lengths.SHADOW, shadow=lengths.SHADOW,
                                   following=lengths.share(chance, 0.3, 0.5)),
    }, unit_s, [
        Function("limiting", ADDITIVE, 1, 1, of_limiting * unit_s, of_limiting),
        Function("following", HIDDEN, 0, 1, 0.1 * unit_s),
        null(),
    ])
