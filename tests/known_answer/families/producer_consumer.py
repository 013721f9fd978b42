"""Two threads and a queue between them: the slower one decides."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    slow, fast = chance.sample(["produce", "consume"], 2)
    of_slow = lengths.share(chance)
    return Case("producer_consumer", "producer_consumer.py", {
        "places": chance.randint(1, 4),
        "slow": slow,
        "lengths": lengths.seconds(unit_s, **{slow: 1 - lengths.SHADOW, fast: lengths.share(chance, 0.35, 0.5),
                                              "shadow": lengths.SHADOW}),
    }, unit_s, [
        Function(slow, ADDITIVE, 1, 1, of_slow * unit_s, of_slow),
        Function(fast, HIDDEN, 0, 1, 0.1 * unit_s),
        null(),
    ])
