"""asyncio: tasks that compute, however they are gathered, are a chain."""
from case import ADDITIVE, BOUND, Case, Function, null
from families import lengths


def draw(chance):
    unit_s, tasks = lengths.unit(chance), chance.randint(1, 3)
    of_compute = lengths.share(chance)
    return Case("async_cpu", "async_cpu.py", {
        "tasks": tasks,
        "lengths": lengths.seconds(unit_s, compute=(1 - lengths.SHADOW) / tasks, shadow=lengths.SHADOW,
                                   lookup=lengths.share(chance, 0.2, 0.4)),
    }, unit_s, [
        Function("compute", ADDITIVE, 1, tasks, of_compute * unit_s / tasks, of_compute),
        Function("lookup", BOUND, 1, 1, 0.1 * unit_s),
        null(),
    ])
