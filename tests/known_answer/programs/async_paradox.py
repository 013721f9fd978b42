"""A poller that burdens the service on which all depends: each of its calls adds to what the next reply takes. Slow it,
and the program is faster."""
import asyncio
import time

import loop
import work

polls = 0


async def poll():
    await loop.wait("poll")


async def request(polls_before):
    """A reply is due when the service has done its own work and that of all polls until then. Returns how many those
    were."""
    begin = time.perf_counter()
    while True:
        seen = polls
        due = begin + work.lengths["request"] + work.lengths["burden"] * (seen - polls_before)
        await asyncio.sleep(max(0, due - time.perf_counter()))
        if polls == seen:
            return seen


def steps():
    answered = 0

    async def ask():
        nonlocal answered
        answered = await request(answered)
        work.unit()

    async def go_on_polling():
        global polls
        await poll()
        polls += 1

    return ask, go_on_polling


if __name__ == "__main__":
    loop.run(steps)
