"""Processes that lie: the daemon refuses or copes, in bounded time and memory, and other sessions do not notice."""
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from harness import costs, silent_fs, traces
from harness.case import Case, each_mechanism, main
from harness.child import Child
from harness.daemon import START_SECONDS
from harness.interpreters import newest
from harness.program import Program
from harness.session import calls_by_name
from harness.target import TARGETS

# A daemon with one session has about 35 MB; the walk's cache and the names of code objects are bounded by 128 MB
# each; a session has the names of its targets once more.
MOST_MEMORY_KB = 500 << 10
MOST_SECONDS = 12          # for one attach to a liar, --max-stop 1s included
PATIENCE_SECONDS = 20      # the daemon's own, with memory that does not answer (daemon/rpc/blocking_work.h)
UNSUPPORTED, NO_MATCH, PRECONDITION = 5, 7, 13
PASSED_OVER = "functions or code objects were passed over"
STEP = ("--target", "*/liar.py:step")


class HostileCase(Case):
    """With an honest neighbour, whose session counts all the time."""

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon()
        self.addCleanup(self.assert_memory_is_bounded)
        self.neighbour = self.start_target(script="steady.py")
        self.watch = self.attach(self.neighbour, "--target", "*steady.py:step", "--interval", "50ms")
        self.called = 0

    def call_neighbour(self):
        self.called += self.neighbour.ask("call", "step", 100)

    def assert_neighbour_unharmed(self):
        self.call_neighbour()
        last = self.watch.finish()
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assertFalse(last["inexact"], last["skipped"])
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.neighbour)
        self.assert_ends_well(self.neighbour)
        self.assert_memory_is_bounded()
        self.assertEqual(self.daemon.stop(), 0)

    def assert_memory_is_bounded(self):
        if traces.main_thread_runs(self.daemon.pid):
            self.assertLess(costs.peak_kb(self.daemon.pid), MOST_MEMORY_KB)

    def ask_of(self, pid, *command, seconds=MOST_SECONDS):
        """What the daemon says of it, in time."""
        self.call_neighbour()
        begin = time.monotonic()
        answer = self.daemon.ctl(*command, "--pid", pid, seconds=seconds + 30)
        self.assertLess(time.monotonic() - begin, seconds, answer)
        self.assertEqual(self.daemon.child.process.poll(), None, self.daemon.log)
        self.call_neighbour()
        return answer

    def attach_to(self, pid, *selection):
        return self.ask_of(pid, "attach", *selection, "--duration", "300ms", "--max-stop", "1s", "--format", "json")


