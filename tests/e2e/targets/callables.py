"""A process with a compiled model as vLLM has them: its pieces, and what replays them, are callable objects and no modules.

Argument: "made", or "later": they are there only when they were asked for.
"""
import gc
import sys
import time
import types

import stub_torch
from protocol import serve

nn = stub_torch.install("2.13").nn


class PiecewiseBackend:
    def __init__(self, runnable, index):
        self.runnable, self.piecewise_compile_index, self.sizes, self._private = runnable, index, [1, 2.5], 7

    def __call__(self, x):
        return self.runnable(x)


class CUDAGraphWrapper:
    def __init__(self, runnable, mode):
        self.runnable, self.mode = runnable, mode

    def __call__(self, *args, **kwargs):
        return self.runnable(*args, **kwargs)


class Wrapper:
    """None that anybody knows."""

    def __call__(self, x):
        return x


class Late(Wrapper):
    pass


stub = sys.modules["vllm.compilation.stub"] = types.ModuleType("vllm.compilation.stub")
for one in (PiecewiseBackend, CUDAGraphWrapper):
    one.__module__ = stub.__name__
    setattr(stub, one.__name__, one)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.pieces = [PiecewiseBackend(self.norm, 0), PiecewiseBackend(abs, 1)]
        self.replayed = CUDAGraphWrapper(self.pieces[1], "PIECEWISE")
        self.other = Wrapper()
        self.spent = [[], []]

    def forward(self, x):
        for call, spent in zip((self.pieces[0], self.replayed), self.spent):
            begin = time.perf_counter_ns()
            call(x)
            spent.append(time.perf_counter_ns() - begin)
        return self.other(x)


held = {}


def make(name):
    held[name] = {"model": Model, "full": lambda: CUDAGraphWrapper(held["model"], "FULL"), "late": Late,
                  "piece": lambda: PiecewiseBackend(abs, 7)}[name]()


def fill(count):
    """Makes it long to find what is there."""
    held["heap"] = [[] for _ in range(count)]


def call(name, count=1):
    for _ in range(count):
        held[name](-1.5)


def forwards(count):
    """The median time of each piece, in nanoseconds."""
    for spent in held["model"].spent:
        del spent[:]
    call("model", count)
    return [sorted(spent)[count // 2] for spent in held["model"].spent]


def replace_second_piece(index):
    model = held["model"]
    model.pieces[1] = model.replayed.runnable = PiecewiseBackend(abs, index)
    gc.collect()


if sys.argv[1] == "made":
    make("model")
serve({"make": make, "fill": fill, "call": call, "forwards": forwards, "replace_second_piece": replace_second_piece})
