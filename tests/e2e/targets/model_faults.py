"""A process that changes its model all the time, or lies about it."""
import ctypes
import gc
import sys
import threading

import torch
from model_commands import command, models, tensor

nn = torch.nn
stop = threading.Event()
changes = [0]


@command
def call_false():
    """A tensor that is none: what it says of itself leads nowhere."""
    class False_(torch.Tensor):
        pass

    models["main"].odd(type(tensor(1)).at(False_, 0xdead0000))


@command
def call_lies():
    """Arguments that say of themselves what is not so, and which nobody in here looks at meanwhile. How many calls these were."""
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


classes = []


@command
def call_with_class_of_none():
    """With an object that is no tensor."""
    classes.append(type("Other", (), {}))
    models["main"].odd(classes[-1]())


@command
def replace_class():
    """Its address is given to one of tensors. Whether it was."""
    address = id(classes.pop())
    gc.collect()
    for _ in range(1000):
        classes.append(type("Mine", (torch.Tensor,), {}))  # each keeps its place
        if id(classes[-1]) == address:
            return True
    return False


@command
def call_with_new_class():
    models["main"].odd(classes[-1](2, 3))
    return True


calls = []  # of a module that waits: threads, and what lets them go on


@command
def make_waiting():
    class Waiting(nn.Module):
        def forward(self, x, begun, go_on):
            begun.set()
            go_on.wait()
            return x

    models["main"].waiting = Waiting()


@command
def begin_call():
    """It is in the middle of it, on a thread of its own."""
    begun, go_on = threading.Event(), threading.Event()
    thread = threading.Thread(target=models["main"].waiting, args=(tensor(2), begun, go_on), daemon=True)
    thread.start()
    calls.append((thread, go_on))
    return begun.wait(10)


@command
def end_call():
    thread, go_on = calls.pop()
    go_on.set()
    thread.join()


@command
def swap_type():
    """A module is another thing for one call."""
    m = models["main"].layers[0].skip
    own = m.__class__
    m.__class__ = type("Other", (nn.Module,), {"__call__": lambda self: 5})
    answer = m()
    m.__class__ = own
    return answer


@command
def mutate():
    """Modules and attributes come and go all the time, with and without collections."""
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


@command
def settle():
    """How often they did."""
    stop.set()
    return changes[0]


@command
def lie():
    """An object that says that it is a module, with attributes that no module has."""
    m = models["main"]
    m.layers[2]._modules["fake"] = 7
    return True


@command
def stop_lying():
    del models["main"].layers[2]._modules["fake"]
