"""A process with a PyTorch model, and what is true of it, told by itself: with the real torch, or with stub_torch.

Arguments: "torch", or the layout for stub_torch ("1.13", "2.13").
"""
import sys
import threading

from protocol import serve

if sys.argv[1] == "torch":
    import torch
else:
    import stub_torch
    torch = stub_torch.install(sys.argv[1])
nn = torch.nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.num_heads, self.scale, self.name = heads, width ** -0.5, "it's \"q\\k\"\n"
        self.rope, self.window, self._private, self.big = None, (width, [1, 2.5]), 7, 2 ** 70
        self.shape_hint = (width,)
        self.q_proj, self.k_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.out_proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.zeros(4, 4))
        self.register_buffer("nothing", None)

    def forward(self, x):
        self.k_proj(x)
        return self.out_proj(self.q_proj(x))


class Block(nn.Module):
    def __init__(self, width, norm, number):
        super().__init__()
        self.layer_idx = number
        self.attn = Attention(width, 2)
        self.norm, self.shared = norm, norm  # one module with two names
        self.act, self.drop, self.skip = nn.ReLU(inplace=number == 1), nn.Dropout(0.1), nn.Identity()
        self.absent = None

    def forward(self, x):
        return self.skip(self.drop(self.act(self.norm(self.attn(x)))))


class Model(nn.Module):
    def __init__(self, width=8, blocks=3):
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.layers = nn.ModuleList([Block(width, nn.LayerNorm(width, eps=1e-6), i) for i in range(blocks)])
        self.vision = nn.Sequential(
            nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 1), groups=2), nn.BatchNorm2d(8), nn.MaxPool2d(2, padding=1),
            nn.AvgPool2d((2, 2), stride=2), nn.AdaptiveAvgPool2d((3, 3)), nn.Upsample(scale_factor=2),
            nn.UpsamplingNearest2d(scale_factor=4), nn.ConvTranspose2d(8, 4, 2))
        self.lm_head = nn.Linear(width, 11, bias=False)
        self.lm_head.weight = self.embed.weight  # tied

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)


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
    models[name] = Model(*arguments)
    return len(list(models[name].named_modules()))


def drop(name):
    import gc
    del models[name]
    gc.collect()


def forward(name):
    return list(models[name](torch.zeros(2, 5) if sys.argv[1] != "torch" else torch.zeros(2, 5, dtype=torch.long)).size())


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


if __name__ == "__main__":
    serve({"make": make, "drop": drop, "forward": forward, "truth": truth, "make_things": make_things, "mutate": mutate,
           "settle": settle, "lie": lie, "stop_lying": stop_lying, "train": lambda mode: models["main"].train(mode) and None})