class LiarTest(HostileCase):
    """A real interpreter with structures that it spoilt itself."""

    def lie(self, python, name, *arguments, codes=(0,), leaves_probes=False):
        liar = self.start_target(python, "liar.py")
        liar.ask(name, *arguments)
        answers = [self.ask_of(liar.pid, "doctor"), self.ask_of(liar.pid, "match", *STEP, "--max-stop", "1s"),
                   self.attach_to(liar.pid, *STEP, "--target", "*:nothing"), self.attach_to(liar.pid, "--target", "*:*")]
        for answer in answers[2:]:
            self.assertIn(answer.code, codes, answer)
            if answer.code not in (0, NO_MATCH):
                self.assertIn(str(liar.pid), answer.err)
        self.assertEqual(traces.changed_text(liar.pid), [])
        self.assertEqual(traces.trouble_of_threads(liar.pid), [])
        self.assertEqual(liar.ask("call", 100), 5050)
        liar.send("leave")
        self.assertEqual(liar.child.wait(), 0)
        self.assert_neighbour_unharmed()
        return answers

    def assert_said(self, answers, words):
        """By a dry run and by both sessions."""
        for answer in answers[1:]:
            self.assertIn(words, answer.out + answer.err)

    @each_mechanism
    def test_a_list_that_leads_to_itself(self, python):
        """The walk ends at --max-stop, and says so; or finds the list broken. Without a GIL it goes by names, to its end."""
        answers = self.lie(python, "loops", codes=(0, NO_MATCH, PRECONDITION))
        self.assertEqual("incomplete" in answers[1].out + answers[1].err, not python.free_threaded)

    @each_mechanism
    def test_wild_pointers(self, python):
        self.assert_said(self.lie(python, "wild_pointers"), PASSED_OVER)

    @each_mechanism
    def test_huge_sizes(self, python):
        self.assert_said(self.lie(python, "huge_sizes"), PASSED_OVER)

    @each_mechanism
    def test_constants_that_lead_back(self, python):
        self.lie(python, "consts_lead_back")

    @each_mechanism
    def test_code_that_changes_under_the_reader(self, python):
        self.lie(python, "changes")

    def test_long_names(self):
        self.assert_said(self.lie(self.python, "long_names"), "incomplete")

    def test_new_names_without_end(self):
        """What lives is bounded by the process's own memory, but names, and rows of what is gone, are not."""
        liar = self.start_target(script="liar.py")
        for pattern in ("*:*", "app.engine:step"):
            session = self.attach(liar, "--target", pattern)
            self.assertGreater(liar.ask("new_names", 6, seconds=30), 1000)
            last = session.finish()
            if pattern == "*:*":
                self.assertIn("no room for more", str(last["skipped"]))
            self.assert_clean_proof(last)
        self.assertEqual(traces.changed_text(liar.pid), [])
        self.assert_ends_well(liar)
        self.assert_neighbour_unharmed()

    def test_many_mappings(self):
        """More than the kernel allows by default, where we may allow it."""
        limit = "/proc/sys/vm/max_map_count"
        with open(limit) as file:
            before = file.read()
        self.addCleanup(self.write_limit, limit, before)
        self.write_limit(limit, "120000")
        liar = self.start_target(script="liar.py")
        lines = liar.ask("many_maps", 100_000)
        self.write_limit(limit, before)
        self.assertGreaterEqual(lines, 100_000 if os.environ.get("CI") == "true" else 60_000)
        self.assertEqual(self.attach_to(liar.pid, *STEP).code, 0)
        self.assertEqual(liar.ask("call", 100), 5050)
        self.assert_neighbour_unharmed()

    def write_limit(self, path, text):
        try:
            with open(path, "w") as file:
                file.write(text)
        except OSError as error:
            print("fewer mappings than meant: %s" % error, end=" ")

    def test_forged_offsets(self):
        """3.13 and later tell where everything is: another answer than the files' is a refusal."""
        python = newest((3, 13))
        if python is None:
            self.skipTest("needs CPython 3.13 or newer")
        for lie in ("forged_offsets", "forged_cookie"):
            liar = self.start_target(python, "liar.py")
            liar.ask(lie)
            answer = self.attach_to(liar.pid, *STEP)
            self.assertIn(answer.code, (1, UNSUPPORTED, PRECONDITION), answer)
            self.assertIn(str(liar.pid), answer.err)
            self.assertEqual(liar.ask("call", 100), 5050)
        self.assert_neighbour_unharmed()


class ImpostorTest(HostileCase):
    """Programs that are no Python, and files that are no ELF."""

    def build(self, name, *flags):
        program = os.path.join(self.scratch, name)
        subprocess.run(["/usr/bin/g++", "-O1", "-rdynamic", *flags, "-o", program, str(TARGETS / "impostor.cc")], check=True)
        return program

    def start_program(self, *command):
        program = Program(*command)
        self.addCleanup(program.kill)
        return program

    def assert_refused_in_words(self, program):
        for command in (["doctor"], ["match", *STEP], ["attach", *STEP, "--duration", "100ms"]):
            answer = self.ask_of(program.pid, *command)
            if command[0] != "doctor":
                self.assertIn(answer.code, (1, UNSUPPORTED, PRECONDITION), answer)
                self.assertIn(str(program.pid), answer.err)
        self.assertEqual(traces.changed_text(program.pid), [])

    def test_a_forged_runtime(self):
        program = self.start_program(self.build("python3.13", "-DRUNTIME"))
        self.assert_refused_in_words(program)
        self.assert_neighbour_unharmed()

    def test_files_that_are_no_elf(self):
        """By names that are looked at: cut off anywhere, with absurd headers, changed at random."""
        program = self.build("impostor")
        with open(next(path for path in (self.libpython(), program) if path), "rb") as file:
            honest = file.read()
        chance = random.Random(1)
        for number, content in enumerate(_spoilt(honest, chance)):
            path = os.path.join(self.scratch, "libpython3.13.so.%d" % number)
            with open(path, "wb") as file:
                file.write(content)
            started = self.start_program(program, path)
            for command in (["match", *STEP],
                            ["attach", "--native", "libpython3.13.so.%d:Py_GetVersion" % number, "--duration", "50ms"]):
                answer = self.ask_of(started.pid, *command)
                self.assertLess(answer.code, 128, answer)
            self.assertTrue(started.alive())
            started.kill()
            os.unlink(path)
        self.assert_neighbour_unharmed()

    def libpython(self):
        """The largest file that an interpreter of the tests maps by that name."""
        for line in open("/proc/%d/maps" % self.neighbour.pid):
            path = line.split(None, 5)[-1].strip()
            if "libpython" in path or "python3" in os.path.basename(path):
                return path
        return None


