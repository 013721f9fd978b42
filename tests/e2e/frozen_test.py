"""A process whose cgroup is frozen (`docker pause`) while its threads are held, or are about to be."""
import os
import time

from harness import program, traces
from harness.case import Case, main

# The freezer of cgroup v1 keeps a thread from a tracer, too, that it has not stopped for yet; that of v2 does not.
V1, V2 = "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified"
THREADS, CALLS = 32, 400
LONGER_THAN_PROMISED_SECONDS = 3.2  # a delay, and what sbump-links waits beyond


class Freezer:
    def __init__(self, name):
        is_v1 = os.path.isdir(V1)
        root = V1 if is_v1 else V2 if os.path.isdir(V2) else "/sys/fs/cgroup"
        self.directory = os.path.join(root, name)
        self.file, self.words = ("freezer.state", ("THAWED", "FROZEN")) if is_v1 else ("cgroup.freeze", ("0", "1"))
        os.mkdir(self.directory)

    def write(self, file, text):
        with open(os.path.join(self.directory, file), "w") as opened:
            opened.write(text)

    def set(self, frozen):
        self.write(self.file, self.words[frozen])


class FrozenTest(Case):
    def setUp(self):
        super().setUp()
        program.build(self.scratch)
        self.freezer = Freezer("sbump-test-%d" % os.getpid())
        self.engine = program.Program(os.path.join(self.scratch, "engine"))
        self.addCleanup(self.end)
        self.freezer.write("cgroup.procs", str(self.engine.pid))

    def end(self):
        self.freezer.set(False)
        self.engine.kill()
        limit = time.monotonic() + 5
        while True:
            try:
                return os.rmdir(self.freezer.directory)
            except OSError:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.05)

    def start(self):
        session = self.attach(self.engine, "--native", "libengine.so:work", "--mode", "sleep", "--delay", "1ms")
        self.engine.send("threads", "work", CALLS, THREADS)
        time.sleep(0.1)
        return session

    def assert_unharmed(self):
        self.assertEqual(self.engine.answer(60), THREADS * CALLS)
        self.assertEqual(traces.changed_text(self.engine.pid), [])
        self.assertEqual(traces.trouble_of_threads(self.engine.pid), [])

    def test_in_mid_delay(self):
        """The daemon breaks no promise to threads that it does not hold."""
        session = self.start()
        for _ in range(3):
            self.freezer.set(True)
            time.sleep(LONGER_THAN_PROMISED_SECONDS)
            self.freezer.set(False)
            time.sleep(0.05)
        self.assertTrue(self.daemon.runs(), self.daemon.log)
        session.wait_calls(THREADS * CALLS)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [THREADS * CALLS])
        self.assert_clean_proof(last)
        self.assert_unharmed()

    def test_a_detach_meanwhile(self):
        """Whoever stops only then is let go then."""
        session = self.start()
        self.freezer.set(True)
        last = session.finish()
        self.assertEqual(last["end"]["detach_proof"]["links_left"], 0)
        self.freezer.set(False)
        self.assert_unharmed()
        self.assertTrue(self.daemon.runs(), self.daemon.log)


if __name__ == "__main__":
    main()
