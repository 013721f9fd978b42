"""What an interpreter says of its own bytecode, for resume_units_test.cc. Of CPython 3.11 and later.

    length OPCODE UNITS              the units of inline cache behind an opcode, specialised and instrumented ones too
    code FIRST UNITS HEX             a resumable code object as it lies in memory: _co_firsttraceable, and its frames
                                     are entered: each RESUME of co_code, in which all inline caches are zero, but for
                                     that with which a generator expression of 3.15 takes its iterator
"""
import asyncio
import collections
import concurrent.futures
import contextlib
import ctypes
import dis
import gc
import opcode
import os
import sys
import tokenize
import types

MINOR = sys.version_info[1]
# co_firsttraceable, co_code_adaptive: Include/cpython/code.h
OFFSETS = {11: (168, 184), 12: (176, 192), 13: (184, 200), 14: (192, 208), 15: (192, 208)}
RESUMABLE = 0x20 | 0x80 | 0x200
MOST_FILES = 250


def opcodes():
    """Numbers by name, and the base form of each specialised one."""
    if MINOR <= 12:
        families = opcode._specializations
        return dis._all_opmap, {one: base for base, family in families.items() for one in family}
    import _opcode_metadata
    names = dict(opcode.opmap, **_opcode_metadata._specialized_opmap)
    names.update({name: number for name, number in vars(dis)["_all_opmap"].items()})
    return names, {one: base for base, family in _opcode_metadata._specializations.items() for one in family}


def lengths():
    names, bases = opcodes()
    entries = opcode._inline_cache_entries
    for name, number in names.items():
        if number > 255:
            continue
        base = bases.get(name, name)
        if base.startswith("INSTRUMENTED_") and base[len("INSTRUMENTED_"):] in names:
            base = base[len("INSTRUMENTED_"):]
        by_name = hasattr(entries, "get")
        yield number, entries.get(base, 0) if by_name else entries[names[base]]


def nested(code):
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from nested(one)


def standard_library():
    """Cold code, of all kinds."""
    folder = os.path.dirname(os.__file__)
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    paths += [os.path.join(folder, "asyncio", name) for name in sorted(os.listdir(os.path.join(folder, "asyncio")))
              if name.endswith(".py")]
    for path in paths[:MOST_FILES]:
        with contextlib.suppress(SyntaxError, OSError), tokenize.open(path) as file:
            yield from nested(compile(file.read(), path, "exec"))


async def awaits(n):
    async def one(i):
        await asyncio.sleep(0)
        return i

    async def many():
        for i in range(n):
            yield await one(i)

    total = 0
    async for i in many():
        async with contextlib.AsyncExitStack():
            total += i * 2 if i % 3 else len([j for j in range(3)])
    return total


def yields(n):
    values = collections.defaultdict(int)
    for i in range(n):
        values[i % 7] += i
        received = yield "%d" % values[i % 7], [i, i + 1][0], str(i)
        if received:
            yield from (x for x in range(received))


def warm_code():
    """That has run, and is specialised."""
    for _ in range(30):
        asyncio.run(awaits(20))
        sum(len(one) for one in yields(50))
    list(tokenize.generate_tokens(iter(["a = f(b)[1:2] + 3 # x\n"] * 200).__next__))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(str, range(100)))
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType):
            yield from nested(one.__code__)


def describe(code):
    first, start = OFFSETS[MINOR]
    size = len(code.co_code)
    raw = (ctypes.c_uint8 * size).from_address(id(code) + start)
    units = [i // 2 for i in range(0, size, 2)
             if code.co_code[i] == opcode.opmap["RESUME"] and (MINOR < 15 or code.co_code[i + 1] & 7 != 4)]
    return "code %d %s %s" % (ctypes.c_int32.from_address(id(code) + first).value, ",".join(map(str, units)),
                              bytes(raw).hex())


def main():
    for number, units in lengths():
        print("length", number, units)
    seen = set()
    for code in [*standard_library(), *warm_code()]:
        if code.co_flags & RESUMABLE and code.co_code not in seen:
            seen.add(code.co_code)
            print(describe(code))


main()
