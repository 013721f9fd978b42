"""exporter.py LOG: serves `units_total`, the lines of a file of 5 bytes each, as Prometheus's own client library does; prints its port."""
import os
import socket
import sys
import time

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily


class Units:
    def collect(self):
        yield CounterMetricFamily("units", "Units of work.", value=os.stat(sys.argv[1]).st_size // 5)


def main():
    REGISTRY.register(Units())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    start_http_server(port, "127.0.0.1")
    print(port, flush=True)
    time.sleep(600)


main()