def _spoilt(honest, chance):
    """Files that a loader would not load."""
    for size in [0, 1, 4, 16, 52, 63, 64, 65, 120, 4096, 100_000, len(honest) // 2]:
        yield honest[:size]
    for offset, width in [(16, 2), (18, 2), (32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2)]:
        for value in (0, (1 << (8 * width)) - 1, 1 << (8 * width - 1)):
            yield honest[:offset] + value.to_bytes(width, "little") + honest[offset + width:]
    for header in range(2, 10):  # its program headers: sizes and places
        for field in (8, 16, 32, 40):
            at = 64 + 56 * header + field
            yield honest[:at] + chance.choice([b"\xff" * 8, b"\0" * 8, chance.randbytes(8)]) + honest[at + 8:]
    for _ in range(8):
        changed = bytearray(honest)
        for _ in range(200):
            changed[chance.randrange(min(len(changed), 1 << 16))] = chance.randrange(256)
        yield bytes(changed)


@unittest.skipUnless(silent_fs.is_possible(), "needs " + silent_fs.DEVICE)
class SilentMemoryTest(HostileCase):
    """Pages and files that never come, from a FUSE server that does not answer. (userfaultfd, which could hang the
    machine: tests/kernels.)"""

    def setUp(self):
        super().setUp()
        self.files = silent_fs.SilentFs(self.scratch + "/silent")
        # First of all at the end: whatever waits for it goes on then.
        self.addCleanup(self.files.end)

    def silent_target(self, lie, name):
        target = self.start_target(script="liar.py")
        target.ask(lie, os.path.join(self.files.directory, name))
        return target

    def assert_others_can_attach(self):
        """More of them than the daemon has workers."""
        for _ in range(2):
            other = self.start_target(script="steady.py")
            begin = time.monotonic()
            session = self.attach(other, "--target", "*steady.py:step")
            self.assertLess(time.monotonic() - begin, 6)
            other.ask("call", "step", 10)
            last = session.finish()
            self.assertEqual(calls_by_name(last), {"step": 10})
            self.assert_clean_proof(last)

    def test_a_page_that_never_comes_is_not_read(self):
        """Whoever reads it holds the process's memory locked meanwhile, and with a probe on top the whole machine."""
        target = self.silent_target("silent_page", "data")
        for command in (["doctor"], ["match", *STEP], ["attach", *STEP, "--duration", "200ms"]):
            self.assertEqual(self.ask_of(target.pid, *command).code, 0)
        self.assertEqual(self.files.reads, 0)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)
        self.assert_others_can_attach()
        self.assert_neighbour_unharmed()

    def test_match_and_doctor_are_answered(self):
        """Six at once, for a library that never comes: each is told, and meanwhile others work."""
        target = self.silent_target("silent_library", "libpython3.99.so.1.0")
        command = [os.environ["SBUMPCTL"], "--endpoint", self.daemon.endpoint]
        asked = [Child([*command, *words, "--pid", str(target.pid)]) for words in 3 * [["doctor"], ["match", *STEP]]]
        for child in asked:
            self.addCleanup(child.kill)
        self.eventually(lambda: self.files.reads > 0, 5, "a read of the file")
        self.assert_others_can_attach()
        for child in asked:
            self.assertNotEqual(child.wait(PATIENCE_SECONDS + 10), 0)
            self.assertIn("pid %d: no answer within 20 s" % target.pid, child.errors)
        self.call_neighbour()
        last = self.watch.finish()
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assert_clean_proof(last)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def start_stuck_session(self):
        """One that waits for the library's file."""
        target = self.silent_target("silent_library", "libpython3.99.so.1.0")
        session = self.start_attach(target, *STEP)
        self.eventually(lambda: self.files.reads > 0, 10, "a read of the file")
        return target, session

    def test_sigterm_does_not_wait_for_it(self):
        target, session = self.start_stuck_session()
        self.assert_others_can_attach()
        self.call_neighbour()
        self.daemon.child.send_signal(signal.SIGTERM)
        last = self.watch.wait_end(20)
        self.assertEqual(calls_by_name(last), {"step": self.called})
        self.assert_clean_proof(last)
        self.eventually(lambda: not traces.main_thread_runs(self.daemon.pid), 18, "the daemon's end")
        self.assert_free_of_probes([self.neighbour])
        self.assertIn("event=session_left_behind", self.daemon.log)
        session.kill()
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def assert_free_of_probes(self, targets):
        """Not of those that map the silent file: we would wait for it, too."""
        for one in targets:
            self.eventually(lambda: traces.changed_text(one.pid) == [], 3, "the probes' end")
            self.assertEqual(traces.trouble_of_threads(one.pid), [])

    def test_kill_with_a_thread_that_waits(self):
        """The kernel cannot end that thread, which keeps the daemon's descriptors: the probes go all the same, and a
        new daemon takes its place."""
        slow = self.start_target(script="steady.py")
        self.attach(slow, "--target", "*steady.py:step", "--delay", "1ms")
        target, session = self.start_stuck_session()
        self.daemon.child.process.send_signal(signal.SIGKILL)
        self.assert_free_of_probes([slow, self.neighbour])
        session.kill()
        again = self.start_again()
        self.assertEqual(again.ctl("list").code, 0)
        self.assertEqual(target.ask("call", 100, seconds=10), 5050)

    def test_recovery_does_not_wait_for_it(self):
        """Two processes have such a file by the time that a new daemon is to disarm them: it serves in time, and disarms
        the third, which comes after them."""
        targets = [self.start_target(script="liar.py") for _ in range(3)]
        for target in targets:
            self.attach(target, *STEP)
            target.ask("call", 100)
        self.daemon.kill()
        self.assert_free_of_probes([self.neighbour, *targets])
        by_journal = {"%d-%d" % (one.pid, traces.start_ticks(one.pid)): one for one in targets}
        *silent, last = [by_journal[name] for name in self.daemon.journals() if name in by_journal]
        for number, target in enumerate(silent):
            target.ask("silent_library", os.path.join(self.files.directory, "libpython3.99.so.%d" % number))
        self.assertNotEqual(last.ask("armed_code"), [])
        self.start_again()
        self.eventually(lambda: last.ask("armed_code") == [], 2 * PATIENCE_SECONDS + 20, "the recovery of the third")
        self.eventually(lambda: not traces.held_locks(last.pid), 5, "its end")
        self.assert_nothing_left(last, after_kill=True)
        self.assertEqual([target.ask("call", 100, seconds=10) for target in silent], [5050] * 2)

    def start_again(self):
        """A daemon on the socket and the state directory of the one that was killed."""
        again = Child([os.environ["SBUMPD"], "--listen", self.daemon.endpoint, "--state-dir", self.daemon.state_dir])
        self.addCleanup(again.kill)
        self.addCleanup(self.files.end)
        begin = time.monotonic()
        self.eventually(lambda: self.daemon.ctl("list").code == 0, 20, "an answer of the next daemon")
        self.assertLess(time.monotonic() - begin, START_SECONDS + 3)  # whoever asks waits, too
        return self.daemon


if __name__ == "__main__":
    main()
