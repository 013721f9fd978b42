"""What the asyncio programs share. A delay stops the loop and all of its tasks; timers run on meanwhile."""
import asyncio
import selectors
import time

import work


async def wait(name):
    work.delay(name)
    await asyncio.sleep(work.length(name))


async def shadow():
    """As work.shadow(). Its end stops the loop for a moment."""
    end = time.perf_counter() + work.lengths["shadow"]
    work.null()
    await asyncio.sleep(max(0, end - time.perf_counter() - work.SPIN_S))
    work.spin_until(end)


async def forever(step):
    while True:
        await step()


async def together(steps):
    await asyncio.gather(*map(forever, steps))


def begin(steps):
    """`steps`() gives what is repeated, each in a task of its own."""
    def run():
        # select() knows microseconds; to the usual epoll_wait() a part of a millisecond that is taken away is nothing.
        loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
        asyncio.set_event_loop(loop)
        loop.run_until_complete(run_all())

    async def run_all():
        await together(steps())

    work.begin_threads(run)


def run(steps):
    work.run(lambda: begin(steps))
