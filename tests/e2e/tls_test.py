"""Clients from elsewhere: TLS with certificates on both sides, or nothing."""
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import time
import urllib.request

from harness import costs
from harness import session as sessions
from harness.case import Case, main
from harness.certificates import Authority
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment, run_client

BAD_ARGUMENTS, PERMISSION, UNREACHABLE, PARTIAL = 2, 6, 9, 14
STEP = ("--target", "*steady.py:step")
OTHER_AUTHORITY = "its certificate: unable to get local issuer certificate"
POLICY = """callers:
  - {certificate: "dns:dash.example", role: viewer}
  - {certificate: "uri:spiffe://site/ops", role: operator}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


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


class HandshakeTest(Remote):
    def test_who_is_let_in(self):
        self.start()
        answer = self.ask(self.viewer, "version", "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        info = json.loads(answer.out)["daemon"]
        self.assertEqual(info["role"], "viewer")
        self.assertRegex(info["caller"], r"^dns:dash\.example \(127\.0\.0\.1:\d+\)$")
        self.assertIn("operator", self.ask(self.operator, "version").out)

    def test_an_operator_attaches_and_is_recorded(self):
        self.start()
        target = self.start_target(script="steady.py")
        child = Child([SBUMPCTL, "--endpoint", self.remote, *self.flags(self.operator), "attach", "--pid",
                       str(target.pid), *STEP, "--delay", "1us", "--format", "json"], env=clean_environment())
        self.addCleanup(child.kill)
        session = object.__new__(sessions.Session)
        session.child, session._updates = child, []
        session.wait_active()
        target.ask("call", "step", 5)
        self.assert_refused(self.ask(self.viewer, "detach", session.id), PERMISSION, "dns:dash.example", "viewer")
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [5])
        with open(self.audit) as file:
            attach = json.loads(file.readline())
        self.assertEqual(attach["caller"]["certificate"], ["dns:ops.example", "uri:spiffe://site/ops"])
        self.assertRegex(attach["caller"]["address"], r"^127\.0\.0\.1:\d+$")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_viewer_may_not_attach(self):
        self.start()
        target = self.start_target(script="steady.py")
        self.assert_refused(self.ask(self.viewer, "attach", "--pid", target.pid, *STEP), PERMISSION, "viewer")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_good_certificate_that_the_policy_does_not_name(self):
        self.start()
        self.assert_refused(self.ask(self.ca.issue("guest", "DNS:guest.example"), "list"), PERMISSION,
                            "dns:guest.example has no role")

    def test_without_a_certificate(self):
        self.start()
        context = ssl.create_default_context(cafile=self.ca.file)
        context.set_alpn_protocols(["h2"])
        self.assert_closed(context)
        self.eventually(lambda: "peer did not return a certificate" in self.daemon.log, 5, "the reason in the log")

    def assert_closed(self, context):
        """No byte of HTTP/2 comes out of it."""
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with socket.create_connection(("127.0.0.1", self.port), 5) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as secure:
                    # With TLS 1.3 the refusal comes after the client's handshake.
                    secure.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                    if not secure.recv(100):
                        raise ConnectionError("closed")

    def test_a_certificate_of_another_authority(self):
        self.start()
        os.mkdir(self.scratch + "/other")
        other = Authority(self.scratch + "/other")
        self.assert_not_let_in(self.ask(other.issue("viewer", "DNS:dash.example"), "list"), OTHER_AUTHORITY)

    def tls_failures(self):
        with urllib.request.urlopen("http://%s/metrics" % self.metrics, timeout=5) as answer:
            text = answer.read().decode()
        return float(re.search(r"(?m)^sbump_tls_failures_total (.*)$", text)[1])

    def test_only_handshakes_that_fail_are_counted(self):
        """Not the look of each client whether anybody listens, nor a load balancer's."""
        self.metrics = "127.0.0.1:%d" % free_port()
        self.start(metrics=self.metrics)
        for _ in range(5):
            self.assertEqual(self.ask(self.viewer, "list").code, 0)
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        self.assertEqual(self.tls_failures(), 0)
        self.assertNotIn("event=tls_refused", self.daemon.log)
        os.mkdir(self.scratch + "/other")
        other = Authority(self.scratch + "/other")
        self.assert_not_let_in(self.ask(other.issue("viewer", "DNS:dash.example"), "list"), OTHER_AUTHORITY)
        self.assertEqual(self.tls_failures(), 1)
        self.assertEqual(self.daemon.log.count("event=tls_refused"), 1)

    def test_an_expired_certificate(self):
        self.start()
        expired = self.ca.issue("expired", "DNS:dash.example", begin="20200101000000Z", end="20200102000000Z")
        self.assert_not_let_in(self.ask(expired, "list"), "certificate has expired")

    def test_a_certificate_that_is_not_valid_yet(self):
        self.start()
        early = self.ca.issue("early", "DNS:dash.example", begin="20900101000000Z", end="20900102000000Z")
        self.assert_not_let_in(self.ask(early, "list"), "certificate is not yet valid")

    def test_a_certificate_without_names(self):
        self.start()
        self.assert_not_let_in(self.ask(self.ca.issue("dash.example"), "list"), "no subject alternative name")

    def test_a_daemon_that_the_client_does_not_trust(self):
        self.start()
        os.mkdir(self.scratch + "/other")
        other = Authority(self.scratch + "/other")
        answer = run_client(self.remote, *self.flags(self.viewer, ca=other.file), "list")
        self.assertEqual(answer.code, UNREACHABLE, answer)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", answer.err.upper().replace(" ", "_"))

    def test_tls_1_2_and_plain_text_are_refused(self):
        self.start()
        old = ssl.create_default_context(cafile=self.ca.file)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        old.load_cert_chain(*self.viewer)
        self.assert_closed(old)
        new = ssl.create_default_context(cafile=self.ca.file)
        new.set_alpn_protocols(["h2"])
        new.load_cert_chain(*self.viewer)
        with socket.create_connection(("127.0.0.1", self.port), 5) as plain:
            with new.wrap_socket(plain, server_hostname="localhost") as secure:
                self.assertEqual((secure.version(), secure.selected_alpn_protocol()), ("TLSv1.3", "h2"))
        with socket.create_connection(("127.0.0.1", self.port), 5) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
            self.assertNotIn(b"\0\0\0\4", plain.recv(100))  # no SETTINGS, perhaps an alert

    def test_strangers_who_say_nothing_are_hung_up_on(self):
        self.start()
        silent = [socket.create_connection(("127.0.0.1", self.port), 5) for _ in range(140)]
        self.addCleanup(lambda: [one.close() for one in silent])
        self.eventually(lambda: "too many handshakes" in self.daemon.log, 5, "a refusal")
        self.assertEqual(self.daemon.ctl("list").code, 0)
        ready = time.monotonic() + 15
        for one in silent:
            one.settimeout(max(ready - time.monotonic(), 0.1))
            self.assertEqual(one.recv(1), b"")
        self.eventually(lambda: self.daemon.log.count("event=tls_refused") == 140, 5, "a line for each")
        self.assertEqual(self.ask(self.viewer, "list").code, 0)


