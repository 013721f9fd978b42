"""A process with a PyTorch model, and what is true of it, told by itself: with the real torch, or with stub_torch.

Arguments: "torch", or the layout for stub_torch ("1.13", "2.13"), or "later": see import_torch().
"""
import multiprocessing
import os
import sys
import tempfile
import threading
import time

from model_commands import COMMANDS, command, models, tensor, tokens
from protocol import serve

torch = nn = transformer = None


@command
def import_torch(kind):
    global torch, nn, transformer
    if kind != "torch":
        import stub_torch
        stub_torch.install(kind)
    import torch
    import transformer
    import model_faults, model_switches, model_truth  # which have commands of their own
    nn = torch.nn


things = []
forked = []  # processes, each with a connection
hook_calls = []  # what hooks of its own did


class Thing:
    """Another tree of callable objects."""

    def __init__(self, number, *parts):
        self.number, self.first, self.rest, self.by_name = number, parts[0] if parts else None, list(parts[1:]), {}

    def __call__(self):
        return self.number


@command
def make(name, *arguments):
    models[name] = transformer.Model(*arguments)
    return len(list(models[name].named_modules()))


@command
def make_inner():
    """Of a class whose module cannot be told by the dots of its name."""
    class Outer:
        class Inner(nn.Module):
            pass

    models["main"].inner = Outer.Inner()


classes = {}  # which stay at their addresses
neighbours = []  # keep the memory among them for objects of their size, which few others have
SIZE = {"__slots__": ["slot_%d" % i for i in range(30)]}


class Neighbour(type("Large", (), SIZE)):
    pass


def class_of(kind):
    return classes.setdefault(kind, type(kind, (nn.Module,), {"forward": lambda self, x: x, **SIZE}))


@command
def put(name, kind):
    new = class_of(kind)
    neighbours.extend(Neighbour() for _ in range(100))
    setattr(models["main"], name, new())
    neighbours.extend(Neighbour() for _ in range(100))


@command
def replace(name, other, kind):
    """By one at the same address."""
    main, new, others = models["main"], class_of(kind), [None] * 1000
    address, places = id(getattr(main, name)), iter(range(len(others)))  # which takes memory, too
    delattr(main, name)
    for at in places:
        others[at] = new()  # keeps its place
        if id(others[at]) == address:
            return setattr(main, other, others[at])
    raise AssertionError("no object came to the address of the former one")


@command
def add_fc():
    models["main"].fc = nn.Linear(4, 6)


@command
def call_part(name, count, *shape):
    """Of the model, with a tensor."""
    part = getattr(models["main"], name)
    for _ in range(count):
        part(tensor(*(shape or (2, 4))))


@command
def wrap(name, wrapper, part=None):
    """A model, or a part of it that it keeps."""
    models[wrapper] = nn.Sequential(getattr(models[name], part) if part else models[name])


@command
def drop(name):
    import gc
    del models[name]
    gc.collect()


@command
def forward(name):
    return list(models[name](tokens()).size())


