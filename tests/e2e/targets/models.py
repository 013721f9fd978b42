"""A process with a PyTorch model, and what is true of it, told by itself: with the real torch, or with stub_torch.

Arguments: "torch", or the layout for stub_torch ("1.13", "2.13"), or "later": see import_torch().
"""
import sys
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
           "call_each": call_each, "swap_type": swap_type,
           "call_things": call_things, "train": train, "script": script, "import_torch": import_torch, "truth": truth, "make_things": make_things, "mutate": mutate,
           "settle": settle, "lie": lie, "stop_lying": stop_lying, "set_training": lambda mode: models["main"].train(mode) and None})
