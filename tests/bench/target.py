"""The program that the benchmark measures: it times its own calls, and answers over pipes.

Runs on CPython 3.8 and newer. Times are this thread's CPU time (waiting for a processor is not the tool's
doing), in nanoseconds per call, loop included.
"""
import gc
import itertools
import os
import signal
import subprocess
import sys
import time
import types

from protocol import serve  # tests/e2e/targets

# As long as a real program's: thousands of functions beside the two that are measured.
MODULES_TO_IMPORT = """
argparse ast asyncio base64 calendar cmd code codecs codeop colorsys concurrent.futures configparser
contextlib copy csv ctypes dataclasses datetime decimal difflib dis doctest email email.mime.text
email.parser enum fileinput filecmp fractions ftplib getopt gettext glob graphlib gzip hashlib heapq hmac
html html.parser http.client http.cookiejar http.server imaplib importlib.metadata inspect ipaddress
json.tool keyword linecache locale logging logging.config logging.handlers lzma mailbox mimetypes
modulefinder multiprocessing multiprocessing.pool netrc numbers optparse pathlib pdb pickle pickletools
pkgutil platform plistlib poplib pprint profile pstats py_compile pyclbr pydoc queue random reprlib
rlcompleter runpy sched secrets selectors shelve shlex shutil smtplib socket socketserver sqlite3 ssl
statistics string stringprep struct subprocess symtable sysconfig tabnanny tarfile tempfile textwrap
threading timeit token tokenize trace traceback tracemalloc tty types typing unittest unittest.mock
urllib.parse urllib.request urllib.robotparser uuid venv warnings wave weakref webbrowser wsgiref.handlers
xml.dom.minidom xml.etree.ElementTree xml.sax xmlrpc.client xmlrpc.server zipapp zipfile
""".split()


def f(x):
    return x


def g(x):
    return x


def ns_per_call(function, calls):
    arguments = itertools.repeat(1, calls)
    begin = time.thread_time_ns()
    for x in arguments:
        function(x)
    return (time.thread_time_ns() - begin) / calls


def batches(count, calls):
    """Batches of f and g in turn: each batch of g follows hits, where f is armed."""
    result = {"f": [], "g": []}
    for _ in range(count):
        result["f"].append(ns_per_call(f, calls))
        result["g"].append(ns_per_call(g, calls))
    return result


def single_calls(calls):
    """What each call of f costs by this program's own clock, in ns, the clock's own cost included."""
    clock = time.perf_counter_ns
    times = []
    for _ in range(calls):
        begin = clock()
        f(1)
        times.append(clock() - begin)
    return times


def calls_after_work(calls, work_ns):
    """The same, each after C code that computes for so long, and needs no memory to speak of."""
    import hashlib  # one of MODULES_TO_IMPORT
    clock = time.perf_counter_ns

    def work(rounds):
        hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)
    begin = clock()
    work(20_000)
    rounds = max(1, 20_000 * work_ns // (clock() - begin))
    times = []
    for _ in range(calls):
        work(rounds)
        begin = clock()
        f(1)
        times.append(clock() - begin)
    return times


def make_and_run(kind, count):
    """ns for each text that is compiled and run, by the clock: a thread may wait for the daemon meanwhile."""
    begin = time.perf_counter_ns()
    if kind == "eval":
        for _ in range(count):
            eval("1 + 1")
    else:
        for _ in range(count):
            exec(compile("x = 1", "/templates/page.html", "exec"), {})
    return (time.perf_counter_ns() - begin) / count


def import_modules():
    before = len(sys.modules)
    begin = time.thread_time_ns()
    for name in MODULES_TO_IMPORT:
        try:
            __import__(name)
        except ImportError:
            pass  # not in every version, not in every build
    return {"cpu_ns": time.thread_time_ns() - begin, "modules": len(sys.modules) - before}


def grow(code_objects):
    """Until at least so many code objects are alive: imports, then generated functions. How many there are."""
    for name in MODULES_TO_IMPORT:
        if count_code_objects() >= code_objects - 300:
            break
        try:
            __import__(name)
        except ImportError:
            pass
    missing = code_objects - count_code_objects()
    lines = ["def generated_%d(x):\n    return x + %d\n" % (i, i) for i in range(missing)]
    module = types.ModuleType("generated")
    sys.modules["generated"] = module
    exec(compile("".join(lines), "generated.py", "exec"), module.__dict__)
    return count_code_objects()


def generate(functions):
    """A module of so many functions, which have run."""
    module = types.ModuleType("generated")
    lines = ["def generated_%d(x):\n    return x + %d\n" % (i, i) for i in range(functions)]
    exec(compile("".join(lines), "generated.py", "exec"), module.__dict__)
    sys.modules["generated"] = module
    for _ in range(20):
        call_generated()


def call_generated():
    for name, function in vars(sys.modules["generated"]).items():
        if name.startswith("generated_"):
            function(1)


pool = []


def fork_pool(workers, pause_s=0.001):
    """Each of which calls f at leisure, until it is killed or left alone."""
    parent = os.getpid()
    for _ in range(workers):
        pid = os.fork()
        if pid == 0:
            while os.getppid() == parent:
                run(1, pause_s)
            os._exit(0)
        pool.append(pid)


def end_pool():
    for pid in pool:
        os.kill(pid, signal.SIGKILL)
    for pid in pool:
        os.waitpid(pid, 0)


def fork(children):
    """One after the other, as `execute`."""
    for _ in range(children):
        pid = os.fork()
        if pid == 0:
            run(1)
            time.sleep(0.3)
            os._exit(0)
        os.waitpid(pid, 0)


def execute(children):
    """One after the other: half of them as subprocess does it, half forked before they execute."""
    command = [sys.executable, "-c", "import time; time.sleep(0.3)"]
    for i in range(children):
        if i % 2 == 0:
            subprocess.run(command, check=True)
            continue
        pid = os.fork()
        if pid == 0:
            os.execv(command[0], command)
        os.waitpid(pid, 0)


def count_code_objects():
    seen, todo = set(), [o.__code__ for o in gc.get_objects() if isinstance(o, types.FunctionType)]
    while todo:
        code = todo.pop()
        if id(code) not in seen:
            seen.add(id(code))
            todo.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
    return len(seen)


def run(seconds, pause_s=0.001):
    """Calls f at leisure, as a program that does something."""
    end = time.monotonic() + seconds
    calls = 0
    while time.monotonic() < end:
        f(1)
        calls += 1
        time.sleep(pause_s)
    return calls


if __name__ == "__main__":
    batches(3, 3000)  # warm: specialised as code that has run for long
    serve({"batches": batches, "single_calls": single_calls, "calls_after_work": calls_after_work, "make_and_run": make_and_run,
           "import_modules": import_modules, "grow": grow, "run": run, "generate": generate, "call_generated": call_generated,
           "fork": fork, "fork_pool": fork_pool, "end_pool": end_pool, "execute": execute})
