"""Forwards in greenlets, which take turns on one stack in the middle of a layer."""
import functools

import torch
from model_commands import command, models, tokens

waiting = []


@command
def make_switches():
    import greenlet

    class Switch(torch.nn.Module):
        def forward(self, x):
            greenlet.getcurrent().parent.switch()
            return x

    for layer in models["main"].layers:
        layer.skip = Switch()


@command
def leave_in_forwards(depths):
    """Greenlets that are within a layer of their third forward; switch_in_forwards() goes on with them."""
    waiting.extend(greenlets(depths, 3))
    for _ in range(2 * len(list(models["main"].layers)) + 1):
        for one in waiting:
            one.switch()


@command
def switch_in_forwards(depths, forwards):
    """In as many greenlets as there are depths, each at its own: they switch at the end of each layer. The Nth has N + 1 tokens."""
    running = waiting + greenlets(depths, forwards)
    while running:
        for one in running:
            one.switch()
        running = [one for one in running if not one.dead]


def greenlets(depths, forwards):
    import greenlet
    model = models["main"]

    def work(number, depth):
        for _ in range(forwards):
            deeper(depth, lambda: model(tokens(1, number + 1)))

    return [greenlet.greenlet(functools.partial(work, *one)) for one in enumerate(depths)]


def deeper(levels, call):
    """Calls it so much further down the C stack."""
    return functools.reduce(lambda result, _: deeper(levels - 1, call), [0], None) if levels else call()
