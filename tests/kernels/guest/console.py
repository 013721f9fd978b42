"""What the machine outside is told: lines `SBUMP-KERNEL-KIND {...}` on the console, one for each check among them."""
import json
import signal
import time
import unittest

WATCHDOG_SECONDS = 400


def say(kind, **fields):
    print("SBUMP-KERNEL-%s %s" % (kind, json.dumps(fields)), flush=True)


class Result(unittest.TextTestResult):
    """Tells the machine outside of each check."""

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()
        signal.alarm(WATCHDOG_SECONDS)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def _say(self, test, outcome, text=""):
        seconds = time.monotonic() - getattr(self, "_begin", time.monotonic())
        name = test.id().rpartition(".")[2].removeprefix("test_")
        say("RESULT", check=name, outcome=outcome, seconds=round(seconds, 1), text=text)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say(test, "ok")

    def addError(self, test, error):
        super().addError(test, error)
        self._say(test, "failed", self._exc_info_to_string(error, test))

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._say(test, "failed", self._exc_info_to_string(error, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say(test, "skipped", reason)


def give_up(*_):
    raise AssertionError("the check took more than %d s" % WATCHDOG_SECONDS)
