"""What sbump looks at of PyTorch, in pure Python, for interpreters that have no torch: after install() `import torch` finds it.

Classes, their modules and their attributes are those of torch.nn; a call of a module takes the same way (Module.__call__, a
Python function, then forward). A tensor is an object with the address of a TensorImpl in it, laid out as torch 1.13 or
2.13 have it: of a complex number the second word (at 24), of a float the first (at 16).
"""
import ctypes
import struct
import sys
import types
from collections import OrderedDict

CODES = {"uint8": (0, 1), "int64": (4, 8), "float16": (5, 2), "float32": (6, 4), "float64": (7, 8), "bool": (11, 1),
         "bfloat16": (15, 2)}

# Offsets: of the storage in a TensorImpl, of its sizes; and whether an optional begins with its flag.
LAYOUTS = {"1.13": (24, 72, True), "2.13": (16, 56, False)}


def as_float(address):
    return struct.unpack("d", struct.pack("Q", address))[0]


class Memory:
    """Bytes at an address."""

    def __init__(self, size):
        self.bytes = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self.bytes)

    def put(self, offset, kind, *values):
        struct.pack_into("=" + kind, self.bytes, offset, *values)


def contiguous(dims):
    strides, step = [], 1
    for dim in reversed(dims):
        strides.insert(0, step)
        step *= max(dim, 1)
    return strides


def product(dims):
    total = 1
    for dim in dims:
        total *= dim
    return total


def fill(impl, layout, dims, strides, offset, dtype, storage, device):
    storage_at, sizes_at, flag_first = LAYOUTS[layout]
    code, _ = CODES[dtype]
    impl.put(storage_at, "Q", storage.address)
    impl.put(sizes_at, "q", len(dims))
    if len(dims) <= 5:
        impl.put(sizes_at + 8, "%dq" % len(dims), *dims)
        impl.put(sizes_at + 48, "%dq" % len(dims), *strides)
    else:
        impl.far = Memory(16 * len(dims))
        impl.far.put(0, "%dq" % (2 * len(dims)), *(list(dims) + strides))
        impl.put(sizes_at + 8, "Q", impl.far.address)
    impl.put(sizes_at + 88, "qq", offset, product(dims))
    impl.put(sizes_at + 104, "H", code)
    kind, index = device
    impl.put(sizes_at + 106, "3B", *([1, kind, index & 255] if flag_first else [kind, index & 255, 1]))


def tensor_classes(layout):
    if layout == "1.13":
        class _TensorBase(complex):
            @staticmethod
            def at(cls, address):
                return complex.__new__(cls, 0.0, as_float(address))
    else:
        class _TensorBase(float):
            @staticmethod
            def at(cls, address):
                return float.__new__(cls, as_float(address))

    _TensorBase.__name__ = _TensorBase.__qualname__ = "_TensorBase" if layout == "1.13" else "TensorBase"
    _TensorBase.__module__ = "torch._C"

    class Tensor(_TensorBase):
        def __new__(cls, *dims, dtype="float32", base=None, offset=0, device=(0, -1)):
            impl = Memory(216)
            size = CODES[dtype][1]
            storage = base.storage if base is not None else Memory(80)
            if base is None:
                storage.put(LAYOUTS[layout][0] + 32, "q", (offset + product(dims)) * size)
            fill(impl, layout, dims, contiguous(dims), offset, dtype, storage, device)
            self = cls.at(cls, impl.address)
            self.impl, self.storage, self.dims, self.dtype = impl, storage, list(dims), dtype
            return self

        def __init__(self, *dims, **options):
            pass

        # Nothing is computed.
        __hash__ = object.__hash__
        __eq__ = object.__eq__
        __ne__ = object.__ne__

        def size(self):
            return tuple(self.dims)

    class Parameter(Tensor):
        pass

    return Tensor, Parameter


