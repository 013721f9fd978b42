"""Children of a slowed process: other processes, at full speed, unharmed, with and after the session."""
import time

from harness import traces
from harness.case import Case, each_interpreter, main
from harness.session import calls_by_name

N = 200
ANSWER = N * (N + 1) // 2
MS = 1_000_000


class ForkTest(Case):
    @each_interpreter
    def test_fork_and_pools(self, python):
        target = self.start_target(python, "forks.py")
        target.ask("work", 3000)
        target.ask("take_calls")
        session = self.attach(target, "--target", "*/forks.py:step", "--delay", "500us")
        status, (child_answer, child_ns), (answer, ns) = target.ask("fork", N)
        self.assertEqual((status, child_answer, answer), (0, ANSWER, ANSWER))
        self.assertGreater(ns, N * 0.5 * MS)
        self.assertLess(child_ns, N * 0.25 * MS)
        self.assertEqual(target.ask("pool", N), [ANSWER] * 20)
        self.assertEqual(target.ask("spawned", N), ANSWER)
        target.ask("work", N)
        own = target.ask("take_calls")
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": own})
        self.assertEqual(own, 2 * N)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_children_have_no_probe_on_their_calls(self, python):
        """Not even while the session is on: every call of theirs would pay for it. Their first hit removes it.
        What remains are the rare sites (daemon/attach/uprobe_link.h): where code is born, and where it dies."""
        target = self.start_target(python, "forks.py")
        session = self.attach(target, "--target", "*/forks.py:step")
        target.ask("work", 3000)
        child = target.ask("fork_and_stay", N)
        in_target = traces.changed_text(target.pid)
        self.eventually(lambda: len(traces.changed_text(child)) == len(in_target) - 1, 5, "one probe less")
        self.assertLess(set(traces.changed_text(child)), set(in_target))
        last = session.finish()
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(target.ask("collect"), [0])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_child_that_outlives_the_session(self, python):
        """Born while its parent is armed, it carries the marks and no probe, and works on."""
        target = self.start_target(python, "forks.py")
        target.ask("work", 3000)
        session = self.attach(target, "--target", "*/forks.py:*", "--delay", "10us")
        target.ask("work", N)
        child = target.ask("fork_and_stay", N)
        last = session.finish()
        time.sleep(0.1)
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(traces.trouble_of_threads(child), [])
        # It is a process like any other.
        of_child = self.attach(child, "--target", "*/forks.py:step")
        self.assertGreater(of_child.wait_calls(1000)["patterns"][0]["calls"], 999)
        self.assert_clean_proof(of_child.finish())
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(target.ask("collect"), [0])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
