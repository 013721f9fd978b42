"""Loaders that read ahead for a device, either of which limits the pace."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths


def draw(chance):
    unit_s, loaders = lengths.unit(chance), chance.randint(1, 2)
    loads = chance.choice([True, False])
    of_load = lengths.share(chance)
    load = Function("load", ADDITIVE, 1 / loaders, 1, of_load * unit_s * loaders, of_load) if loads else \
        Function("load", HIDDEN, 0, 1, 0.1 * unit_s)
    return Case("loader", "loader.py", {
        "depth": chance.randint(1, 4),
        "loaders": loaders,
        "lengths": lengths.seconds(unit_s, load=loaders * (1 if loads else 0.5), launch=0.1,
                                   device=lengths.share(chance, 0.3, 0.5) if loads else 1),
    }, unit_s, [load, Function("launch", HIDDEN, 0, 1, 0.05 * unit_s), null()])
