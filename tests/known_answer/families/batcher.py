"""A batcher whose batches are full, or closed by a timeout."""
from case import ADDITIVE, Case, Function, HIDDEN, null
from families import lengths

PROCESS = 0.3


def draw(chance):
    unit_s, clients = lengths.unit(chance), chance.randint(2, 4)
    full = chance.choice([True, False])
    rest = 1 - lengths.SHADOW - PROCESS
    of_process, of_prepare = lengths.share(chance), lengths.share(chance)
    prepares = rest if full else lengths.share(chance, 0.05, rest - lengths.HIDDEN_SLACK)
    prepare = Function("prepare", ADDITIVE, 1, clients, of_prepare * unit_s / clients, of_prepare) if full else \
        Function("prepare", HIDDEN, 0, clients, 0.5 * prepares * unit_s / clients)
    return Case("batcher", "batcher.py", {
        "clients": clients,
        "size": clients if full else clients + 1,
        "lengths": lengths.seconds(unit_s, prepare=prepares / clients, process=PROCESS, shadow=lengths.SHADOW,
                                   timeout=3 if full else rest),
    }, unit_s, [
        prepare,
        Function("process", ADDITIVE, 1, 1, of_process * unit_s, of_process),
        null(),
    ])
