"""A pipeline of two tasks: the first one limits the rate, the second one waits for it."""
import asyncio
import loop
import work


async def limiting():
    await loop.wait("limiting")


async def following():
    await loop.wait("following")


def steps():
    items = asyncio.Queue(work.parameters["places"])

    async def first():
        await limiting()
        await loop.shadow()
        await items.put(None)

    async def second():
        await items.get()
        await following()
        work.unit()

    return first, second


if __name__ == "__main__":
    loop.run(steps)