def module_class(containers):
    class Module:
        def __init__(self):
            self.__dict__["training"] = True
            for name in ("_parameters", "_buffers", "_modules"):
                self.__dict__[name] = containers()

        def __setattr__(self, name, value):
            import torch
            if isinstance(value, torch.nn.Parameter):
                self._parameters[name] = value
            elif isinstance(value, Module):
                self._modules[name] = value
            else:
                object.__setattr__(self, name, value)

        def __getattr__(self, name):
            for held in ("_parameters", "_buffers", "_modules"):
                if name in self.__dict__[held]:
                    return self.__dict__[held][name]
            raise AttributeError(name)

        def __delattr__(self, name):
            for held in ("_parameters", "_buffers", "_modules"):
                if name in self.__dict__[held]:
                    del self.__dict__[held][name]
                    return
            object.__delattr__(self, name)

        def register_buffer(self, name, value):
            self._buffers[name] = value

        def register_parameter(self, name, value):
            self._parameters[name] = value

        def add_module(self, name, module):
            self._modules[name] = module

        def _wrapped_call_impl(self, *args, **kwargs):
            return self._call_impl(*args, **kwargs)

        def _call_impl(self, *args, **kwargs):
            if not self._forward_pre_hooks and not self._forward_hooks:
                return self.forward(*args, **kwargs)
            for hook, with_kwargs in self._forward_pre_hooks:
                replaced = hook(self, args, kwargs) if with_kwargs else hook(self, args)
                if replaced is not None and with_kwargs:
                    args, kwargs = replaced
                elif replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
            result = self.forward(*args, **kwargs)
            for hook, _ in self._forward_hooks:
                replaced = hook(self, args, result)
                result = result if replaced is None else replaced
            return result

        __call__ = _wrapped_call_impl

        # Of an instance once it has some.
        _forward_pre_hooks = _forward_hooks = ()

        def _register(self, name, hook, with_kwargs):
            held = self.__dict__.setdefault(name, [])
            held.append((hook, with_kwargs))
            return types.SimpleNamespace(remove=lambda: held.remove((hook, with_kwargs)))

        def register_forward_pre_hook(self, hook, with_kwargs=False):
            return self._register("_forward_pre_hooks", hook, with_kwargs)

        def register_forward_hook(self, hook):
            return self._register("_forward_hooks", hook, False)

        def forward(self, x, *rest, **named):
            return x

        def train(self, mode=True):
            self.training = mode
            for child in self._modules.values():
                if child is not None:
                    child.train(mode)
            return self

        def named_modules(self, memo=None, prefix=""):
            memo = set() if memo is None else memo
            if self in memo:
                return
            memo.add(self)
            yield prefix, self
            for name, child in self._modules.items():
                if child is not None:
                    yield from child.named_modules(memo, prefix + ("." if prefix else "") + name)

        def _named(self, held):
            seen = set()
            for name, value in held.items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield name, value

        def named_parameters(self, recurse=False):
            return self._named(self._parameters)

        def named_buffers(self, recurse=False):
            return self._named(self._buffers)

    return Module


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def layers(Module, Tensor, Parameter):
    """By the module that torch has them in."""

    class Linear(Module):
        def __init__(self, in_features, out_features, bias=True):
            super().__init__()
            self.in_features, self.out_features = in_features, out_features
            self.weight = Parameter(out_features, in_features)
            if bias:
                self.bias = Parameter(out_features)
            else:
                self.register_parameter("bias", None)

        def forward(self, x):
            return Tensor(*(x.dims[:-1] + [self.out_features]))

    class Identity(Module):
        pass

    class Embedding(Module):
        def __init__(self, num_embeddings, embedding_dim):
            super().__init__()
            self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
            self.padding_idx = None
            self.weight = Parameter(num_embeddings, embedding_dim)

        def forward(self, x):
            return Tensor(*(x.dims + [self.embedding_dim]))

    class _ConvNd(Module):
        def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1):
            super().__init__()
            self.in_channels, self.out_channels = in_channels, out_channels
            self.kernel_size, self.stride, self.padding = pair(kernel_size), pair(stride), pair(padding)
            self.dilation, self.groups = pair(dilation), groups
            self.transposed, self.output_padding, self.padding_mode = self.TRANSPOSED, (0, 0), "zeros"
            shape = (in_channels, out_channels // groups) if self.TRANSPOSED else (out_channels, in_channels // groups)
            self.weight = Parameter(*(shape + self.kernel_size))
            self.bias = Parameter(out_channels)

    class Conv2d(_ConvNd):
        TRANSPOSED = False

    class ConvTranspose2d(_ConvNd):
        TRANSPOSED = True

    class MaxPool2d(Module):
        def __init__(self, kernel_size, stride=None, padding=0, dilation=1):
            super().__init__()
            self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
            self.padding, self.dilation = padding, dilation
            self.return_indices = self.ceil_mode = False

    class AvgPool2d(Module):
        def __init__(self, kernel_size, stride=None, padding=0):
            super().__init__()
            self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
            self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override = padding, False, True, None

    class AdaptiveAvgPool2d(Module):
        def __init__(self, output_size):
            super().__init__()
            self.output_size = output_size

    class BatchNorm2d(Module):
        def __init__(self, num_features, eps=1e-5, momentum=0.1):
            super().__init__()
            self.num_features, self.eps, self.momentum = num_features, eps, momentum
            self.affine = self.track_running_stats = True
            self.weight, self.bias = Parameter(num_features), Parameter(num_features)
            self.register_buffer("running_mean", Tensor(num_features))
            self.register_buffer("num_batches_tracked", Tensor(dtype="int64"))

    class LayerNorm(Module):
        def __init__(self, size, eps=1e-5):
            super().__init__()
            self.normalized_shape, self.eps, self.elementwise_affine = (size,), eps, True
            self.weight, self.bias = Parameter(size), Parameter(size)

    class ReLU(Module):
        def __init__(self, inplace=False):
            super().__init__()
            self.inplace = inplace

    class Dropout(Module):
        def __init__(self, p=0.5, inplace=False):
            super().__init__()
            self.p, self.inplace = p, inplace

    class Upsample(Module):
        def __init__(self, size=None, scale_factor=None, mode="nearest"):
            super().__init__()
            self.name, self.size, self.mode = type(self).__name__, size, mode
            self.scale_factor = float(scale_factor) if scale_factor else None

    class UpsamplingNearest2d(Upsample):
        pass

    class Sequential(Module):
        def __init__(self, *modules):
            super().__init__()
            for number, module in enumerate(modules):
                self.add_module(str(number), module)

        def forward(self, x):
            for module in self._modules.values():
                x = module(x)
            return x

    class ModuleList(Module):
        def __init__(self, modules=()):
            super().__init__()
            for number, module in enumerate(modules):
                self.add_module(str(number), module)

        def __iter__(self):
            return iter(self._modules.values())

        def __getitem__(self, number):
            return self._modules[str(number)]

    return {"linear": [Linear, Identity], "sparse": [Embedding], "conv": [_ConvNd, Conv2d, ConvTranspose2d],
            "pooling": [MaxPool2d, AvgPool2d, AdaptiveAvgPool2d], "batchnorm": [BatchNorm2d],
            "normalization": [LayerNorm], "activation": [ReLU], "dropout": [Dropout],
            "upsampling": [Upsample, UpsamplingNearest2d], "container": [Sequential, ModuleList]}


def install(layout):
    def module(name, **members):
        made = sys.modules[name] = types.ModuleType(name)
        for key, value in members.items():
            if isinstance(value, type) and value.__module__ == __name__:
                value.__module__, value.__qualname__ = name, key
            setattr(made, key, value)
        return made

    Tensor, Parameter = tensor_classes(layout)
    # Their containers: OrderedDict in 1.13, dict in 2.x.
    Module = module_class(OrderedDict if layout == "1.13" else dict)
    torch = module("torch", Tensor=Tensor, __version__=layout)
    torch.nn = module("torch.nn", Module=None)
    module("torch.nn.parameter", Parameter=Parameter)
    module("torch.nn.modules")
    module("torch.nn.modules.module", Module=Module)
    torch.nn.Module, torch.nn.Parameter = Module, Parameter
    for name, classes in layers(Module, Tensor, Parameter).items():
        module("torch.nn.modules." + name, **{one.__name__: one for one in classes})
        for one in classes:
            setattr(torch.nn, one.__name__, one)
    torch.randn = torch.zeros = Tensor
    return torch