@command
def forwards(name, count):
    """The median time of each layer, in nanoseconds."""
    model = models[name]
    for spent in model._layer_ns:
        del spent[:]
    for _ in range(count):
        model(tokens())
    return [sorted(spent)[len(spent) // 2] for spent in model._layer_ns]


@command
def call_each(count):
    """Nanoseconds of a call: of a module, of an object that is none, of a function."""
    def each(callee, *arguments, times=count):
        begin = time.perf_counter_ns()
        for _ in range(times):
            callee(*arguments)
        return (time.perf_counter_ns() - begin) / times

    # A function is called in no time: some milliseconds of calls, or chance decides.
    return {"module": each(models["main"].layers[0].skip, None), "object": each(Thing(7)),
            "function": each(lambda: 7, times=20 * count)}


@command
def call_shaped(count):
    """Nanoseconds of a call of a module that gives back the tensor that it is given."""
    m, x = models["main"].layers[0].act, tensor(2, 5, 8)
    begin = time.perf_counter_ns()
    for _ in range(count):
        m(x)
    return (time.perf_counter_ns() - begin) / count


@command
def forward_ns(count):
    """Nanoseconds of a forward, in the median."""
    x, took = tokens(), []
    for _ in range(count):
        begin = time.perf_counter_ns()
        models["main"](x)
        took.append(time.perf_counter_ns() - begin)
    return sorted(took)[count // 2]


@command
def hooked(name, count):
    """The same while a tracer in the process tells of each call, as vLLM's does."""
    from model_truth import traced_by_hooks
    took = []
    traced_by_hooks(lambda: took.append(COMMANDS[name](count)))
    return took[0]


@command
def dive(levels):
    """A module that calls itself, so deep."""
    class Deep(nn.Module):
        def forward(self, left):
            return self(left - 1) if left else 0

    if not hasattr(models["main"], "deep"):
        models["main"].deep = Deep()
    return models["main"].deep(levels)


@command
def forward_in_threads(threads, count):
    def work():
        for _ in range(count):
            models["main"](tokens())

    each = [threading.Thread(target=work) for _ in range(threads)]
    for one in each:
        one.start()
    for one in each:
        one.join()


@command
def fork():
    """The pid of a copy of this process that makes forwards when it is told to."""
    here, there = multiprocessing.Pipe()

    def work():
        for count in iter(there.recv, 0):
            forward_in_threads(1, count)
            there.send(forward("main"))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    forked.append((process, here))
    return process.pid


@command
def forward_in_fork(count):
    """Of the last one: what its last forward gives, after `count` others."""
    forked[-1][1].send(count)
    return forked[-1][1].recv()


@command
def end_forks():
    """Their exit statuses."""
    for process, connection in forked:
        connection.send(0)
        process.join()
    return [process.exitcode for process, _ in forked]


@command
def forward_for_ever():
    threading.Thread(target=forward_in_threads, args=(1, 10 ** 9), daemon=True).start()


@command
def load(workers, batches):
    """Forwards over what forked workers of a DataLoader give. The sum of the results, as hexadecimal."""
    from torch.utils.data import DataLoader

    class Numbers:
        def __len__(self):
            return 4 * batches

        def __getitem__(self, at):
            return torch.tensor([at % 11, (at + 1) % 11, (at + 2) % 11])

    loader = DataLoader(Numbers(), batch_size=4, num_workers=workers, multiprocessing_context="fork")
    with torch.no_grad():
        return float(sum(models["main"].eval()(batch).sum() for batch in loader)).hex()


@command
def compile_main(backend):
    """Why that cannot be had here, if it cannot: inductor generates code, for which it needs a compiler."""
    if not hasattr(torch, "compile"):
        return "this torch has no torch.compile"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.gettempdir()  # else it asks for the user's name
    try:
        compiled = torch.compile(models["main"].eval(), backend=backend)
        with torch.no_grad():
            compiled(tokens())
    except Exception as error:
        return repr(error).splitlines()[0]
    models["main"] = compiled
    return None


@command
def outputs(name):
    """Of a forward, to the last bit. The real torch alone."""
    with torch.no_grad():
        return [one.hex() for one in models[name](tokens()).flatten().tolist()]


class TensorThing(Thing):
    def __call__(self, x):
        return [x]


@command
def call_tensor_things(count):
    if len(things) == 0:
        things.append(TensorThing(1))
    for _ in range(count):
        things[0](torch.zeros(3, 5))


@command
def make_things():
    leaf = Thing(1)
    root = Thing(3, Thing(2, leaf), leaf, Thing(5))
    root.by_name["x"] = Thing(6)
    things.append(root)


@command
def make_circle():
    """Two of them that hold each other."""
    parent = Thing(7, Thing(8))
    parent.first.first = parent
    things.append(parent)


@command
def drop_things():
    import gc
    things.clear()
    gc.collect()


@command
def call_things(count):
    for _ in range(count):
        things[0]()
        things[0].rest[0]()


@command
def train(seed, steps):
    """Losses, and what is left of the gradients and weights, to the last bit. The real torch alone."""
    import hashlib
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    model = models["main"]
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randint(0, 11, (4, 6)), torch.randint(0, 11, (4, 6))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()).hex())
    seen = hashlib.sha256()
    for parameter in model.parameters():
        for one in (parameter, parameter.grad):
            if one is not None:
                seen.update(one.detach().contiguous().numpy().tobytes())
    return [losses, seen.hexdigest()]


@command
def script(name):
    """A model of the same size, as TorchScript."""
    models[name] = torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.zeros(1, 3))


@command
def make_views():
    """A parameter that is a part of another one's memory, and numbers of other types. The real torch alone."""
    model = models["main"]
    model.view = nn.Parameter(model.lm_head.weight.detach()[3:5])
    model.short = nn.Linear(2, 3).half()
    model.short.register_buffer("steps", torch.zeros(2, 2, dtype=torch.int64))


@command
def make_each_dtype():
    """Buffers of each element type that this torch can make one of, and one without memory. How many. The real torch alone."""
    types = sorted({str(one) for one in vars(torch).values() if isinstance(one, torch.dtype)})
    holder = models["main"].each = nn.Module()
    for name in types:
        kind = getattr(torch, name.replace("torch.", ""))
        try:
            holder.register_buffer(name.replace("torch.", "of_"), torch.empty(3, 2, dtype=kind))
        except (RuntimeError, NotImplementedError, TypeError):  # quantized ones, say
            continue
    holder.register_buffer("meta", torch.empty(3, 2, device="meta"))
    return len(holder._buffers)


@command
def call_script(name):
    return [one.hex() for one in models[name](torch.full((1, 3), 0.25)).flatten().tolist()]


@command
def add_hooks():
    """Of its own, around each call of a layer, whose inputs and output they replace."""
    layer = models["main"].layers[1]

    def before(m, inputs):
        hook_calls.append("before")
        return (inputs[0] + 1, *inputs[1:])

    def after(m, inputs, output):
        hook_calls.append("after")
        return 2 * output

    layer.register_forward_pre_hook(before)
    layer.register_forward_hook(after)


@command
def take_hook_calls():
    taken = list(hook_calls)
    hook_calls.clear()
    return taken


@command
def set_training(mode):
    models["main"].train(mode)


if __name__ == "__main__":
    if sys.argv[1] != "later":
        import_torch(sys.argv[1])
    serve(COMMANDS)
