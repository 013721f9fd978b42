"""What Prometheus gets: the text by promtool's judgement, the numbers by a real Prometheus."""
import json
import re
import signal
import socket
import subprocess
import urllib.parse

from harness import costs, traces
from harness.case import main
from harness.child import Child
from harness.daemon import clean_environment
from harness.guarded import Guarded
from harness.metrics import free_port, get, scrape
from harness.users import ALICE

BAD_START, BAD_ARGUMENTS, PERMISSION = 1, 2, 6
STEP = ("--target", "*steady.py:step")


class MetricsTest(Guarded):
    def start_measured(self):
        """With somebody whom it refuses to attach."""
        self.address = "127.0.0.1:%d" % free_port()
        return self.start("callers:\n  - {user: %d, role: viewer}\n" % ALICE, "--metrics", self.address)

    def be_refused(self):
        self.assert_refused(self.ctl_as(ALICE, "attach", "--pid", 1, *STEP), PERMISSION, "is a viewer")

    def scrape(self):
        return scrape(self.address)

    def test_promtool_finds_nothing_to_say(self):
        self.start_measured()
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, "--delay", "10us")
        target.ask("call", "step", 100)
        session.finish()
        self.daemon.ctl("attach", "--pid", "1", *STEP)  # fails: an end of another kind
        self.be_refused()
        text, samples = self.scrape()
        self.assertEqual(samples['sbump_refusals_total{reason="role"}'], 1)
        ended = subprocess.run(["/usr/bin/promtool", "check", "metrics"], input=text.encode(), capture_output=True)
        self.assertEqual((ended.returncode, ended.stdout + ended.stderr), (0, b""))
        self.assert_ends_well(target)

    def test_the_numbers_are_those_of_the_session(self):
        daemon = self.start_measured()
        _, before = self.scrape()
        self.assertEqual((before["sbump_sessions"], before["sbump_hits_total"], before["sbump_attaches_total"]), (0, 0, 0))
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, "--delay", "100us", "--interval", "50ms")
        target.ask("call", "step", 500)
        _, during = self.eventually(lambda: (lambda text, now: now["sbump_hits_total"] == 500 and (text, now))(
            *self.scrape()), 5, "500 hits")
        self.assertEqual(during["sbump_sessions"], 1)
        self.assertGreaterEqual(during["sbump_connections"], 1)
        last = session.finish()
        _, after = self.scrape()
        injected = sum(row["injected_delay_ns"] for row in last["targets"])
        requested = sum(row["requested_delay_ns"] for row in last["targets"])
        self.assertEqual((after["sbump_sessions"], after["sbump_hits_total"], after["sbump_delayed_hits_total"]),
                         (0, 500, 500))
        self.assertAlmostEqual(after["sbump_injected_seconds_total"], injected / 1e9, places=6)
        self.assertEqual(after['sbump_session_ends_total{reason="detached"}'], 1)
        self.assertEqual(after["sbump_overshoot_seconds_count"], 500)
        self.assertAlmostEqual(after["sbump_overshoot_seconds_sum"], (injected - requested) / 1e9, places=6)
        buckets = [(float(re.search('le="([^"]+)"', name).group(1)), value) for name, value in after.items()
                   if name.startswith("sbump_overshoot_seconds_bucket")]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], (float("inf"), 500))
        self.assertEqual([value for _, value in buckets], sorted(value for _, value in buckets))
        self.assertGreater(after["process_cpu_seconds_total"], 0)
        resident = costs.resident_kb(daemon.pid) << 10
        self.assertAlmostEqual(after["process_resident_memory_bytes"] / resident, 1, delta=0.2)
        # It has closed the probes of a session.
        self.assertGreater(after["sbump_links_cpu_seconds_total"], 0)
        [keeper] = traces.children(daemon.pid)
        resident = costs.resident_kb(keeper) << 10
        self.assertAlmostEqual(after["sbump_links_resident_memory_bytes"] / resident, 1, delta=0.2)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_real_prometheus(self):
        self.start_measured()
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, "--interval", "50ms")
        target.ask("call", "step", 321)
        self.be_refused()
        config = self.write("prometheus.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
                            "  - {job_name: sbump, static_configs: [{targets: ['%s']}]}\n" % self.address)
        port = free_port()
        prometheus = Child(["/usr/bin/prometheus", "--config.file=" + config, "--storage.tsdb.path=" + self.scratch +
                            "/data", "--web.listen-address=127.0.0.1:%d" % port], death_signal=signal.SIGTERM,
                           env=clean_environment())
        self.addCleanup(prometheus.kill)

        def query(expression):
            try:
                text = get("http://127.0.0.1:%d/api/v1/query?query=%s" % (port, urllib.parse.quote(expression)))
            except OSError:
                return None
            results = json.loads(text)["data"]["result"]
            return float(results[0]["value"][1]) if results else None
        self.eventually(lambda: query("sbump_hits_total") == 321, 40, "the hits in Prometheus")
        self.assertEqual((query("up"), query("sbump_sessions")), (1, 1))
        self.assertEqual(query('sbump_refusals_total{reason="role"}'), 1)
        self.assertIsNotNone(query("process_resident_memory_bytes"))
        session.finish()
        self.assert_ends_well(target)

    def test_loopback_unless_told_otherwise(self):
        port = free_port()
        for address, words in (("0.0.0.0:%d" % port, "not loopback"), ("[::]:%d" % port, "not loopback"),
                               ("localhost", "ADDRESS:PORT"), (str(port), "ADDRESS:PORT"), ("127.0.0.1:x", "ADDRESS")):
            daemon = self.start_daemon(wait=False, options=["--metrics", address])
            self.assertEqual(daemon.child.wait(), BAD_ARGUMENTS, daemon.log)
            self.assertIn(words, daemon.log)
        with socket.create_server(("127.0.0.1", port)):
            daemon = self.start_daemon(wait=False, options=["--metrics", "127.0.0.1:%d" % port])
            self.assertEqual(daemon.child.wait(), BAD_START, daemon.log)
        daemon = self.start_daemon(options=["--metrics", "0.0.0.0:%d" % port, "--metrics-any"])
        self.assertIn("sbump_build_info", get("http://127.0.0.1:%d/metrics" % port))


if __name__ == "__main__":
    main()
