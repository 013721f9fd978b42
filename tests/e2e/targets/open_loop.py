"""A service whose requests come when they come: how many it answers is theirs to say, how soon is its own. To answer takes a wait and
`answer`; what `tidy` does comes after the reply. One request of 25 takes another wait, and `again`, the others `at_once`."""
import itertools
import threading
import time

from protocol import serve

stop = False
EVERY_S, DEVICE_S, AGAIN_S = 0.005, 0.0015, 0.0015
OF_WHICH_ONE_AGAIN = 25


def answer(x):
    return x + 1


def again(x):
    return x + 1


def at_once(x):
    return x + 1


def tidy(x):
    return x + 2


def step(x):
    return x + 3


def requests(log, waits_again):
    arrival = time.perf_counter()
    for number in itertools.count():
        if stop:
            return
        arrival = max(arrival + EVERY_S, time.perf_counter())
        time.sleep(max(0, arrival - time.perf_counter()))
        time.sleep(DEVICE_S)
        if waits_again and number % OF_WHICH_ONE_AGAIN == 0:
            time.sleep(AGAIN_S)
            again(1)
        elif waits_again:
            at_once(1)
        answer(1)
        log.write(b"%d\n" % ((time.perf_counter() - arrival) * 1e6))
        tidy(1)
        step(1)


def start(log_file, workers=1, waits_again=False):
    """Of each request the file gets its microseconds, a line each."""
    log = open(log_file, "ab", buffering=0)
    for _ in range(workers):
        threading.Thread(target=requests, args=(log, waits_again), daemon=True).start()


def finish():
    global stop
    stop = True


if __name__ == "__main__":
    serve({"start": start, "finish": finish})
