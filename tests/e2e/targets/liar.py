"""A process that looks like Python and lies: it overwrites its own structures, where it will not look at them itself.

It takes no further step that could meet its lies: no garbage collection, no call of what it spoilt.
"""
import ctypes
import fcntl
import gc
import mmap
import os
import struct
import sys
import threading
import time

from protocol import serve

POINTER = 8
HEADER = object.__basicsize__
GC_HEAD = 16
# x86-64; include/uapi/linux/userfaultfd.h
USERFAULTFD, UFFD_API, UFFDIO_API, UFFDIO_REGISTER, MODE_MISSING = 323, 0xAA, 0xC018AA3F, 0xC020AA00, 1
kept = []
stop = False


def step(x):
    return x + 1


def call(n):
    return sum(step(i) for i in range(n))


def word(address):
    return ctypes.c_uint64.from_address(address)


def keep(function):
    """With a name in this module: without a GIL there are no lists in which a reader would find it."""
    globals()["kept_%d" % len(kept)] = function
    kept.append(function)


def spoilt(number):
    """A function of its own, and the addresses in its code object that hold its file's name."""
    name = "/nowhere/spoilt_%d_%d.py" % (number, len(kept))
    space = {}
    exec(compile("def spoilt():\n    def inner():\n        return 1\n    return inner\n", name, "exec"), space)
    code = space["spoilt"].__code__
    own_name = code.co_filename
    keep(space["spoilt"])
    kept.append((space, own_name))
    places = [id(code) + POINTER * i for i in range(2, 24) if word(id(code) + POINTER * i).value == id(own_name)]
    assert places, "no pointer to its name in the code object"
    return code, places[0]


# ---- Lies ----

def loops():
    """A list of the garbage collector that leads to itself; without a GIL there is none, and a module does."""
    gc.disable()
    if HEADER > 16:
        globals()["itself"] = type(sys)("itself")
        itself.itself, itself.type = itself, type("type", (), {"itself": itself})
        itself.type.type = itself.type
        return
    row = [[] for _ in range(100)]
    kept.append(row)
    # Its neighbours stay: the end of the next one would mend it.
    head = id(row[50]) - GC_HEAD
    word(head).value = head | (word(head).value & 3)


def wild_pointers():
    values = [0, 1, 8, 0x7FFFFFFFF000, 0xFFFF800000000000, 0xFFFFFFFFFFFFFFFF, id(None), id(int), 0x7FFFFFFFFFFF]
    for i, value in enumerate(values):
        _, place = spoilt(i)
        word(place).value = value


def huge_sizes():
    for i, size in enumerate([1 << 20, 1 << 32, 1 << 40, 1 << 62, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF]):
        code, _ = spoilt(i)
        word(id(code.co_consts) + HEADER).value = size  # ob_size
        name = "x%d" % i * 20
        _, place = spoilt(100 + i)
        kept.append(name)
        word(id(name) + HEADER).value = size  # its length
        word(place).value = id(name)


def long_names():
    """Names of 100 MB, and 5,000 of 60 KB."""
    big = "n" * (100 << 20)
    for changes in [{"co_name": big}, {"co_filename": big}, {"co_name": big, "co_filename": big}]:
        keep(type(step)(step.__code__.replace(**changes), {}))
    for i in range(5000):
        keep(type(step)(step.__code__.replace(co_name="m" * 60000 + str(i)), {}))


class Thing:
    def __call__(self):
        return 1


def long_bases():
    """Classes with long names, each derived from all before it, and an object of each."""
    chain = Thing
    for i in range(240):
        chain = type("Thing", (chain,), {"__qualname__": "x" * 1000})
        kept.append(chain())
    for i in range(1000):
        kept.append(type("Thing", (chain,), {"__qualname__": "x" * 1000})())


def shared_children():
    """Objects that all hold ten thousand others, by one and the same dict."""
    held = {"x%d" % i: Thing() for i in range(10_000)}
    for i in range(20_000):
        thing = Thing()
        thing.__dict__["_modules"] = held
        kept.append(thing)


