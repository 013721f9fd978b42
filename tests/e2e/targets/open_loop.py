"""A service whose requests come when they come: how many it answers is theirs to say, how soon is its own. To answer takes a wait and
`answer`; what `tidy` does comes after the reply."""
import threading
import time

from protocol import serve

stop = False
EVERY_S, DEVICE_S = 0.005, 0.0015


def answer(x):
    return x + 1


def tidy(x):
    return x + 2


def step(x):
    return x + 3


def requests(log):
    arrival = time.perf_counter()
    while not stop:
        arrival = max(arrival + EVERY_S, time.perf_counter())
        time.sleep(max(0, arrival - time.perf_counter()))
        time.sleep(DEVICE_S)
        answer(1)
        log.write(b"%d\n" % ((time.perf_counter() - arrival) * 1e6))
        tidy(1)
        step(1)


def start(log_file):
    """Of each request the file gets its microseconds, a line each."""
    thread = threading.Thread(target=requests, args=(open(log_file, "ab", buffering=0),))
    thread.daemon = True
    thread.start()


def finish():
    global stop
    stop = True


if __name__ == "__main__":
    serve({"start": start, "finish": finish})
