"""What a daemon says of itself to Prometheus, and what others say of their work."""
import bisect
import contextlib
import http.server
import itertools
import pathlib
import socket
import subprocess
import threading
import time
import urllib.request


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


@contextlib.contextmanager
def served(text):
    """Serves what `text()` gives; the URL."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = text().encode()
            with contextlib.suppress(ConnectionError):  # who asked may have ended
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "http://127.0.0.1:%d/metrics" % server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def exported(kind, log):
    """As served(), by Prometheus's own library: what is in the file, of a kind that exporter.py knows."""
    exporter = subprocess.Popen(["/usr/bin/python3", "-B", pathlib.Path(__file__).with_name("exporter.py"), kind, log],
                                stdout=subprocess.PIPE, text=True)
    try:
        yield "http://127.0.0.1:%d/metrics" % int(exporter.stdout.readline())
    finally:
        exporter.kill()
        exporter.communicate()


@contextlib.contextmanager
def ticking(path, ticks_per_second):
    """The file gets a line for each tick of the clock; where this is late, several at once."""
    over, begin = threading.Event(), time.monotonic()

    def write():
        written = 0
        while not over.wait(0.002):
            due = int(ticks_per_second * (time.monotonic() - begin))
            file.write(b"tick\n" * (due - written))
            written = due

    with open(path, "ab", buffering=0) as file:
        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class Histogram:
    """Of the numbers in a file that grows, a line each, as Prometheus has them."""

    def __init__(self, path, bounds, scale):
        self.path, self.bounds, self.scale = path, bounds, scale
        self.counts = [0] * (len(bounds) + 1)
        self.read, self.sum = 0, 0
        self.lock = threading.Lock()

    def buckets(self):
        """Upper bounds with their cumulative counts, and the sum of all numbers."""
        with self.lock:
            self._take_new()
            return list(zip((*map(str, self.bounds), "+Inf"), itertools.accumulate(self.counts))), self.sum

    def text(self, name):
        buckets, total = self.buckets()
        lines = ["# TYPE %s histogram" % name]
        lines += ['%s_bucket{le="%s"} %d' % (name, bound, count) for bound, count in buckets]
        return "\n".join([*lines, "%s_sum %g" % (name, total), "%s_count %d" % (name, buckets[-1][1]), ""])

    def _take_new(self):
        with open(self.path, "rb") as file:
            file.seek(self.read)
            new = file.read()
        new = new[:new.rfind(b"\n") + 1]
        self.read += len(new)
        for number in new.split():
            value = self.scale * float(number)
            self.counts[bisect.bisect_left(self.bounds, value)] += 1
            self.sum += value


def scrape(address):
    """The text, and its numbers by name and labels."""
    text = get("http://%s/metrics" % address)
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            samples[name] = float(value)
    return text, samples
