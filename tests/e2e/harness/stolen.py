"""A machine whose processors the hypervisor gives to others, as its /proc/stat would tell."""
import contextlib
import threading
import time

WANTED_PER_S = 1000


@contextlib.contextmanager
def pretended(path, share):
    """What a daemon is to be started with. It alone sees that."""
    begin, over = time.monotonic(), threading.Event()

    def text():
        wanted = 10_000 + int(WANTED_PER_S * (time.monotonic() - begin))
        stolen = int(share * wanted)
        return b"cpu  %012d 0 0 0 0 0 0 %012d 0 0\n" % (wanted - stolen, stolen)

    def write():
        while not over.wait(0.005):
            file.seek(0)
            file.write(text())  # as long as before: a reader sees the one or the other

    with open(path, "wb", buffering=0) as file:
        file.write(text())
        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/stat && exec "$@"', path]
        finally:
            over.set()
            thread.join()
