"""A detach proof that finds something: it is read back from the process, not taken from what was asked for."""
import contextlib
import os
import signal

from harness import faults, program, traces
from harness.case import Case, each_mechanism, main
from harness.native import NativeCase

STEP = ("--target", "*steady.py:step")


@contextlib.contextmanager
def stopped(target):
    """It executes nothing of what is changed meanwhile."""
    os.kill(target.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(target.pid, signal.SIGCONT)


@contextlib.contextmanager
def changed_byte(target, address, original=None):
    """As if somebody patched the text of the process."""
    with open("/proc/%d/mem" % target.pid, "r+b", 0) as memory:
        memory.seek(address)
        before = memory.read(1)
        memory.seek(address)
        memory.write(bytes([before[0] ^ 0x55]))
        try:
            yield
        finally:
            memory.seek(address)
            memory.write(original or before)


class FoundTest(Case):
    def unclean_end(self, session, **found):
        """The proof that says so, the client's status, and the words for people."""
        last = session.finish()
        proof = last["end"]["detach_proof"]
        self.assertEqual({name: proof[name] for name in found}, found, proof)
        self.assertTrue(proof["verified"], proof)
        self.assertEqual(session.code, 1, session.errors)
        return proof

    def test_a_text_byte_that_differs(self):
        """The daemon looks again every 10 s, of itself."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP)
        # The probes are the only bytes that differ: what follows them is compared, too.
        probe = min(traces.changed_addresses(target.pid))
        with stopped(target):
            with changed_byte(target, probe + 7):
                proof = self.unclean_end(session, links_left=0, fields_left=0, text_bytes_changed=1)
                self.assertEqual(len(traces.changed_text(target.pid)), 1, proof)
                self.assertNotEqual(self.daemon.journals(), [])
        self.eventually(lambda: not self.daemon.journals(), 25, "the daemon to try again")
        self.assert_clean(target)

    @each_mechanism
    def test_fields_that_could_not_be_given_back(self, python):
        """Since somebody else traces the process, for longer than the daemon waits. The next one does it."""
        self.daemon = self.start_daemon(state_dir=self.scratch + "/state")
        target = self.start_target(python, "steady.py")
        target.ask("call", "step", 5000)
        session = self.attach(target, *STEP)
        target.ask("call", "step", 5000)
        with faults.traced(target, self.scratch + "/strace"):
            proof = self.unclean_end(session, links_left=0, fields_left=1, text_bytes_changed=0)
            self.assertIn("strace", proof["detail"])
            self.assertNotEqual(self.daemon.journals(), [])
            self.assertEqual(traces.changed_text(target.pid), [])  # the probes are gone all the same
            self.assertEqual(target.ask("call", "step", 50), 50)  # it runs on
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon = self.start_daemon(state_dir=self.scratch + "/state")
        self.assert_clean(target)

    def assert_clean(self, target):
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class NativeFoundTest(NativeCase):
    def test_a_function_whose_text_differs(self):
        library = program.build(self.scratch)
        engine = program.Program(os.path.join(self.scratch, "engine"))
        self.addCleanup(engine.kill)
        session = self.attach(engine, "--native", library + ":work")
        probe = min(traces.changed_addresses(engine.pid))
        _, offset, _ = min(traces.changed_text(engine.pid))
        with open(library, "rb") as file:
            file.seek(offset)
            original = file.read(1)
        with stopped(engine), changed_byte(engine, probe, original):
            last = session.finish()
            self.assertEqual(last["end"]["detach_proof"]["text_bytes_changed"], 1, last["end"])
            self.assertEqual(session.code, 1, session.errors)
        self.eventually(lambda: not self.daemon.journals(), 25, "the daemon to try again")
        self.assert_nothing_left(engine)
        self.assertEqual(engine.ask("threads", "work", 100, 1), 100)
        self.assert_ends_well(engine)


if __name__ == "__main__":
    main()
