"""Processes that lie: the daemon refuses or copes, in bounded time and memory, and other sessions do not notice."""
import json
import os
import random
import subprocess
import time

from harness import traces
from harness.case import each_mechanism, main
from harness.hostile import STEP, HostileCase
from harness.interpreters import newest
from harness.program import Program
from harness.target import TARGETS

UNSUPPORTED, NO_MATCH, LIMIT, PRECONDITION = 5, 7, 12, 13
PASSED_OVER = "functions or code objects were passed over"


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

    def test_trees_that_few_bytes_of_it_make_large(self):
        for name, words in (("long_bases", "bytes of their bases' names"), ("shared_children", "hold more others")):
            liar = self.start_target(script="liar.py")
            liar.ask(name)
            answer = self.ask_of(liar.pid, "modules", "--root", "__main__.Thing", seconds=25)
            self.assertEqual(answer.code, LIMIT, answer)
            self.assertIn(words, answer.err)
            self.assertEqual(liar.ask("call", 100), 5050)
            liar.send("leave")
            self.assertEqual(liar.child.wait(), 0)
        self.assert_neighbour_unharmed()

    def test_objects_that_few_bytes_of_it_make_many(self):
        """All of it is read at once, and then gone through without another read, which ends in time all the same."""
        liar = self.start_target(script="liar.py")
        liar.ask("shared_items")
        for command in (("modules", "--root", "__main__.Thing"), ("attach", "--module-root", "__main__.Thing", "--module", "*")):
            begin = time.monotonic()
            answer = self.ask_of(liar.pid, *command, seconds=40)
            self.assertNotEqual(answer.code, 0, answer)
            self.assertIn("took too long", answer.err)
            self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(liar.ask("call", 100), 5050)
        liar.send("leave")
        self.assertEqual(liar.child.wait(), 0)
        self.assert_neighbour_unharmed()

    def test_parameters_that_few_bytes_of_it_make_large(self):
        """Each of its modules is told with the names that its class has once: more than a reply may hold are left out."""
        for count, length, told in ((2, 10, 2), (200, 5000, 0)):
            liar = self.start_target(script="liar.py")
            liar.ask("with_parameters", count, length)
            answer = self.ask_of(liar.pid, "modules", "--root", "__main__.Thing", "--format", "json", seconds=25)
            self.assertEqual(answer.code, 0, answer)
            children = [one for one in json.loads(answer.out)["modules"] if one["type"] == "Child"]
            self.assertEqual({len(one.get("forward_parameters", [])) for one in children}, {told})
            self.assertEqual(len(children), 200)
            self.assertEqual(liar.ask("call", 100), 5050)
            liar.send("leave")
            self.assertEqual(liar.child.wait(), 0)
        self.assert_neighbour_unharmed()

    def test_new_names_without_end(self):
        """What lives is bounded by the process's own memory, but names, and rows of what is gone, are not."""
        liar = self.start_target(script="liar.py")
        for pattern in ("*:*", "app.engine:step"):
            session = self.attach(liar, "--target", pattern)
            liar.ask("new_names", 1500)
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


if __name__ == "__main__":
    main()
