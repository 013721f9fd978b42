"""The client is killed, stopped, or gone: the target comes back to full speed and nothing is left."""
import json
import signal
import time

from harness import costs, traces
from harness.case import Case, each_mechanism, main
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment

MS = 1_000_000


class ClientFaultsTest(Case):
    def busy_target(self, python=None):
        target = self.start_target(python, "steady.py")
        target.ask("start", 2, 0.0)
        return target

    def assert_free(self, target, since):
        """No probe, no session, within 2 s; what is still in flight then is awaited."""
        self.eventually(lambda: traces.changed_text(target.pid) == [], since + 2 - time.monotonic(), "the probes' end")
        self.eventually(lambda: json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"] == [], 2,
                        "the session's end")
        before = target.ask("progress")
        time.sleep(0.2)
        self.assertGreater(target.ask("progress")[1], before[1])

    def assert_done(self, target):
        target.ask("finish")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_mechanism
    def test_killed_in_mid_session(self, python):
        target = self.busy_target(python)
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "2ms")
        time.sleep(0.3)
        session.child.process.kill()
        begin = time.monotonic()
        self.assert_free(target, begin)
        self.assertLess(target.ask("timed", 100), 100 * 2 * MS)
        self.assert_done(target)

    def test_killed_during_the_attach(self):
        target = self.busy_target()
        for i in range(10):
            session = self.start_attach(target, "--target", "*steady.py:step", "--delay", "100us")
            time.sleep(0.3 * i / 10)
            session.child.process.kill()
            session.child.wait(5)
            self.assert_free(target, time.monotonic())
        self.assert_done(target)

    def test_interrupted_during_the_attach(self):
        target = self.busy_target()
        for i in range(10):
            session = self.start_attach(target, "--target", "*steady.py:step", "--delay", "100us")
            # A client that is still being loaded ends as any program does. It has asked for nothing yet.
            self.eventually(lambda: traces.blocks(session.child.pid, signal.SIGINT), 10, "a client that takes signals")
            time.sleep(0.25 * i / 10)
            session.child.send_signal(signal.SIGINT)
            self.assertEqual(session.child.wait(10), 0, session.errors)
            self.assert_free(target, time.monotonic())
        self.assert_done(target)

    def test_terminated_like_interrupted(self):
        target = self.busy_target()
        session = self.attach(target, "--target", "*steady.py:step")
        session.child.send_signal(signal.SIGTERM)
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (0, "detached"))
        self.assert_clean_proof(last)
        self.assert_done(target)

    def test_output_closed(self):
        """A reader that has had enough ends the session."""
        target = self.busy_target()
        pipe = Child(["/bin/sh", "-c", '"$@" | head -n 2', "sh", SBUMPCTL, "--endpoint", self.daemon.endpoint, "attach",
                      "--pid", str(target.pid), "--target", "*steady.py:step", "--interval", "50ms"],
                     env=clean_environment())
        self.addCleanup(pipe.kill)
        pipe.wait(10)
        self.assert_free(target, time.monotonic())
        self.assert_done(target)

    def test_stopped_client_loses_snapshots_but_no_totals(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:*", "--interval", "50ms")
        watch = self.start_watch(session.id)
        watch.wait_active()
        session.child.send_signal(signal.SIGSTOP)
        memory = costs.resident_kb(self.daemon.pid)
        for _ in range(20):
            target.ask("call", "step", 50)
            time.sleep(0.06)
        watch.wait_calls(1000)  # the session goes on, others see it
        self.assertLess(costs.resident_kb(self.daemon.pid) - memory, 5000)
        session.child.send_signal(signal.SIGCONT)
        last = session.finish()
        self.assertEqual({row["qualname"]: row["calls"] for row in last["targets"]}["step"], 1000)
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_stopped_client_and_then_killed(self):
        target = self.busy_target()
        session = self.attach(target, "--target", "*steady.py:*", "--interval", "50ms", "--delay", "1ms")
        session.child.send_signal(signal.SIGSTOP)
        time.sleep(1)
        [one] = json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"]
        self.assertEqual(one["state"], "ACTIVE")
        session.child.process.kill()
        self.assert_free(target, time.monotonic())
        self.assert_done(target)

    def test_duration_ends_under_a_stopped_client(self):
        target = self.busy_target()
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", "--duration", "500ms")
        active = time.monotonic()
        session.child.send_signal(signal.SIGSTOP)
        self.assert_free(target, active + 0.5)
        session.child.send_signal(signal.SIGCONT)
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (0, "duration over"))
        self.assert_clean_proof(last)
        self.assert_done(target)


if __name__ == "__main__":
    main()
