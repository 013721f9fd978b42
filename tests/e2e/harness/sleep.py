"""The base of the tests of --mode sleep."""
from harness.case import Case


class SleepCase(Case):
    def finish(self, session, target):
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        return last

    def skips(self, last, *words):
        return sum(one["count"] for one in last["skipped"] if all(word in one["reason"] for word in words))
