"""asyncio: tasks that wait for a service side by side."""
from case import ADDITIVE, BYSTANDER, bystander, Case, Function
from families import lengths


def draw(chance):
    unit_s, tasks = lengths.unit(chance), chance.randint(2, 4)
    of_external = lengths.share(chance)
    return Case("async_external", "async_external.py", {
        "tasks": tasks,
        "lengths": {"external": tasks * unit_s, "bystander": unit_s},
    }, unit_s, [
        Function("external", ADDITIVE, 1 / tasks, 1, of_external * unit_s * tasks, of_external),
        bystander(),
    ], **BYSTANDER)
