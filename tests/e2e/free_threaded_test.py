"""CPython 3.13 built without a GIL (tests/free_threaded/run makes one): what is different there."""
from harness.case import Case, each_free_threaded, main
from harness.session import calls_by_name

MS = 0.001


class FreeThreadedTest(Case):
    @each_free_threaded
    def test_functions_that_8_threads_call_first_at_once(self, python):
        target = self.start_target(python, "parallel.py")
        session = self.attach(target, "--target", "born_*.py:born")
        own = target.ask("first_calls", 20, 8, 100)
        last = self.finish(session, target)
        missed = last["missed_calls"] + sum(row["missed_calls"] for row in last["targets"])
        self.assertFalse(last["inexact"], (last["skipped"], missed, calls_by_name(last), own))
        self.assertEqual((calls_by_name(last), own), ({"born": 20 * 8 * 100}, 20 * 8 * 100))

    @each_free_threaded
    def test_a_delay_stops_its_own_thread_only(self, python):
        target = self.start_target(python, "parallel.py")
        target.ask("timed", 2, 10)
        # What else this machine does costs both alike.
        alone = min(target.ask("spun", 2, 10, 10 * MS) for _ in range(8))
        session = self.attach(target, "--target", "*/parallel.py:nothing", "--delay", "10ms")
        together = min(target.ask("timed", 2, 10) for _ in range(8))
        last = self.finish(session, target)
        self.assertEqual(calls_by_name(last), {"nothing": 8 * 2 * 10})
        self.assertGreater(together, 10 * 10 * MS)
        self.assertLess(together, 1.7 * alone)  # with a GIL: twice that

    @each_free_threaded
    def test_the_build_is_shown(self, python):
        target = self.start_target(python, "steady.py")
        session = self.attach(target, "--target", "*steady.py:step")
        self.assertEqual(self.finish(session, target)["process"]["python_build"], "free-threaded")
        target = self.start_target(python, "steady.py")
        table = self.daemon.ctl("attach", "--pid", target.pid, "--target", "*steady.py:step", "--duration", "100ms",
                                "--max-stop", "1s")
        self.assertIn("free-threaded", table.out)
        for command in (("doctor",), ("match", "--target", "*steady.py:step", "--max-stop", "1s")):
            self.assertIn("free-threaded", self.daemon.ctl(*command, "--pid", target.pid).out)
        session = self.attach(target, "--target", "*steady.py:step")
        self.assertIn("free-threaded", self.daemon.ctl("list").out)
        self.finish(session, target)

    @each_free_threaded
    def test_match_finds_what_has_a_name(self, python):
        target = self.start_target(python)
        found = self.daemon.ctl("match", "--pid", target.pid, "--target", "*/calls.py:*", "--max-stop", "1s")
        for name in ("add", "numbers", "Shape.area", "Shape.size", "Shape.zero", "Shape.unit", "encloses.<locals>.inner"):
            self.assertIn(name, found.out)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
