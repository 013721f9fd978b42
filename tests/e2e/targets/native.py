"""Calls functions of libc and of OpenSSL through the standard library, one of a GPU's runtime, and one of its own."""
import ctypes
import os
import time

from protocol import serve


def step(x):
    return x + 1


def pids(n):
    """n calls of libc's getpid()."""
    first = os.getpid()
    for _ in range(n - 1):
        if os.getpid() != first:
            os._exit(99)
    return first


def writes(n):
    """n calls of libc's write()."""
    null = os.open("/dev/null", os.O_WRONLY)
    total = sum(os.write(null, b"x" * step(i)) for i in range(n))
    os.close(null)
    return total


def contexts(n):
    """n calls of libssl's SSL_CTX_new()."""
    import ssl
    return len([ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(n)])


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


def launches(path, symbol, n):
    """n calls of a function like hipLaunchKernel() or cudaLaunchKernel(): [its answers, ns a call]. There need not be
    a GPU: the runtime answers with an error."""
    launch = ctypes.CDLL(path)[symbol]
    launch.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    begin = time.perf_counter_ns()
    answers = {launch(None, Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, None) for _ in range(n)}
    return [sorted(answers), (time.perf_counter_ns() - begin) / n]


if __name__ == "__main__":
    serve({"pids": pids, "writes": writes, "contexts": contexts, "launches": launches})
