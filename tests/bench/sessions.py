"""Programs to measure, and sessions on them."""
import contextlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "lib")]

from harness.session import Session  # noqa: E402
from harness.target import Target  # noqa: E402

F_ONLY = ("--target", "*/target.py:f")


@contextlib.contextmanager
def started(python, *arguments):
    target = Target(python, HERE / "target.py", *arguments)
    try:
        yield target
        target.end()
    finally:
        target.kill()


def is_clean(ended):
    """The session, or a process of it."""
    proof = ended["end"]["detach_proof"]
    return proof["verified"] and not (proof["links_left"] or proof["fields_left"] or proof["text_bytes_changed"])


@contextlib.contextmanager
def attached(daemon, target, *arguments):
    """From ACTIVE on; ended as by Ctrl-C, and proven clean. Without a target the arguments select some."""
    session = Session(daemon, *(["--pid", target.pid] if target else []), *F_ONLY, *arguments)
    try:
        session.wait_active()
        yield session
        last = session.finish()
        if not is_clean(last):
            raise AssertionError("left behind: %s" % last["end"])
    finally:
        session.kill()


class Closable:
    def __init__(self, daemon):
        self.close = daemon.clean_up