class StartTest(Remote):
    def refused_start(self, code, options, *words):
        daemon = self.start_daemon(wait=False, options=options)
        self.assertEqual(daemon.child.wait(), code, daemon.log)
        for word in words:
            self.assertIn(word, daemon.log)

    def setUp(self):
        super().setUp()
        self.policy = self.write("policy.yaml", POLICY)
        os.chmod(self.policy, 0o600)
        self.port = free_port()
        self.audit = self.scratch + "/audit.jsonl"

    def test_no_plain_text_and_no_tcp_without_a_policy(self):
        self.refused_start(BAD_ARGUMENTS, self.options(tls=False), "--tls-ca", "plain text")
        options = self.options()
        del options[2:4]
        self.refused_start(BAD_ARGUMENTS, options, "--policy")

    def test_every_interface_only_when_asked(self):
        for host in ("0.0.0.0", "[::]", "[::ffff:0.0.0.0]"):
            self.refused_start(1, self.options(host), "every interface", "--listen-any")
        daemon = self.start_daemon(options=[*self.options("0.0.0.0"), "--listen-any"])
        self.assertEqual(daemon.ctl("list").code, 0)

    def test_bad_files(self):
        good = list(self.server)
        self.server = (self.scratch + "/none.pem", good[1])
        self.refused_start(1, self.options(), "--tls-cert", "none.pem")
        self.server = (good[0], self.viewer[1])
        self.refused_start(1, self.options(), "--tls-key", "key values mismatch")
        self.server = (good[0], self.write("empty.key", ""))
        os.chmod(self.server[1], 0o600)
        self.refused_start(1, self.options(), "--tls-key", "empty.key")
        os.chmod(good[1], 0o644)
        self.server = good
        self.refused_start(1, self.options(), "open to others")
        os.chmod(good[1], 0o600)
        os.chmod(self.ca.file, 0o666)
        self.refused_start(1, self.options(), "--tls-ca", "can be written by others")

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", self.port)):
            self.refused_start(1, self.options(), "tcp:127.0.0.1:%d" % self.port)


