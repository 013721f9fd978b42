"""Clients send a request each and wait for its reply. A batch is closed when it is full, or some time after it was
opened: then what the clients do in between is hidden."""
import asyncio
import loop
import work


async def prepare():
    """Computes: the clients do so one after the other."""
    work.burn("prepare")


async def process():
    await loop.wait("process")


def steps():
    requests = asyncio.Queue()

    async def client():
        await prepare()
        reply = asyncio.get_running_loop().create_future()
        requests.put_nowait(reply)
        await reply

    async def collect(batch):
        while len(batch) < work.parameters["size"]:
            batch.append(await requests.get())

    async def batcher():
        batch = []
        try:
            await asyncio.wait_for(collect(batch), work.lengths["timeout"])
        except asyncio.TimeoutError:
            pass
        if batch:
            await process()
            await loop.shadow()
            work.unit()
        for reply in batch:
            reply.set_result(None)

    return [client] * work.parameters["clients"] + [batcher]


if __name__ == "__main__":
    loop.run(steps)
