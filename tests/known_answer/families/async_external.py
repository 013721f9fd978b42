"""asyncio: tasks that wait for a service side by side.

A call that takes D more costs one task as much, and the pace D divided by their number. A delay of D costs a little
more: it holds the loop, and where replies of two tasks come within D of each other the later one waits for it. How
often that is depends on how their wake-ups wander.
"""
from case import BOUND, BYSTANDER, bystander, Case, Function, MATTERS
from families import lengths


def draw(chance):
    unit_s, tasks = lengths.unit(chance), chance.randint(2, 4)
    of_external = lengths.share(chance)
    return Case("async_external", "async_external.py", {
        "tasks": tasks,
        "lengths": {"external": tasks * unit_s, "bystander": unit_s},
    }, unit_s, [
        Function("external", BOUND, None, 1, of_external * unit_s * tasks, of_external, MATTERS),
        bystander(),
    ], **BYSTANDER)