def shared_items():
    """Objects that all have ten thousand times the same list of ten thousand numbers."""
    numbers = list(range(10_000))
    held = {"x%d" % i: numbers for i in range(10_000)}
    for i in range(1000):
        thing = Thing()
        thing.__dict__ = held
        kept.append(thing)


def with_parameters(count, length):
    """A thing of 200 others, whose `forward` takes so many parameters with names of that length."""
    names = ["p%d%s" % (i, "x" * length) for i in range(count)]
    space = {}
    exec("def forward(self, %s):\n    pass\n" % ", ".join(names), space)
    kind = type("Child", (Thing,), {"forward": space["forward"]})
    whole = Thing()
    whole.__dict__["_modules"] = {"x%d" % i: kind() for i in range(200)}
    kept.append(whole)


def new_names(count):
    """New code all the time, each of a file of its own with a name as long as one may be."""
    for i in range(count):
        exec(compile("def f():\n    pass\nf()\n", "/%060000d.py" % i, "exec"), {})


def consts_lead_back():
    """Constants that hold their own code object, and each other's."""
    one, _ = spoilt(1)
    two, _ = spoilt(2)
    for tuple_of, inner in [(one.co_consts, one), (two.co_consts, one)]:
        for i in range(len(tuple_of)):
            word(id(tuple_of) + HEADER + POINTER * (1 + i)).value = id(inner)


def changes():
    """Code objects that change all the time, under whoever reads them."""
    places = [spoilt(i)[1] for i in range(200)]
    honest = [word(place).value for place in places]

    def change():
        while not stop:
            for value in (8, id(None), 0xFFFF800000000000):
                for place in places:
                    word(place).value = value
            for place, value in zip(places, honest):
                word(place).value = value
            time.sleep(0)

    threading.Thread(target=change, daemon=True).start()


def forged_offsets():
    """3.13 and later: the table that says where everything is."""
    if sys.version_info < (3, 13):
        return
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    assert ctypes.string_at(runtime, 8) == b"xdebugpy"
    for i in range(3, 40):
        word(runtime + POINTER * i).value = (0x9E3779B97F4A7C15 * i) % (1 << 63)


def forged_cookie():
    if sys.version_info < (3, 13):
        return
    word(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))).value = 0x6563696E746F6E


def silent_page(path):
    """A name in a page that never comes."""
    fd = os.open(path, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, 1 << 16, mmap.PROT_READ, mmap.MAP_PRIVATE, fd, 0)
    assert address != ctypes.c_void_p(-1).value
    _, place = spoilt(0)
    word(place).value = address


def unanswered_page():
    """A name in a page that whoever touches it is to get from here (userfaultfd(2)), and never does."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size, anonymous = 1 << 16, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, anonymous, -1, 0)
    assert address != ctypes.c_void_p(-1).value
    fd = libc.syscall(USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    for request, *fields in ((UFFDIO_API, UFFD_API, 0, 0), (UFFDIO_REGISTER, address, size, MODE_MISSING, 0)):
        fcntl.ioctl(fd, request, struct.pack("%dQ" % len(fields), *fields))
    kept.append(fd)
    _, place = spoilt(0)
    word(place).value = address


def silent_library(path):
    """A library whose file never answers, by a name that is looked at."""
    fd = os.open(path, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    assert libc.mmap(None, 1 << 16, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0) != \
        ctypes.c_void_p(-1).value


def many_maps(count):
    """So many lines of maps, or as many as the kernel lets it have."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = 4096 * count
    base = libc.mmap(None, ctypes.c_size_t(size), 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for i in range(0, count, 2):
        if libc.mprotect(ctypes.c_void_p(base + 4096 * i), ctypes.c_size_t(4096), 3) != 0:
            break
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)


def leave():
    """Without meeting its own lies on the way out."""
    os._exit(0)


if __name__ == "__main__":
    serve({name: globals()[name] for name in (
        "call", "loops", "wild_pointers", "huge_sizes", "long_names", "long_bases", "shared_children", "shared_items", "with_parameters", "new_names",
        "consts_lead_back", "changes", "forged_offsets", "forged_cookie", "silent_page", "unanswered_page", "silent_library",
        "many_maps", "leave")})
