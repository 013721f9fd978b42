"""Counts equal the program's own, whatever the calls are."""
from harness.case import Case, each_interpreter, each_with_jit, main
from harness.session import calls_by_name


class CountsTest(Case):
    def assert_counts(self, target, update, own):
        calls = calls_by_name(update, target.file)
        self.assertEqual({name: calls.get(name, 0) for name in own}, own)
        self.assertEqual([row for row in update["targets"] if row["missed_calls"]], [])
        self.assert_exact(update)

    def run_counted(self, python, n, threads, *arguments, env=None):
        target = self.start_target(python, env=env)
        answer = target.ask("run", n, threads)
        target.ask("take_counts")
        session = self.attach(target, *arguments)
        self.assertEqual(target.ask("run", n, threads), answer)
        own = target.ask("take_counts")
        last = session.finish()
        self.assert_counts(target, last, own)
        self.assertEqual(target.ask("run", n, threads), answer)
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        return last

    @each_interpreter
    def test_all_kinds_of_calls_in_8_threads(self, python):
        """Recursion, generators, coroutines, exceptions, methods, closures; warm code and cold."""
        last = self.run_counted(python, 400, 8, "--target", "*/calls.py:*")
        rows = {row["qualname"]: row for row in last["targets"]}
        self.assertGreaterEqual(rows["add"]["threads_seen"], 8)

    @each_with_jit
    def test_under_the_jit(self, python):
        """Loops that were compiled before the attach, and are again during it."""
        self.run_counted(python, 4000, 2, "--target", "*/calls.py:*", env={"PYTHON_JIT": "1"})

    @each_interpreter
    def test_cold_code(self, python):
        """Functions that were called a few times before, and pass the warm-up while attached."""
        self.run_counted(python, 3, 1, "--target", "*/calls.py:*")

    @each_interpreter
    def test_everything_with_a_dose(self, python):
        self.run_counted(python, 50, 4, "--target", "*:*", "--delay", "2us")

    @each_interpreter
    def test_generators_that_never_start(self, python):
        """Made and dropped, or closed before the first next(): none of their code runs."""
        target = self.start_target(python)
        session = self.attach(target, "--target", "*/calls.py:numbers", "--target", "*/calls.py:receives",
                              "--target", "*/calls.py:generators_never_started")
        self.assertEqual(target.ask("generators_never_started", 50), 50)
        last = session.finish()
        self.assertEqual({name: count for name, count in calls_by_name(last).items() if count},
                         {"generators_never_started": 1})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
