"""The base of the tests of processes that lie, or do not answer: the daemon's bounds, and an honest neighbour."""
import time

from harness import costs, traces
from harness.case import Case
from harness.session import calls_by_name

# A daemon with one session has about 35 MB; the walk's cache and the names of code objects are bounded by 128 MB
# each; a session has the names of its targets once more.
MOST_MEMORY_KB = 500 << 10
MOST_SECONDS = 12          # for one attach to a liar, --max-stop 1s included
STEP = ("--target", "*/liar.py:step")


class HostileCase(Case):
    """With an honest neighbour, whose session counts all the time."""

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon()
        self.addCleanup(self.assert_memory_is_bounded)
        self.neighbour = self.start_target(script="steady.py")
        self.watch = self.attach(self.neighbour, "--target", "*steady.py:step", "--interval", "50ms")
        self.called = 0

    def call_neighbour(self):
        self.called += self.neighbour.ask("call", "step", 100)

    def assert_neighbour_unharmed(self):
        self.call_neighbour()
        last = self.watch.finish()
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assert_exact(last)
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.neighbour)
        self.assert_ends_well(self.neighbour)
        self.assert_memory_is_bounded()
        self.assertEqual(self.daemon.stop(), 0)

    def assert_memory_is_bounded(self):
        if traces.main_thread_runs(self.daemon.pid):
            self.assertLess(costs.peak_kb(self.daemon.pid), MOST_MEMORY_KB)

    def ask_of(self, pid, *command, seconds=MOST_SECONDS):
        """What the daemon says of it, in time."""
        self.call_neighbour()
        begin = time.monotonic()
        answer = self.daemon.ctl(*command, "--pid", pid, seconds=seconds + 30)
        self.assertLess(time.monotonic() - begin, seconds, answer)
        self.assertEqual(self.daemon.child.process.poll(), None, self.daemon.log)
        self.call_neighbour()
        return answer

    def attach_to(self, pid, *selection):
        return self.ask_of(pid, "attach", *selection, "--duration", "300ms", "--max-stop", "1s", "--format", "json")
