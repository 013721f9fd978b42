"""One thread of a process that stands still while the others run: SIGSTOP takes them all, ptrace(2) one."""
import contextlib
import ctypes
import os
import time

SEIZE, INTERRUPT, CONT, DETACH = 0x4206, 0x4207, 7, 17  # linux/ptrace.h
EVENT_STOP = 128  # linux/ptrace.h: PTRACE_EVENT_STOP, the one that INTERRUPT asks for
WALL = 0x40000000  # linux/wait.h: __WALL, also threads of others

_libc = ctypes.CDLL(None, use_errno=True)


def _ptrace(request, tid, data=None):
    if _libc.ptrace(request, tid, None, data) != 0:
        error = ctypes.get_errno()
        raise OSError(error, "ptrace %#x of thread %d: %s" % (request, tid, os.strerror(error)))


def _await_stop(tid, seconds):
    limit = time.monotonic() + seconds
    # Not its end: that is its parent's to take.
    while True:
        stop = os.waitid(os.P_PID, tid, os.WSTOPPED | os.WNOHANG | WALL)
        if stop is not None and stop.si_status >> 8 == EVENT_STOP:
            return
        if stop is not None:
            _ptrace(CONT, tid, stop.si_status)  # a signal came first: it is the thread's
        if time.monotonic() > limit:
            raise AssertionError("thread %d did not stop within %g s" % (tid, seconds))
        time.sleep(0.001)


@contextlib.contextmanager
def standing_still(tid, seconds=5):
    """The same thread must leave it. Where the stopped one has ended meanwhile there is nothing to let go."""
    _ptrace(SEIZE, tid)
    try:
        _ptrace(INTERRUPT, tid)
        _await_stop(tid, seconds)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            _ptrace(DETACH, tid)
