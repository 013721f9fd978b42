"""A process with a PyTorch model, and what is true of it, told by itself: with the real torch, or with stub_torch.

Arguments: "torch", or the layout for stub_torch ("1.13", "2.13"), or "later": see import_torch().
"""
import functools
import os
import sys
import tempfile
import threading
import time

from protocol import serve

torch = nn = transformer = None


def import_torch(kind):
    global torch, nn, transformer
    if kind != "torch":
        import stub_torch
        stub_torch.install(kind)
    import torch
    import transformer
    nn = torch.nn


def tokens():
    return torch.zeros(2, 5, **({"dtype": torch.long} if hasattr(torch, "long") else {}))


def two(value):
    return [value, value]


def int_or_tuple(value):
    return list(value) if isinstance(value, tuple) else two(value) if isinstance(value, int) else None


def static_params(m):
    """The oracle: what an in-process tracer says of a layer (the keys are those of vLLM's layerwise tracing)."""
    def is_a(*names):
        return any(isinstance(m, getattr(nn, name)) for name in names if hasattr(nn, name))

    if is_a("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"):
        return {"in_chan": m.in_channels, "out_chan": m.out_channels, "filter_dim": m.kernel_size, "stride": m.stride,
                "padding": m.padding, "dilation": m.dilation, "transposed": m.transposed,
                "output_padding": m.output_padding, "groups": m.groups, "padding_mode": m.padding_mode}
    if is_a("MaxPool1d", "MaxPool2d", "MaxPool3d"):
        return {"filter_dim": int_or_tuple(m.kernel_size), "stride": int_or_tuple(m.stride),
                "padding": int_or_tuple(m.padding), "dilation": int_or_tuple(m.dilation)}
    if is_a("AvgPool1d", "AvgPool2d", "AvgPool3d"):
        return {"filter_dim": two(m.kernel_size), "stride": two(m.stride), "padding": two(m.padding),
                "ceil_mode": m.ceil_mode, "count_include_pad": m.count_include_pad}
    if is_a("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"):
        return {"output_size": two(m.output_size)}
    if is_a("Linear"):
        return {"in_features": m.in_features, "out_features": m.out_features}
    if is_a("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"):
        return {"num_features": m.num_features, "epsilon": m.eps, "momentum": m.momentum}
    if is_a("ReLU"):
        return {"in_place": m.inplace}
    if is_a("Dropout"):
        return {"p": m.p, "in_place": m.inplace}
    if is_a("Embedding"):
        return {"num_embeddings": m.num_embeddings, "embedding_dim": m.embedding_dim}
    if is_a("Upsample"):
        return {"scale_factor": m.scale_factor}
    return {}


def is_plain(value):
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, float, str)) or isinstance(value, int) and abs(value) < 2 ** 63


def attributes(m):
    return {name: value for name, value in vars(m).items()
            if not name.startswith("_") and name != "training" and is_plain(value)}


def all_paths(m, path):
    """Under which each module can be reached, in the order of a walk that goes into each once."""
    paths, seen = {}, set()

    def walk(one, name):
        paths.setdefault(id(one), []).append(name)
        if id(one) in seen:
            return
        seen.add(id(one))
        for child, held in one._modules.items():
            if held is not None:
                walk(held, name + "." + child)

    walk(m, path)
    return paths


def dims(tensors):
    return {name: list(tensor.size()) for name, tensor in tensors}


def truth_of(model, prefix):
    paths = all_paths(model, prefix)
    return [{"path": path, "type": type(m).__name__, "training": m.training,
             "qualified_type": type(m).__module__ + "." + type(m).__qualname__,
             "parameters": dims(m.named_parameters(recurse=False)), "buffers": dims(m.named_buffers(recurse=False)),
             "static_params_text": str(static_params(m)) if static_params(m) else "",
             "static_params": dict(attributes(m), **static_params(m)), "aliases": paths[id(m)][1:]}
            for path, m in model.named_modules(prefix=prefix)]


