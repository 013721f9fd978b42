"""Clients from elsewhere: TLS with certificates on both sides, or nothing."""
import json
import os
import re
import signal
import socket
import ssl
import time

from harness import session as sessions
from harness.case import main
from harness.certificates import Authority
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment, run_client
from harness.metrics import free_port, scrape
from harness.remote import POLICY, STEP, UNREACHABLE, Remote
from harness.users import ALICE

BAD_ARGUMENTS, PERMISSION = 2, 6
OTHER_AUTHORITY = "its certificate: unable to get local issuer certificate"


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

    def test_the_log_names_all_that_it_listens_on(self):
        metrics = "127.0.0.1:%d" % free_port()
        self.start(metrics=metrics)
        self.eventually(lambda: "event=serving" in self.daemon.log, 5, "event=serving")
        named = " listen=%s,tcp:%s metrics=%s " % (self.daemon.endpoint, self.remote, metrics)
        self.assertRegex(self.daemon.log, "event=serving .*" + re.escape(named))

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
        return scrape(self.metrics)[1]["sbump_tls_failures_total"]

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
        self.metrics = "127.0.0.1:%d" % free_port()
        self.start(metrics=self.metrics)
        silent = [socket.create_connection(("127.0.0.1", self.port), 5) for _ in range(140)]
        self.addCleanup(lambda: [one.close() for one in silent])
        self.eventually(lambda: "too many handshakes" in self.daemon.log, 5, "a refusal")
        self.assertEqual(self.daemon.ctl("list").code, 0)
        self.assertEqual(self.ask(self.viewer, "list").code, 0)  # the oldest gives way
        ready = time.monotonic() + 15
        for one in silent:
            one.settimeout(max(ready - time.monotonic(), 0.1))
            self.assertEqual(one.recv(1), b"")
        self.eventually(lambda: self.tls_failures() == 140, 5, "all of them, counted")
        self.assertLess(self.daemon.log.count("event=tls_refused"), 140)  # nobody fills the log
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
        os.chown(good[1], ALICE, -1)
        self.refused_start(1, self.options(), "another user")
        os.chown(good[1], 0, -1)
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
            os.replace(fresh, old)
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


if __name__ == "__main__":
    main()
