"""Several interpreters of one libpython in a process: code of all of them is found, counted and put back."""
from harness.case import Case, each_interpreter, each_with_monitoring, main
from harness.session import calls_by_name

COUNT = 3
UNSEEN = "an interpreter was made and ran unseen at first: its first calls may be missed"


class SubinterpretersTest(Case):
    def start_with_interpreters(self, python, own_gil):
        target = self.start_target(python, "subinterpreters.py")
        self.files = target.ask("start", COUNT, own_gil)
        return target

    def assert_counts(self, last, own):
        self.assert_exact(last)
        for file, counts in own:
            calls = calls_by_name(last, file)
            self.assertEqual({name: calls.get(name, 0) for name in counts}, counts, file)

    def assert_exact_or_told(self, last, own):
        """A busy machine may look too late at code of an interpreter that was just made: then it says so."""
        if last["missed_calls"] + sum(row["missed_calls"] + bool(row["blocked"]) for row in last["targets"]) == 0:
            return self.assert_counts(last, own)
        self.assertTrue(last["inexact"])
        for file, counts in own:
            calls = calls_by_name(last, file)
            for name, own_calls in counts.items():  # not of the generator in `work`, which counts nothing itself
                self.assertLessEqual(calls.get(name, 0), own_calls, (file, name))

    def count_all(self, python, own_gil):
        target = self.start_with_interpreters(python, own_gil)
        answer = target.ask("work", 200)
        target.ask("take_counts")
        session = self.attach(target, "--target", "sub_*.py:[!n]*", "--target", "born_*.py:[!<]*")
        target.ask("work_in_turn", 5)
        self.assertEqual(target.ask("work", 200), answer)
        own = list(zip(self.files, target.ask("take_counts")))
        born = target.ask("born", "born_later.py", 50)
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_counts(last, own)
        expected = {name: sum(counts[name] for _, counts in born) for name in born[0][1]}
        self.assert_counts(last, [("born_later.py", expected)])
        self.assertEqual(target.ask("work", 200), answer)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_that_share_a_gil(self, python):
        self.count_all(python, own_gil=False)

    @each_with_monitoring
    def test_with_gils_of_their_own(self, python):
        self.count_all(python, own_gil=True)

    def count_late(self, python, own_gil):
        target = self.start_with_interpreters(python, own_gil)
        session = self.attach(target, "--target", "sub_*.py:[!n]*")
        files = target.ask("start", COUNT, own_gil)
        target.ask("work_in_turn", 5)
        target.ask("work", 100)
        own = list(zip(self.files + files, target.ask("take_counts")))
        last = session.finish()
        self.assert_exact_or_told(last, own)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_that_are_made_later(self, python):
        self.count_late(python, own_gil=False)

    @each_with_monitoring
    def test_with_gils_of_their_own_that_are_made_later(self, python):
        self.count_late(python, own_gil=True)

    def start_while_daemon_stands_still(self, target):
        with self.daemon.standing_still():
            return target.ask("start", 1, True)[0]

    @each_with_monitoring
    def test_one_that_is_made_while_the_daemon_stands_still(self, python):
        """It is told, however soon the session ends; and counted soon after the daemon goes on."""
        target = self.start_with_interpreters(python, own_gil=True)
        session = self.attach(target, "--target", "sub_*.py:[!n<]*")
        self.start_while_daemon_stands_still(target)
        last = session.finish()
        self.assertIn(UNSEEN, [one["reason"] for one in last["skipped"]])
        self.assertTrue(last["inexact"])
        session = self.attach(target, "--target", "sub_*.py:[!n<]*")
        file = self.start_while_daemon_stands_still(target)
        told = session.wait_for(lambda one: UNSEEN in [skipped["reason"] for skipped in one["skipped"]])
        settled = session.wait_for(lambda one: one["unix_ns"] > told["unix_ns"] + 1e9)
        target.ask("take_counts")
        target.ask("work_in_turn", 5)
        own = target.ask("take_counts")[-1]
        last = session.finish()
        before, after = calls_by_name(settled, file), calls_by_name(last, file)
        self.assertEqual({name: after.get(name, 0) - before.get(name, 0) for name in own if name != "note"},
                         {name: calls for name, calls in own.items() if name != "note"})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
