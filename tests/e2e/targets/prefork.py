"""A server of the prefork kind: a master, and workers that it forks and that share its socket. It replaces those that end."""
import json
import os
import select
import signal
import socket
import sys

import workers as counting
from protocol import armed_code, serve
from workers import work


# ---- A worker: it says who it is; a request is a number; the reply is the answer, its calls, and what is armed in it ----

def reply(connection):
    connection.sendall(b"%d" % os.getpid())
    n = int(connection.recv(64))
    if n < 0:
        sys.exit(3)
    connection.sendall(json.dumps([work(n), counting.calls, armed_code()]).encode())


def serve_requests(master):
    counting.calls = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener.settimeout(0.5)
    while os.getppid() == master:
        try:
            connection, _ = listener.accept()
        except socket.timeout:
            continue
        with connection:
            reply(connection)


# ---- The master ----

workers = {}  # pid: None, or how it ended
size = 0


def hire():
    master = os.getpid()
    child = os.fork()
    if child != 0:
        workers[child] = None
        return child
    status = 1
    try:
        serve_requests(master)
        status = 0
    except SystemExit as end:
        status = end.code
    finally:
        os._exit(status)


def live():
    return [pid for pid, status in workers.items() if status is None]


def replace_the_dead():
    for pid in live():
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            workers[pid] = status
    while len(live()) < size:
        hire()


def manage():
    """Until the next order."""
    replace_the_dead()
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        replace_the_dead()


def resize(count):
    """So many workers from now on: their pids."""
    global size
    size = count
    replace_the_dead()
    return live()


def dismiss():
    """How all ended that there ever were."""
    resize(0)
    for pid in live():
        os.kill(pid, signal.SIGTERM)
        workers[pid] = os.waitpid(pid, 0)[1]
    return workers


if __name__ == "__main__":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(64)
    serve({"work": work, "resize": resize, "live": live, "dismiss": dismiss}, meanwhile=manage)
