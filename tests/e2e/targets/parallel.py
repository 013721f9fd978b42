"""Threads that really run at once, where the interpreter lets them. Each call is counted by its thread."""
import threading
import time

from protocol import serve

SOURCE = "def born(counts, i):\n    counts[i] += 1\n    return counts[i]\n"


def first_calls(functions, threads, calls):
    """New functions, each first called by all threads at once. How often they were called in all."""
    total = 0
    for number in range(functions):
        space = {}
        exec(compile(SOURCE, "born_%d.py" % number, "exec"), space)
        counts = [0] * threads
        barrier = threading.Barrier(threads)

        def work(i):
            barrier.wait()
            for _ in range(calls):
                space["born"](counts, i)

        run_at_once(work, threads)
        total += sum(counts)
    return total


def nothing():
    return None


def timed(threads, calls):
    """Seconds that so many threads take for so many calls each."""
    begin = time.monotonic()
    run_at_once(lambda _: [nothing() for _ in range(calls)], threads)
    return time.monotonic() - begin


def spin(calls, seconds):
    for _ in range(calls):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass


def spun(threads, calls, seconds):
    """As `timed`, of threads that spend their time without anybody's help."""
    begin = time.monotonic()
    run_at_once(lambda _: spin(calls, seconds), threads)
    return time.monotonic() - begin


def run_at_once(work, threads):
    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    serve({"first_calls": first_calls, "timed": timed, "spun": spun})
