"""What a daemon says of itself to Prometheus."""
import socket
import urllib.request


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def scrape(address):
    """The text, and its numbers by name and labels."""
    text = get("http://%s/metrics" % address)
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            samples[name] = float(value)
    return text, samples
