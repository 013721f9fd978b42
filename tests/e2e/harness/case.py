"""The base of the end-to-end tests, and their main function.

A method marked `each_interpreter` becomes one test case for each supported interpreter, one marked
`each_mechanism` one for each way of arming.
"""
import os
import shutil
import signal
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

from harness import faults, interpreters, traces
from harness.daemon import Daemon
from harness.session import Session
from harness.target import Target

WATCHDOG_SECONDS = 240


def each_interpreter(method):
    method.pythons = interpreters.supported
    return method


def each_with_monitoring(method):
    """CPython 3.12 and later: they have sys.monitoring and an instrumentation version."""
    method.pythons = lambda: [python for python in interpreters.supported() if python.version >= (3, 12)]
    return method


def each_with_torch(method):
    method.pythons = interpreters.with_torch
    return method


def each_with_greenlet(method):
    method.pythons = interpreters.with_greenlet
    return method


def each_with_torch_and_greenlet(method):
    method.pythons = interpreters.with_torch_and_greenlet
    return method


def each_free_threaded(method):
    method.pythons = lambda: [python for python in interpreters.supported() if python.free_threaded]
    return method


def each_with_jit(method):
    method.pythons = lambda: [python for python in interpreters.supported() if python.has_jit]
    return method


def each_with_library(method):
    """Those whose libpython other programs can load."""
    method.pythons = lambda: [python for python in interpreters.supported() if python.library]
    return method


def each_with_own_file(method):
    """Those of this machine that run from a copy of their file."""
    method.pythons = lambda: [python for python in interpreters.supported() if _runs_from_a_copy(python)]
    return method


def each_that_can_be_copied(method):
    """The same, and those of other Debian suites."""
    method.pythons = lambda: [python for python in interpreters.supported()
                              if python.root or _runs_from_a_copy(python)]
    return method


def _runs_from_a_copy(python):
    return python.library == python.file or python.file.startswith("/usr/bin/")


def each_with_library_beside(method):
    """Those that are programs and have a libpython, too, as Debian's."""
    method.pythons = lambda: [python for python in interpreters.supported()
                              if python.library and python.library != python.file]
    return method


def each_with_own_root(method):
    """Those of other Debian suites, each in a root with all else of its suite."""
    method.pythons = lambda: [python for python in interpreters.supported() if python.root]
    return method


def on_any_interpreter(method):
    """A single case on self.python, which its name says: it counts in README's table of what was tried with which."""
    def test(self, _):
        method(self)
    test.__doc__ = method.__doc__
    test.pythons = lambda: [interpreters.any_supported()]
    return test


def each_mechanism(method):
    method.pythons = interpreters.one_per_mechanism
    return method


def _with_python(method, python):
    def test(self):
        method(self, python)
    test.__doc__ = method.__doc__
    return test


