"""The oracle: what is true of a model and of its calls, told in the process, as tracers in it would."""
import inspect
import time

import torch
from model_commands import COMMANDS, command, models, tensor, tokens

nn = torch.nn


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
             "qualified_type": type(m).__module__ + "." + type(m).__qualname__, "type_module": type(m).__module__,
             "parameters": dims(m.named_parameters(recurse=False)), "buffers": dims(m.named_buffers(recurse=False)),
             "static_params_text": str(static_params(m)) if static_params(m) else "",
             "static_params": dict(attributes(m), **static_params(m)), "aliases": paths[id(m)][1:]}
            for path, m in model.named_modules(prefix=prefix)]


@command
def truth(name="main", prefix="top"):
    return truth_of(models[name], prefix)


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
    for key, value in values.items():
        found = dims_in([value])
        told.update({key: found} if found else {})
    static = static_params(m)
    told.update({"StaticParams": static} if static else {})
    return str(told)


SKIPPED = tuple(getattr(nn, name) for name in ("Identity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
                if hasattr(nn, name))


def hooked(calls):
    """The oracle: what an in-process tracer tells of them. Its hooks are gone afterwards."""
    Module, names, texts, own = nn.Module, {}, [], nn.Module.__call__
    for path, m in models["main"].named_modules(prefix="top"):
        names[id(m)] = path

    def call(self, *args, **kwargs):
        if isinstance(self, SKIPPED) or id(self) not in names:
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


@command
def tells_hooks_of_keywords():
    """What vLLM's layerwise tracing needs: torch 2.0."""
    return "with_kwargs" in inspect.signature(nn.Module.register_forward_pre_hook).parameters


def traced_by_hooks(calls):
    """The same by that tracing's own means: a hook before and one after each module, beside those that are there."""
    texts, handles, options = [], [], {"with_kwargs": True} if tells_hooks_of_keywords() else {}

    def register(m, path):
        def before(m, args, kwargs=None):
            texts.append(marker(m, path, Inputs=args, **(kwargs or {})))

        def after(m, args, result):
            texts.append(marker(m, path, Outputs=result))

        handles.extend([m.register_forward_pre_hook(before, **options), m.register_forward_hook(after)])

    for path, m in models["main"].named_modules(prefix="top"):
        if not isinstance(m, SKIPPED):
            register(m, path)
    try:
        calls()
    finally:
        for handle in handles:
            handle.remove()
    return texts


@command
def add_pre_hook():
    """Of its own: of two sentences that a layer is given it goes on with one."""
    models["main"].layers[1].register_forward_pre_hook(lambda m, inputs: (tensor(1, 5, 8),))


@command
def make_odd():
    """A module that gives back what it is given."""
    class Odd(nn.Module):
        def forward(self, *args, fail=False, **kwargs):
            if fail:
                1 / 0
            return [list(args), kwargs] if kwargs else args[0] if len(args) == 1 else args

    models["main"].odd = Odd()


@command
def make_each_type():
    """Of those that vLLM's layerwise tracing has parameters of, in all dims; and those that it leaves out. The real torch alone."""
    layers = [nn.UpsamplingBilinear2d(scale_factor=2), nn.UpsamplingNearest2d(size=(3, 5)), nn.Upsample(size=4),
              nn.ReLU(inplace=True), nn.Embedding(3, 4, padding_idx=1), nn.Linear(2, 3, bias=False)]
    for n in (1, 2, 3):
        def of(kind, *arguments, **named):
            layers.append(getattr(nn, "%s%dd" % (kind, n))(*arguments, **named))

        of("Conv", 4, 8, 3, stride=2, padding=1, dilation=2, groups=2, padding_mode="circular")
        of("Conv", 4, 4, 3, padding="same")
        of("ConvTranspose", 4, 8, 3, stride=2, output_padding=1)
        of("MaxPool", 3, padding=1)
        of("MaxPool", (3,) * n, stride=(2,) * n)
        of("AvgPool", 2, ceil_mode=True, count_include_pad=False)
        of("AdaptiveAvgPool", 3)
        of("AdaptiveAvgPool", (3,) * n)
        of("BatchNorm", 8, momentum=None)
        of("Dropout", 0.3)
    for layer in layers:
        models["main"].vision.add_module("each_%d" % len(models["main"].vision), layer)


class Batch(tuple):
    pass


@command
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
    raise_in_odd()
    models["main"](tokens())


@command
def raise_in_odd():
    try:
        models["main"].odd(tensor(2), fail=True)
    except ZeroDivisionError:
        pass


@command
def call_each_type():
    """Each layer of `vision`, by its own forward, with what it takes. The results, to the last bit. The real torch alone."""
    import hashlib
    torch.manual_seed(5)
    seen = hashlib.sha256()
    for m in models["main"].vision._modules.values():
        with torch.no_grad():
            seen.update(m(input_for(m)).contiguous().numpy().tobytes())
    return seen.hexdigest()


def input_for(m):
    name = type(m).__name__
    if name == "Embedding":
        return torch.randint(0, m.num_embeddings, (2, 3))
    if name == "Linear":
        return torch.rand(2, m.in_features)
    sizes = int(name[-2]) if name[-1] == "d" else 1
    return torch.rand(2, getattr(m, "in_channels", getattr(m, "num_features", 4)), *[12] * sizes)


@command
def tensors():
    """{path: {name: [dtype, device]}} of parameters and buffers. The real torch alone."""
    return {path: {name: [str(one.dtype).replace("torch.", ""), str(one.device)]
                   for named in (m.named_parameters(recurse=False), m.named_buffers(recurse=False)) for name, one in named}
            for path, m in models["main"].named_modules(prefix="top")}


@command
def oracle(calls="odd_calls"):
    return hooked(COMMANDS[calls])


@command
def oracle_of_hooks(name, *arguments):
    return traced_by_hooks(lambda: COMMANDS[name](*arguments))


@command
def call_odd(*shapes):
    models["main"].odd(*(tensor(*shape) for shape in shapes))


@command
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
            found.append((path + "." + name if path else name, path, name))
            walk(child, found[-1][0])

    seen, found = set(), [(prefix, "", prefix)]
    walk(models["main"], prefix)
    return found