class Thing:
    """Another tree of callable objects."""

    def __init__(self, number, *parts):
        self.number, self.first, self.rest, self.by_name = number, parts[0] if parts else None, list(parts[1:]), {}

    def __call__(self):
        return self.number


models = {}
things = []
stop = threading.Event()
changes = [0]


def make(name, *arguments):
    models[name] = transformer.Model(*arguments)
    return len(list(models[name].named_modules()))


def drop(name):
    import gc
    del models[name]
    gc.collect()


def forward(name):
    return list(models[name](tokens()).size())


def forwards(name, count):
    """The median time of each layer, in nanoseconds."""
    model = models[name]
    for spent in model._layer_ns:
        del spent[:]
    for _ in range(count):
        model(tokens())
    return [sorted(spent)[len(spent) // 2] for spent in model._layer_ns]


def call_each(count):
    """Nanoseconds of a call: of a module, of an object that is none, of a function."""
    def each(callee, *arguments):
        begin = time.perf_counter_ns()
        for _ in range(count):
            callee(*arguments)
        return (time.perf_counter_ns() - begin) / count

    return {"module": each(models["main"].layers[0].skip, None), "object": each(Thing(7)), "function": each(lambda: 7)}


def call_shaped(count):
    """Nanoseconds of a call of a module that gives back the tensor that it is given."""
    m, x = models["main"].layers[0].act, tensor(2, 5, 8)
    begin = time.perf_counter_ns()
    for _ in range(count):
        m(x)
    return (time.perf_counter_ns() - begin) / count


def call_shaped_hooked(count):
    """The same while a tracer in the process tells of each call."""
    took = []
    hooked(lambda: took.append(call_shaped(count)))
    return took[0]


def dims_in(values):
    """Of tensors, and those in lists and tuples, in order: print_tensor() of vLLM's layerwise tracing."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(list(value.size()))
        elif isinstance(value, (list, tuple)):
            found += dims_in(value)
    return found


def marker(m, path, **values):
    """The text of a range as that tracing pushes it, of which only what is there is told."""
    told = {"Module": path}
    params = dims(m.named_parameters(recurse=False))
    told.update({"TrainableParams": params} if params else {})
    told.update({key: dims_in([value]) for key, value in values.items() if dims_in([value])})
    static = static_params(m)
    told.update({"StaticParams": static} if static else {})
    return str(told)


def hooked(calls):
    """The oracle: what an in-process tracer tells of them. Its hooks are gone afterwards."""
    Module, names, texts, own = nn.Module, {}, [], nn.Module.__call__
    for path, m in models["main"].named_modules(prefix="top"):
        names[id(m)] = path
    skipped = (nn.Identity, nn.Dropout)

    def call(self, *args, **kwargs):
        if isinstance(self, skipped) or id(self) not in names:
            return own(self, *args, **kwargs)
        texts.append(marker(self, names[id(self)], Inputs=args, **kwargs))
        result = own(self, *args, **kwargs)
        texts.append(marker(self, names[id(self)], Outputs=result))
        return result

    Module.__call__ = call
    try:
        calls()
    finally:
        Module.__call__ = own
    return texts


def tensor(*shape):
    return torch.zeros(*shape)


def make_odd():
    """A module that gives back what it is given."""
    class Odd(nn.Module):
        def forward(self, *args, fail=False, **kwargs):
            if fail:
                1 / 0
            return [list(args), kwargs] if kwargs else args[0] if len(args) == 1 else args

    models["main"].odd = Odd()


class Batch(tuple):
    pass


def odd_calls():
    """Of modules, with arguments and results of every kind."""
    odd = models["main"].odd
    odd(tensor(2), tensor(3, 4))
    odd([tensor(1), (tensor(2, 2), None, [tensor(3)])], 7, "text", mask=tensor(5, 1), scale=0.5)
    odd(x=[tensor(4), tensor(6)], state=(tensor(1, 1), [tensor(2, 1)]), flag=True)
    odd(Batch((tensor(9), tensor(8))), {"not": tensor(7)})
    odd(tensor(1, 2, 3, 1, 2, 3, 2), tensor(1, 1, 1, 1, 1))
    odd(tensor(1), **{name: tensor(number) for number, name in enumerate("abcdefghij", 1)})
    odd()
    odd(nn.Parameter(tensor(3, 3)) if hasattr(torch, "no_grad") else nn.Parameter(3, 3))
    for m in models["main"].vision._modules.values():
        m.forward = odd.forward
        try:
            m(tensor(1, 4, 8, 8), factor=tensor(2))
        finally:
            del m.forward
    try:
        odd(tensor(2), fail=True)
    except ZeroDivisionError:
        pass
    models["main"](tokens())


def oracle():
    return hooked(odd_calls)


def call_odd(*shapes):
    models["main"].odd(*(tensor(*shape) for shape in shapes))


def call_false():
    """A tensor that is none: what it says of itself leads nowhere."""
    class False_(torch.Tensor):
        pass

    models["main"].odd(type(tensor(1)).at(False_, 0xdead0000))


def call_lies():
    """Arguments that say of themselves what is not so, and which nobody in here looks at meanwhile. How many calls these were."""
    import ctypes
    import gc
    import stub_torch
    gc.disable()  # it would look
    odd, calls = models["main"].odd, 0

    def forged(thing, offset, value, *more):
        nonlocal calls
        calls += 1
        place = ctypes.c_uint64.from_address(id(thing) + offset)
        kept, place.value = place.value, value
        try:
            odd(thing, *more)
        finally:
            place.value = kept

    size_at, items_at = object.__basicsize__, object.__basicsize__ + 8
    for value in (2 ** 62, 2 ** 63, 2 ** 64 - 1):
        forged([tensor(2), tensor(3)], size_at, value)
        forged((tensor(2), tensor(3)), size_at, value)
    for value in (1, 0xdead0000, 2 ** 47 - 8, 2 ** 64 - 8):
        forged([tensor(2), tensor(3)], items_at, value)
    itself = []
    itself.append(itself)
    nested = [tensor(5)]
    for _ in range(1000):
        nested = [nested, tensor(1)]
    for argument in (itself, [itself] * 100, nested, [tensor(7)] * 100000, [[]] * 100000):
        calls += 1
        odd(argument)
    for count in (2 ** 62, 2 ** 63, 17, 2 ** 32):
        calls += 1
        liar = tensor(2, 3)
        liar.impl.put(stub_torch.LAYOUTS[sys.argv[1]][1], "Q", count)
        odd(liar)
    return calls


def dive(levels):
    """A module that calls itself, so deep."""
    class Deep(nn.Module):
        def forward(self, left):
            return self(left - 1) if left else 0

    if not hasattr(models["main"], "deep"):
        models["main"].deep = Deep()
    return models["main"].deep(levels)


def forward_in_threads(threads, count):
    def work():
        for _ in range(count):
            models["main"](tokens())

    each = [threading.Thread(target=work) for _ in range(threads)]
    for one in each:
        one.start()
    for one in each:
        one.join()


def forward_for_ever():
    threading.Thread(target=forward_in_threads, args=(1, 10 ** 9), daemon=True).start()


def deeper(levels, call):
    """Calls it so much further down the C stack."""
    return functools.reduce(lambda result, _: deeper(levels - 1, call), [0], None) if levels else call()


def schedules(prefix="top"):
    """[(path, parent's path, name)]: what slapo's create_schedule(model).named_schedules(prefix) names, in its order."""
    def is_list(m):
        return not isinstance(m, nn.Sequential) and (
            isinstance(m, nn.ModuleList) or
            [*m._modules] == [str(i) for i in range(len(m._modules))] and len(m._modules) > 0)

    def children_of(m):
        for name, child in m._modules.items():
            if child is None or id(child) in seen:
                continue
            seen.add(id(child))
            if is_list(child):
                yield from (("%s.%s" % (name, inner), one) for inner, one in children_of(child))
            else:
                yield name, child

    def walk(m, path):
        module = type(m).__module__
        if module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, nn.Sequential):
            return
        for name, child in children_of(m):
            found.append(("%s.%s" % (path, name), path, name))
            walk(child, found[-1][0])

    seen, found = set(), [(prefix, "", prefix)]
    walk(models["main"], prefix)
    return found


def make_switches():
    import greenlet

    class Switch(nn.Module):
        def forward(self, x):
            greenlet.getcurrent().parent.switch()
            return x

    for layer in models["main"].layers:
        layer.skip = Switch()


waiting = []


def leave_in_forwards(depths):
    """Greenlets that are within a layer of their third forward; switch_in_forwards() goes on with them."""
    waiting.extend(greenlets(depths, 3))
    for _ in range(2 * len(list(models["main"].layers)) + 1):
        for one in waiting:
            one.switch()


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
            deeper(depth, lambda: model(torch.zeros(1, number + 1)))

    return [greenlet.greenlet(functools.partial(work, *one)) for one in enumerate(depths)]


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


def compile_main():
    """Whether this torch has torch.compile: without generated code, so that no compiler is needed."""
    if not hasattr(torch, "compile"):
        return False
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.gettempdir()  # else it asks for the user's name
    models["main"] = torch.compile(models["main"], backend="eager")
    forward("main")
    return True


def swap_type():
    """A module is another thing for one call."""
    m = models["main"].layers[0].skip
    own = m.__class__
    m.__class__ = type("Other", (nn.Module,), {"__call__": lambda self: 5})
    answer = m()
    m.__class__ = own
    return answer


def truth(name="main", prefix="top"):
    return truth_of(models[name], prefix)


def make_things():
    leaf = Thing(1)
    root = Thing(3, Thing(2, leaf), leaf, Thing(5))
    root.by_name["x"] = Thing(6)
    things.append(root)


def mutate():
    """Modules and attributes come and go all the time, with and without collections."""
    import gc

    def churn():
        number = 0
        while not stop.is_set():
            number += 1
            first, second = models["main"].layers[0], models["main"].layers[1]
            first.extra = nn.Linear(2, number % 7 + 1)
            setattr(second, "a%d" % (number % 50), number)
            del first.extra
            delattr(second, "a%d" % (number % 50))
            if number % 100 == 0:
                gc.collect()
            changes[0] = number

    threading.Thread(target=churn, daemon=True).start()


def settle():
    """How often they did."""
    stop.set()
    return changes[0]


def lie():
    """An object that says that it is a module, with attributes that no module has."""
    m = models["main"]
    m.layers[2]._modules["fake"] = 7
    return True


def stop_lying():
    del models["main"].layers[2]._modules["fake"]


def call_things(count):
    for _ in range(count):
        things[0]()
        things[0].rest[0]()


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


def script(name):
    """A model of the same size, as TorchScript."""
    models[name] = torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.zeros(1, 3))


if __name__ == "__main__":
    if sys.argv[1] != "later":
        import_torch(sys.argv[1])
    serve({"make": make, "drop": drop, "forward": forward, "forwards": forwards,
           "call_each": call_each, "call_shaped": call_shaped, "call_shaped_hooked": call_shaped_hooked,
           "swap_type": swap_type, "load": load, "make_switches": make_switches, "switch_in_forwards": switch_in_forwards,
           "leave_in_forwards": leave_in_forwards,
            "compile_main": compile_main, "oracle": oracle, "odd_calls": odd_calls, "make_odd": make_odd,
           "dive": dive, "forward_in_threads": forward_in_threads, "forward_for_ever": forward_for_ever,
           "schedules": schedules, "call_odd": call_odd, "call_lies": call_lies, "call_false": call_false,
           "call_things": call_things, "train": train, "script": script, "import_torch": import_torch, "truth": truth, "make_things": make_things, "mutate": mutate,
           "settle": settle, "lie": lie, "stop_lying": stop_lying, "set_training": lambda mode: models["main"].train(mode) and None})
