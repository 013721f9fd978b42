"""asyncio: tasks that queue for a lock."""
from case import ADDITIVE, BOUND, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    of_held = lengths.share(chance)
    return Case("async_lock", "async_lock.py", {
        "tasks": chance.randint(2, 4),
        "lengths": lengths.seconds(unit_s, held=1 - lengths.SHADOW, shadow=lengths.SHADOW, released=0.15,
                                   outside=lengths.share(chance, 0.15, 0.3)),
    }, unit_s, [
        Function("held", ADDITIVE, 1, 1, of_held * unit_s, of_held),
        Function("released", BOUND, 1, 1, 0.1 * unit_s),
        Function("outside", HIDDEN, 0, 1, 0.1 * unit_s),
        null(),
    ])
