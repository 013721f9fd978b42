"""Calls functions of libc and of OpenSSL through the standard library, and one of its own."""
import os

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


if __name__ == "__main__":
    serve({"pids": pids, "writes": writes, "contexts": contexts})
