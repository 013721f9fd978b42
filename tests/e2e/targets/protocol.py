"""The line protocol of the processes that the tests slow, and what such a process can say of itself.

A request is a line [name, arguments], the reply {"answer": ...} or {"error": ...}. Runs on Python 2.7 and
3.6 to 3.15: it uses nothing newer.
"""
import gc
import json
import os
import sys
import traceback


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def serve(functions, meanwhile=None):
    """`meanwhile` is what the process does until there is something to read. A function may add others to them."""
    functions.setdefault("armed_code", armed_code)
    say({"answer": {"pid": os.getpid(), "version": list(sys.version_info[:3])}})
    while True:
        if meanwhile:
            meanwhile()
        line = sys.stdin.readline()
        if not line:
            return
        name, arguments = json.loads(line)
        if name == "end":
            say({"answer": None})
            return
        try:
            say({"answer": functions[name](*arguments)})
        except BaseException:
            say({"error": traceback.format_exc()})


def _at(kind, address):
    return kind.from_address(address).value


def _first_unit(code, firsttraceable, code_adaptive):
    import ctypes
    return _at(ctypes.c_uint8, code + code_adaptive + 2 * _at(ctypes.c_int32, code + firsttraceable))


def is_armed(code):
    """Of the code object at that address. The offsets are CPython's, from Include/cpython/code.h of each version."""
    import ctypes
    version = sys.version_info[:2]
    if version <= (3, 10):
        return _at(ctypes.c_int32, code + 168) < 0  # co_opcache_flag
    if version == (3, 11):  # RESUME where warm code has RESUME_QUICK
        return _first_unit(code, 168, 184) == 151 and _at(ctypes.c_int16, code + 52) == 0
    if version == (3, 12):
        return _first_unit(code, 176, 192) == 240  # INSTRUMENTED_RESUME
    if version == (3, 13):
        free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
        return (_first_unit(code, 200, 216) if free_threaded else _first_unit(code, 184, 200)) == 236
    return _first_unit(code, 192, 208) == (245 if version == (3, 14) else 244)


def is_armed_where_resumed(code):
    """Of a generator or coroutine, 3.11 on, beside its start."""
    import ctypes
    import opcode
    version = sys.version_info[:2]
    if version < (3, 11) or not code.co_flags & (0x20 | 0x80 | 0x200):
        return False
    adaptive, mark = {11: (184, 151), 12: (192, 240), 13: (200, 236), 14: (208, 245), 15: (208, 244)}[version[1]]
    if version == (3, 13) and not sys._is_gil_enabled():
        adaptive = 216
    if version == (3, 11) and _at(ctypes.c_int16, id(code) + 52) != 0:
        return False
    plain, code_units = opcode.opmap["RESUME"], bytearray(code.co_code)  # in which inline caches are zero
    return any(code_units[at] == plain and _at(ctypes.c_uint8, id(code) + adaptive + at) == mark
               for at in range(0, len(code_units), 2))


def code_objects():
    """Those of all functions of the process, and what they enclose."""
    todo = [one.__code__ for one in gc.get_objects() if type(one) is type(serve)]
    seen = set()
    while todo:
        code = todo.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        yield code
        todo += [one for one in code.co_consts if type(one) is type(code)]


def armed_code():
    """Names of the code objects that carry the mark of a session. Not for a process that watches PY_START."""
    return sorted("%s:%s" % (code.co_filename, code.co_name) for code in code_objects()
                  if is_armed(id(code)) or is_armed_where_resumed(code))
