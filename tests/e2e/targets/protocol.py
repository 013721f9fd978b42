"""The line protocol of the processes that the tests slow, and what such a process can say of itself.

A request is a line [name, arguments], the reply {"answer": ...} or {"error": ...}. Runs on Python 2.7 and
3.6 to 3.13: it uses nothing newer.
"""
import gc
import json
import os
import sys
import traceback


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def serve(functions):
    say({"answer": {"pid": os.getpid(), "version": list(sys.version_info[:3])}})
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        name, arguments = json.loads(line)
        if name == "end":
            say({"answer": None})
            return
        try:
            say({"answer": (armed_code if name == "armed_code" else functions[name])(*arguments)})
        except BaseException:
            say({"error": traceback.format_exc()})


def _at(kind, address):
    return kind.from_address(address).value


def _first_unit(code, firsttraceable, code_adaptive):
    import ctypes
    return _at(ctypes.c_uint8, id(code) + code_adaptive + 2 * _at(ctypes.c_int32, id(code) + firsttraceable))


def is_armed(code):
    """Read from the code object itself. The offsets are CPython's, from Include/cpython/code.h of each version."""
    import ctypes
    version = sys.version_info[:2]
    if version <= (3, 10):
        return _at(ctypes.c_int32, id(code) + 168) < 0  # co_opcache_flag
    if version == (3, 11):  # RESUME where warm code has RESUME_QUICK
        return _first_unit(code, 168, 184) == 151 and _at(ctypes.c_int16, id(code) + 52) == 0
    if version == (3, 12):
        return _first_unit(code, 176, 192) == 240  # INSTRUMENTED_RESUME
    return _first_unit(code, 184, 200) == 236


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
    return sorted("%s:%s" % (code.co_filename, code.co_name) for code in code_objects() if is_armed(code))
