"""How long a process stands still at most: --max-stop."""
from harness.case import Case, each_interpreter, main

LIMIT, PRECONDITION = 12, 13


class MaxStopTest(Case):
    @each_interpreter
    def test_a_stop_is_bounded_and_what_it_left_out_is_said(self, python):
        target = self.start_target(python, "calls.py")
        answer = target.ask("run", 50, 2)
        target.ask("take_counts")
        session = self.start_attach(target, "--target", "*/calls.py:*", "--max-stop", "2ms")
        try:
            session.wait_active()
        except AssertionError:  # not even stopped in that time: refused
            self.assertIn(session.child.wait(), (LIMIT, PRECONDITION), session.errors)
            self.assertIn("stop", session.errors)
            self.assert_nothing_left(target)
            return self.assert_ends_well(target)
        self.assertEqual(target.ask("run", 50, 2), answer)
        own = target.ask("take_counts")
        last = session.finish()
        self.assertLess(last["times"]["longest_stop_ns"], 30_000_000)
        calls = {row["qualname"]: row["calls"] for row in last["targets"]}
        if calls != {**calls, **own}:
            warnings = " ".join(sum((update["warnings"] for update in session.updates), []))
            self.assertIn("incomplete", warnings)
            self.assertTrue(last["inexact"])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
