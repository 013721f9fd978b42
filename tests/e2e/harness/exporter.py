"""exporter.py units|took LOG: serves what is in a file, as Prometheus's own client library does; prints its port.

units: lines of 5 bytes, as `units_total` and as the sum of `batch_size`. took: a time in us each, as `took_seconds`."""
import os
import socket
import sys
import time

from metrics import Histogram
from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily


def histogram(name, buckets, total):
    family = HistogramMetricFamily(name, "Of all the work there is.", labels=["kind"])
    family.add_metric(["whole"], buckets, total)
    return family


class Units:
    def __init__(self, path):
        self.path = path

    def collect(self):
        units = os.stat(self.path).st_size // 5
        yield CounterMetricFamily("units", "Units of work.", value=units)
        yield histogram("batch_size", [("1", units), ("+Inf", units)], units)


class Took:
    def __init__(self, path):
        self.histogram = Histogram(path, [1e-6 * bound for bound in range(50, 5000, 50)], scale=1e-6)

    def collect(self):
        yield histogram("took_seconds", *self.histogram.buckets())


def main():
    kind, path = sys.argv[1:]
    REGISTRY.register({"units": Units, "took": Took}[kind](path))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    start_http_server(port, "127.0.0.1")
    print(port, flush=True)
    time.sleep(600)


main()
