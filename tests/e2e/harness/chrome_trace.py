"""Traces as Chrome's DevTools read them: with their own parser."""
import json
import os
import pathlib
import subprocess

READER = pathlib.Path(__file__).resolve().with_suffix(".mjs")


def need_reader(case):
    """Skips where there is none."""
    if not os.environ.get("SBUMP_TRACE_ENGINE"):
        case.skipTest("SBUMP_TRACE_ENGINE names no trace parser of Chrome's (tests/lib/trace_engine.py fetches it)")


def threads_of(case, trace):
    """[{"pid", "tid", "calls": [{"name", "parent", "begin_us", "dur_us"}]}]; parent: an index into calls, or None."""
    path = os.path.join(case.scratch, "trace.json")
    pathlib.Path(path).write_text(trace)
    return json.loads(subprocess.run(["node", READER, os.environ["SBUMP_TRACE_ENGINE"], path], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, timeout=60, check=True).stdout)
