"""The base of the tests of --mode sleep."""
from harness.case import Case


class SleepCase(Case):
    def skips(self, last, *words):
        return sum(one["count"] for one in last["skipped"] if all(word in one["reason"] for word in words))
