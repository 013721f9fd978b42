"""Tests that judge times, on a machine whose processors the hypervisor gives to others now and then."""
import functools
import pathlib
import signal

from harness.case import WATCHDOG_SECONDS

ATTEMPTS = 3
NOTICEABLE = 0.01  # of the processors' time; proc(5), /proc/stat: `steal`


def _ticks():
    """(stolen, all) until now."""
    ticks = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


def _again_where_stolen(method):
    @functools.wraps(method)
    def test(self):
        for _ in range(ATTEMPTS - 1):
            stolen, whole = _ticks()
            try:
                return method(self)
            except AssertionError as error:
                now_stolen, now_whole = _ticks()
                share = (now_stolen - stolen) / (now_whole - whole)
                if share < NOTICEABLE:
                    raise
                print("%s\n%.0f %% of the machine were taken away meanwhile: once more" % (str(error)[:500], 100 * share))
            signal.alarm(WATCHDOG_SECONDS)
            self.doCleanups()
            self.setUp()
        return method(self)

    return test


def judges_times(case):
    """A class of tests: each that fails is tried again, where the machine was not all there. It may not fail where it was."""
    for name, method in list(vars(case).items()):
        if name.startswith("test_"):
            setattr(case, name, _again_where_stolen(method))
    return case