class ReloadTest(Remote):
    def test_new_files_on_sighup(self):
        self.start()
        os.mkdir(self.scratch + "/next")
        new = Authority(self.scratch + "/next")
        server = new.issue("server", "DNS:localhost", "IP:127.0.0.1")
        for old, fresh in ((self.ca.file, new.file), *zip(self.server, server)):
            os.replace(fresh, old) if old != self.ca.file else os.replace(fresh, old)
        self.daemon.child.send_signal(signal.SIGHUP)
        self.eventually(lambda: "event=reloaded" in self.daemon.log, 5, "the reload")
        new.file = self.ca.file  # moved there
        fresh = self.scratch + "/next/ca.pem"
        os.link(self.ca.file, fresh)
        new.file = fresh
        client = new.issue("viewer", "DNS:dash.example")
        self.eventually(lambda: run_client(self.remote, *self.flags(client, ca=fresh), "list").code == 0, 5,
                        "a client of the new authority")
        self.assertEqual(run_client(self.remote, *self.flags(self.viewer, ca=fresh), "list").code, UNREACHABLE)

    def test_a_broken_file_leaves_the_old_one_in_use(self):
        self.start()
        with open(self.server[0], "w") as file:
            file.write("nothing\n")
        self.daemon.child.send_signal(signal.SIGHUP)
        self.eventually(lambda: "event=tls_not_reloaded" in self.daemon.log, 5, "the refusal in the log")
        self.assertEqual(self.ask(self.viewer, "list").code, 0)

    def test_a_revoked_role_ends_the_session(self):
        self.start()
        target = self.start_target(script="steady.py")
        child = Child([SBUMPCTL, "--endpoint", self.remote, *self.flags(self.operator), "attach", "--pid",
                       str(target.pid), *STEP, "--keep", "--format", "json"], env=clean_environment())
        self.addCleanup(child.kill)
        self.eventually(lambda: "ACTIVE" in self.daemon.ctl("list").out, 10, "the session")
        with open(self.policy, "w") as file:
            file.write("callers: []\n")
        self.daemon.child.send_signal(signal.SIGHUP)
        child.wait(10)
        self.assertIn("revoked by a new policy", child.messages()[-1]["end"]["reason"])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class LoadTest(Remote):
    def connections(self, count):
        context = ssl.create_default_context(cafile=self.ca.file)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(*self.viewer)
        for _ in range(count):
            plain = socket.create_connection(("127.0.0.1", self.port), 10)
            secure = context.wrap_socket(plain, server_hostname="localhost")
            secure.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            yield secure

    def memory_mb(self):
        return costs.resident_kb(self.daemon.pid) / 1024

    def test_a_thousand_connections(self):
        """All are served, a session goes on among them, and their memory is given back."""
        self.start()
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, "--delay", "1us")
        before = self.memory_mb()
        held = list(self.connections(1000))
        for one in (held[0], held[500], held[-1]):
            self.assertIn(b"\0\0", one.recv(9))  # gRPC's own SETTINGS
        print("    1,000 connections: %.0f MB, before %.0f MB" % (self.memory_mb(), before))
        self.assertLess(self.memory_mb() - before, 250)
        self.assertEqual(self.daemon.ctl("list").code, 0)
        self.assertEqual(self.ask(self.operator, "list").code, 0)
        target.ask("call", "step", 9)
        for one in held:
            one.close()
        self.assertEqual([row["calls"] for row in session.finish()["targets"]], [9])
        self.assertEqual(self.ask(self.viewer, "list").code, 0)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_readers_that_do_not_read(self):
        """Forty watchers that stand still cost neither memory nor the session's own client anything."""
        self.start()
        target = self.start_target(script="births.py")
        for i in range(400):
            target.ask("born", "born_%d.py" % i, 1)
        session = self.attach(target, "--target", "born_*.py:*", "--interval", "50ms")
        watchers = []
        for i in range(40):
            where = [self.remote, *self.flags(self.viewer)] if i % 2 else [self.daemon.endpoint]
            watcher = Child([SBUMPCTL, "--endpoint", *where, "watch", session.id, "--format", "json"],
                            env=clean_environment())
            self.addCleanup(watcher.kill)
            watchers.append(watcher)
        for watcher in watchers:
            watcher.output.wait_for(0, 20)
            watcher.send_signal(signal.SIGSTOP)
        before = self.memory_mb()
        for i in range(400):
            target.ask("born", "more_born_%d.py" % i, 3)
        count = len(session.updates)
        self.eventually(lambda: len(session.updates) > count + 20, 10, "twenty more updates")
        print("    40 stopped watchers: %.0f MB, before %.0f MB" % (self.memory_mb(), before))
        self.assertLess(self.memory_mb() - before, 60)
        for watcher in watchers:
            watcher.send_signal(signal.SIGCONT)
        last = session.finish()
        for watcher in watchers:
            watcher.wait(20)
            self.assertEqual(sum(int(row["calls"]) for row in watcher.messages()[-1]["targets"]),
                             sum(row["calls"] for row in last["targets"]))
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_nonsense(self):
        self.start()
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP)
        for payload in (os.urandom(1 << 20), b"\0" * (1 << 20), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(1 << 20),
                        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
            with socket.socket(socket.AF_UNIX) as plain:
                plain.connect(self.daemon.socket)
                plain.settimeout(20)
                try:
                    plain.sendall(payload)
                    while plain.recv(65536):
                        pass
                except ConnectionError:
                    pass
        target.ask("call", "step", 2)
        self.assertEqual([row["calls"] for row in session.finish()["targets"]], [2])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class NetworkTest(Remote):
    HERE, THERE = "10.213.77.1", "10.213.77.2"

    def ip(self, *words):
        subprocess.run(["/usr/sbin/ip", *words], check=True, capture_output=True)

    def test_the_network_goes_away(self):
        """No word of the other end comes, at neither side: each notices within half a minute or so."""
        name = "sb%d" % os.getpid()
        self.ip("netns", "add", name)
        self.addCleanup(self.ip, "netns", "del", name)
        self.ip("link", "add", name + "a", "type", "veth", "peer", "name", name + "b", "netns", name)
        # The namespace outlives its name while a socket of the client's has something to send.
        self.addCleanup(self.ip, "link", "del", name + "a")
        self.ip("addr", "add", self.HERE + "/30", "dev", name + "a")
        self.ip("link", "set", name + "a", "up")
        self.ip("-n", name, "addr", "add", self.THERE + "/30", "dev", name + "b")
        self.ip("-n", name, "link", "set", name + "b", "up")
        self.server = self.ca.issue("server", "IP:" + self.HERE)
        self.start(host=self.HERE)
        target = self.start_target(script="steady.py")
        child = Child(["/usr/sbin/ip", "netns", "exec", name, SBUMPCTL, "--endpoint", "%s:%d" % (self.HERE, self.port),
                       *self.flags(self.operator), "attach", "--pid", str(target.pid), *STEP], env=clean_environment())
        self.addCleanup(child.kill)
        self.eventually(lambda: "ACTIVE" in self.daemon.ctl("list").out, 20, "the session")
        self.ip("-n", name, "link", "set", name + "b", "down")
        begin = time.monotonic()
        self.eventually(lambda: "no sessions" in self.daemon.ctl("list").out, 40, "the session's end")
        print("    noticed after %.0f s" % (time.monotonic() - begin))
        self.assertLess(time.monotonic() - begin, 32)
        self.assertIn('reason="client gone"', self.daemon.log)
        self.assertEqual(child.wait(begin + 60 - time.monotonic()), UNREACHABLE)
        print("    noticed by the client after %.0f s" % (time.monotonic() - begin))
        self.assertIn("the connection to sbumpd at %s:%d broke" % (self.HERE, self.port), child.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class QuietTest(Remote):
    def test_a_session_that_says_nothing_is_kept(self):
        """The client asks whether the daemon is there, and the daemon does not mind being asked."""
        self.start()
        target = self.start_target(script="steady.py")
        child = Child([SBUMPCTL, "--endpoint", self.remote, *self.flags(self.operator), "attach", "--pid",
                       str(target.pid), *STEP, "--interval", "10m", "--format", "json"], env=clean_environment())
        self.addCleanup(child.kill)
        self.eventually(lambda: "ACTIVE" in self.daemon.ctl("list").out, 20, "the session")
        time.sleep(55)
        self.assertIsNone(child.process.poll(), child.errors)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(20), 0, child.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class SeveralTest(Remote):
    def setUp(self):
        super().setUp()
        self.start()
        self.second = self.start_daemon()
        config = self.write("config.yaml", """current: second
contexts:
  second: {endpoint: "%s"}
  far: {endpoint: "%s", tls_ca: ca.pem, tls_cert: viewer.pem, tls_key: viewer.key}
  gone: {endpoint: "unix:%s/nobody.sock"}
""" % (self.second.endpoint, self.remote, self.scratch))
        self.env = {"SBUMP_CONFIG": config}

    def ctl(self, *arguments):
        return run_client(None, *arguments, env=self.env)

    def test_contexts(self):
        answer = self.ctl("contexts")
        self.assertEqual(answer.code, 0, answer)
        for words in ("second", "far", self.remote, "viewer.pem"):
            self.assertIn(words, answer.out)
        self.assertIn(str(self.second.pid), self.ctl("version").out)  # the current one
        self.assertIn(str(self.daemon.pid), self.ctl("--context", "far", "version").out)
        self.assert_refused(self.ctl("--context", "none", "list"), BAD_ARGUMENTS, "none", "config.yaml")

    def test_several_at_once(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, daemon=self.second)
        answer = self.ctl("--context", "second", "--context", "far", "list")
        self.assertEqual(answer.code, 0, answer)
        self.assertRegex(answer.out, r"(?m)^HOST +SESSION")
        self.assertRegex(answer.out, r"(?m)^second +%s" % session.id)
        answer = self.ctl("--all-contexts", "list", "--format", "json")
        self.assertEqual(answer.code, PARTIAL, answer)
        lines = [json.loads(line) for line in answer.out.splitlines()]
        self.assertEqual([line["host"] for line in lines], ["second", "far", "gone"])
        self.assertEqual([len(line.get("sessions", [])) for line in lines], [1, 0, 0])
        self.assertIn("no such socket", lines[2]["error"])
        self.assertIn("gone: ", answer.err)
        for command in ("version", "doctor"):
            answer = self.ctl("--all-contexts", command)
            self.assertEqual(answer.code, PARTIAL, answer)
            self.assertRegex(answer.out, r"(?m)^HOST ")
            self.assertRegex(answer.out, r"(?m)^far ")
        self.assertIn("one daemon", self.ctl("--all-contexts", "detach", "--all").err)
        session.finish()
        self.assert_ends_well(target)

    def test_none_answers(self):
        answer = run_client("unix:/nowhere/a", "--endpoint", "unix:/nowhere/b", "list")
        self.assertEqual(answer.code, UNREACHABLE, answer)


if __name__ == "__main__":
    main()
