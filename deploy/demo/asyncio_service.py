#!/usr/bin/python3
"""An asyncio service, for the recipe in docs/method.md. Python 3.8 or later, standard library only.

So many clients that the event loop is never idle: each request is parsed, asks a backend (a wait of 20 ms, which others use), and
is rendered. What runs on the loop is critical then; the wait is hidden, and so is what a process beside it would do.
"""
import argparse
import asyncio
import json
import time

CLIENTS = 40
BACKEND_SECONDS = 0.020


def parse(text):
    """Some 200 us."""
    for _ in range(30):
        request = json.loads(text)
    return request


def render(request):
    """Some 600 us: it takes three times as long, and a second of it costs as much as one of parse()."""
    for _ in range(100):
        text = json.dumps(request)
    return text


async def ask_backend(request):
    await asyncio.sleep(BACKEND_SECONDS)
    return request


def reply(text):
    """A unit of work."""
    return len(text)


async def client(text, deadline):
    while time.monotonic() < deadline:
        reply(render(await ask_backend(parse(text))))


async def main(seconds):
    text = json.dumps({"user": 7, "items": [{"id": i, "name": "item %d" % i, "price": i * 1.5} for i in range(12)]})
    deadline = time.monotonic() + seconds
    await asyncio.gather(*(client(text, deadline) for _ in range(CLIENTS)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    asyncio.run(main(parser.parse_args().seconds))