class Case(unittest.TestCase):
    maxDiff = 4000
    daemon = None  # one for the whole class

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if not hasattr(method, "pythons"):
                continue
            delattr(cls, name)
            if not method.pythons():
                skip = unittest.skip("no interpreter that this is about was found")
                setattr(cls, name, skip(_with_python(method, None)))
            for python in method.pythons():
                setattr(cls, "%s_on_%s" % (name, python.name.replace(".", "_")), _with_python(method, python))

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.clean_up)

    def setUp(self):
        self.python = interpreters.any_supported()
        self.scratch = tempfile.mkdtemp(prefix="sbump-e2e-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def start_daemon(self, **options):
        daemon = Daemon(**options)
        self.addCleanup(daemon.clean_up)
        return daemon

    def start_target(self, python=None, script="calls.py", *arguments, **options):
        target = Target(python or self.python, script, *arguments, **options)
        self.addCleanup(target.kill)
        return target

    def start_attach(self, target, *arguments, daemon=None, env=None):
        """`target` is a Target or a pid. Returns at once: see Session.wait_active()."""
        if "--max-stop" not in arguments:
            # The default of 100 ms is enough unless other work keeps both processors.
            arguments += ("--max-stop", "1s")
        session = Session(daemon or self.daemon, "--pid", getattr(target, "pid", target), *arguments, env=env)
        self.addCleanup(session.kill)
        return session

    def attach(self, target, *arguments, **options):
        session = self.start_attach(target, *arguments, **options)
        session.wait_active()
        return session

    def start_watch(self, session_id, daemon=None):
        session = Session(daemon or self.daemon, session_id, command="watch")
        self.addCleanup(session.kill)
        return session

    def inject(self, daemon, call, what):
        """strace on the daemon: `what` happens at each of its system calls `call` (strace(1), -e inject)."""
        tracer = faults.strace(daemon, self.scratch + "/strace", "-e", "trace=" + call, "-e",
                               "inject=%s:%s" % (call, what))
        self.addCleanup(tracer.kill)
        return tracer

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def small_disk(self, kilobytes):
        disk = faults.SmallDisk(self.scratch + "/small", kilobytes)
        self.addCleanup(disk.unmount)
        return disk

    def check_sleep(self, target):
        """Of a target that runs steady.py: its delays are whole, or the session says that some are not (where the machine gave the
        daemon no processor), and most of them cost no processor."""
        session = self.attach(target, "--target", "*/steady.py:step", "--delay", "20ms", "--mode", "sleep")
        times = target.ask("each", 20)
        last = session.finish()
        cut_short = sum(one["count"] for one in last["skipped"] if "cut short by" in one["reason"])
        self.assertLessEqual(sum(time < 19_900_000 for time in times), cut_short + 20 * last["inexact"], (times, last["skipped"]))
        spun = sum(one["count"] for one in last["skipped"] if "was a spin" in one["reason"])
        self.assertLess(spun, 10, last["skipped"])
        self.assert_clean_proof(last)

    # ---- What every test asserts at its end ----

    def assert_clean_proof(self, update, verified=True):
        proof = update["end"]["detach_proof"]
        self.assertEqual((proof["links_left"], proof["fields_left"], proof["text_bytes_changed"]), (0, 0, 0), proof)
        self.assertEqual(proof["verified"], verified, proof)

    def assert_nothing_left(self, target, daemon=None, after_kill=False, own_marks=()):
        """By the process and the kernel, without the daemon's word for it."""
        daemon = daemon or self.daemon
        pid = getattr(target, "pid", target)
        self.assertEqual(traces.changed_text(pid), getattr(target, "own_text", []))
        self.assertEqual(traces.trouble_of_threads(pid), [])
        # One that a killed daemon left is no lock any more.
        self.assertEqual(traces.held_locks(pid) if after_kill else traces.locks(pid), [])
        self.assertEqual([name for name in daemon.journals() if name.startswith("%d-" % pid)], [], daemon.log[-2000:])
        if daemon.runs():
            self.assertEqual(daemon.kernel_objects(), [])
        if isinstance(target, Target):
            # CPython's own tools leave `own_marks`: on 3.12 and later a function is rid of theirs at its next call.
            armed = [name for name in target.ask("armed_code") if name.rpartition(":")[2] not in own_marks]
            self.assertEqual(armed, [])

    def assert_exact(self, update):
        """Each call is counted. On a busy machine the daemon may be late for the first one of new code, which goes on without
        its delay then: that is told, and counted all the same. A daemon that is late for many is no machine's fault."""
        late = sum(skipped["count"] for skipped in update["skipped"] if "answered too late" in skipped["reason"])
        self.assertTrue(late or not update["inexact"], update["skipped"])
        self.assertLessEqual(4 * late, update["times"]["holds"], (update["skipped"], update["times"]))

    def assert_ends_well(self, target):
        self.assertEqual(target.end(), 0)

    def finish(self, session, target):
        """Ends the session, then the target, and returns the last update."""
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        return last

    def eventually(self, holds, seconds=2, what="it"):
        """Waits until `holds()` is true and returns that value."""
        limit = time.monotonic() + seconds
        while True:
            value = holds()
            if value:
                return value
            if time.monotonic() > limit:
                self.fail("%s did not happen within %g s" % (what, seconds))
            time.sleep(0.01)

    def assert_refused(self, answer, code, *words):
        self.assertEqual(answer.code, code, answer)
        for word in words:
            self.assertIn(str(word), answer.err)


class _Result(unittest.TextTestResult):
    """Keeps each case for $XML_OUTPUT_FILE, and says how long it took."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.cases = []

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()
        signal.alarm(WATCHDOG_SECONDS)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def _note(self, test, kind=None, text=""):
        seconds = time.monotonic() - getattr(self, "_begin", time.monotonic())
        self.cases.append((test.id(), seconds, kind, text))
        self.stream.write("    %.1f s\n" % seconds)
        if kind in ("error", "failure"):  # not only at the end, which may be thousands of lines away
            self.stream.write(text + "\n")
        self.stream.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test)

    def addError(self, test, error):
        super().addError(test, error)
        self._note(test, "error", self._exc_info_to_string(error, test))

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._note(test, "failure", self._exc_info_to_string(error, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._note(subtest, "failure", self._exc_info_to_string(error, test))

    def write_xml(self, path):
        suite = xml.etree.ElementTree.Element("testsuite", name=sys.argv[0], tests=str(len(self.cases)))
        for name, seconds, kind, text in self.cases:
            classname, _, method = name.removeprefix("__main__.").partition(".")
            case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=classname, name=method,
                                                    time="%.3f" % seconds)
            if kind:
                readable = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
                xml.etree.ElementTree.SubElement(case, kind, message=readable)
        xml.etree.ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _give_up(*_):
    raise AssertionError("the test took more than %d s" % WATCHDOG_SECONDS)


def own_shard(suite):
    """What Bazel wants of this process where a test has a shard_count (its "Test encyclopedia")."""
    if "TEST_SHARD_STATUS_FILE" in os.environ:
        with open(os.environ["TEST_SHARD_STATUS_FILE"], "w"):
            pass
    every, first = (int(os.environ.get(name, default)) for name, default in
                    (("TEST_TOTAL_SHARDS", 1), ("TEST_SHARD_INDEX", 0)))
    return unittest.TestSuite(sorted(_cases(suite), key=lambda case: case.id())[first::every])


def _cases(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _cases(one)
        else:
            yield one


def main():
    if os.geteuid() != 0:
        sys.exit("The end-to-end tests place probes: run them as root (sudo ./tests/run e2e).")
    signal.signal(signal.SIGALRM, _give_up)
    # A test run that is told to end still puts everything away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    loader = unittest.defaultTestLoader
    if sys.argv[1:2] == ["-k"]:
        loader.testNamePatterns = ["*%s*" % word for word in sys.argv[2:]]
    names = sys.argv[1:] if loader.testNamePatterns is None else []
    module = sys.modules["__main__"]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    suite = own_shard(suite)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2, descriptions=False, resultclass=_Result).run(suite)
    if os.environ.get("XML_OUTPUT_FILE"):
        result.write_xml(os.environ["XML_OUTPUT_FILE"])
    sys.exit(0 if result.wasSuccessful() and result.cases else 1)
