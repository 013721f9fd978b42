"""The base of the tests of clients from elsewhere, by TCP and TLS."""
import os

from harness.case import Case
from harness.certificates import Authority
from harness.daemon import run_client
from harness.metrics import free_port

UNREACHABLE = 9
STEP = ("--target", "*steady.py:step")
POLICY = """callers:
  - {certificate: "dns:dash.example", role: viewer}
  - {certificate: "uri:spiffe://site/ops", role: operator}
"""


class Remote(Case):
    @classmethod
    def setUpClass(cls):
        pass  # each test has its own daemon

    def setUp(self):
        super().setUp()
        self.ca = Authority(self.scratch)
        self.server = self.ca.issue("server", "DNS:localhost", "IP:127.0.0.1")
        self.viewer = self.ca.issue("viewer", "DNS:dash.example")
        self.operator = self.ca.issue("operator", "DNS:ops.example", "URI:spiffe://site/ops")

    def start(self, policy=POLICY, host="127.0.0.1", metrics=""):
        self.policy = self.write("policy.yaml", policy)
        os.chmod(self.policy, 0o600)
        self.port = free_port()
        self.remote = "127.0.0.1:%d" % self.port
        self.audit = self.scratch + "/audit.jsonl"
        self.daemon = self.start_daemon(options=[*self.options(host), *(["--metrics", metrics] if metrics else [])])
        return self.daemon

    def options(self, host="127.0.0.1", tls=True):
        files = ["--tls-ca", self.ca.file, "--tls-cert", self.server[0], "--tls-key", self.server[1]] if tls else []
        return ["--listen", "tcp:%s:%d" % (host, self.port), "--policy", self.policy, "--audit-log", self.audit, *files]

    def flags(self, identity, ca=None):
        return ["--tls-ca", ca or self.ca.file, "--tls-cert", identity[0], "--tls-key", identity[1]]

    def ask(self, identity, *arguments, **options):
        return run_client(self.remote, *self.flags(identity), *arguments, **options)

    def assert_not_let_in(self, answer, *logged):
        """By the client's status, and by the daemon's own words on why."""
        self.assertEqual(answer.code, UNREACHABLE, answer)
        for words in logged:
            self.eventually(lambda words=words: words in self.daemon.log, 5, words)
