"""Tasks that compute, gathered with one that waits for a reply: they run one after the other, whatever their number,
and the reply is there before they end. Slowing lookup() stops the loop, which costs all of it, though making it faster
gains nothing."""
import asyncio
import loop
import work


async def compute():
    work.burn("compute")


async def lookup():
    await loop.wait("lookup")


def steps():
    async def step():
        await asyncio.gather(lookup(), *(compute() for _ in range(work.parameters["tasks"])))
        await loop.shadow()
        work.unit()

    return [step]


if __name__ == "__main__":
    loop.run(steps)
