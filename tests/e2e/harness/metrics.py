"""What a daemon says of itself to Prometheus, and what others say of their work."""
import contextlib
import http.server
import socket
import threading
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


def scrape(address):
    """The text, and its numbers by name and labels."""
    text = get("http://%s/metrics" % address)
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            samples[name] = float(value)
    return text, samples
