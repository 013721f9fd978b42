"""Tasks that queue for one asyncio.Lock, as the threads of convoy.py do. released() is called when the lock was given
away, before the loop gets to the next task: slowing it holds up that one, though making it faster gains nothing."""
import asyncio
import loop
import work


async def held():
    await loop.wait("held")


async def released():
    await loop.wait("released")


async def outside():
    await loop.wait("outside")


def steps():
    lock = asyncio.Lock()

    async def step():
        async with lock:
            await held()
            await loop.shadow()
            work.unit()
        await released()
        await outside()

    return [step] * work.parameters["tasks"]


if __name__ == "__main__":
    loop.run(steps)
