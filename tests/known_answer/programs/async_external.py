"""Tasks that wait for a service side by side: a call that takes longer costs one of them as much, and the pace that
divided by their number. A delay stops the loop: replies begin one after the other, with more time in between than a
delay takes, but wander."""
import asyncio
import loop
import work


async def external():
    await loop.wait("external")


def task(number):
    late = number * work.lengths["external"] / work.parameters["tasks"]

    async def step():
        nonlocal late
        await asyncio.sleep(late)
        late = 0
        await external()
        work.unit()

    return step


def steps():
    return map(task, range(work.parameters["tasks"]))


if __name__ == "__main__":
    loop.run(steps)
