"""Connections: a thousand of them, slow ones, quiet ones, nonsense, and a network that goes away."""
import os
import signal
import socket
import ssl
import subprocess
import time

from harness import costs
from harness.case import main
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment
from harness.remote import STEP, UNREACHABLE, Remote


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


if __name__ == "__main__":
    main()
