"""50,000 targets in one session: within gRPC's limit for a message, and only what changed in between."""
import json

from harness import interpreters
from harness.case import Case, main
from harness.session import with_numbers
from harness.target import TARGETS

FUNCTIONS = 50_000
BYTES_OF_A_MESSAGE = 4 << 20  # gRPC's default

MODULE = """
def run(first, count):
    space = globals()
    for i in range(first, first + count):
        assert space["f%d" % i](i) == i + 1
    return count
"""


class LargeTest(Case):
    def setUp(self):
        super().setUp()
        # A name of this length: 50,000 rows are well above the limit.
        self.name = "many_functions_in_a_module_with_a_long_name"
        lines = ["def f%d(x): return x + 1" % i for i in range(FUNCTIONS)]
        self.file = self.write(self.name + ".py", "\n".join(lines) + MODULE)

    def start(self, python):
        program = self.write("program.py", "import %s as many\nfrom protocol import serve\nserve({'run': many.run})\n"
                             % self.name)
        return self.start_target(python, program, env={"PYTHONPATH": "%s:%s" % (
            self.scratch, TARGETS)})

    def session_of(self, python):
        target = self.start(python)
        self.assertEqual(target.ask("run", 0, FUNCTIONS, seconds=60), FUNCTIONS)
        session = self.start_attach(target, "--target", "*/%s.py:f*" % self.name, "--interval", "200ms",
                                    "--max-stop", "2s")
        session.wait_active(30)
        self.assertEqual(target.ask("run", 100, 1000), 1000)
        session.wait_calls(1000)
        quiet = len(session.updates)
        session.wait_for(lambda update: len(session.updates) > quiet + 2)
        target.ask("run", 40_000, 10)
        session.wait_calls(1010)
        last = session.finish(60)
        self.assertEqual(session.code, 0, session.errors)

        rows = {int(row["qualname"][1:]): row["calls"] for row in last["targets"] if row["qualname"] != "run"}
        self.assertEqual(len(rows), FUNCTIONS)
        called = set(range(100, 1100)) | set(range(40_000, 40_010))
        self.assertEqual({i for i, calls in rows.items() if calls}, called)
        self.assertEqual({rows[i] for i in called}, {1})
        # What went over the wire is not larger than what is printed of it.
        self.assertGreater(len(session.child.output.lines[-1][1]), BYTES_OF_A_MESSAGE)
        active = [update for update in session.updates if update["state"] == "ACTIVE"]
        in_between = [len(update["targets"]) for update in active[1:]]
        self.assertLess(max(in_between), 2000, in_between)
        self.assertIn(0, in_between)
        self.assertIn(10, in_between)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_session_of_the_newest(self):
        self.session_of(interpreters.supported()[-1])

    def test_session_of_the_oldest(self):
        self.session_of(interpreters.supported()[0])

    def test_a_process_that_frees_all_its_code_at_its_end(self):
        """More deaths at once than the ring buffer holds: no count is lost with them."""
        target = self.start(self.python)
        session = self.attach(target, "--target", "*/%s.py:f*" % self.name, "--max-stop", "2s")
        self.assertEqual(target.ask("run", 100, 1000), 1000)
        session.wait_calls(1000)
        self.assert_ends_well(target)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "target exited")
        self.assertEqual(sum(row["calls"] for row in last["targets"]), 1000)
        self.assertEqual((last["inexact"], last["missed_calls"]), (False, 0), last["skipped"])

    def test_match(self):
        target = self.start(self.python)
        found = self.daemon.ctl("match", "--pid", target.pid, "--target", "*/%s.py:f*" % self.name, "--max-stop", "2s",
                                "--format", "json", seconds=60)
        self.assertEqual(found.code, 0, found)
        reply = with_numbers(json.loads(found.out))
        self.assertEqual(len(reply["targets"]), FUNCTIONS)
        self.assertFalse(reply["incomplete"], reply["warnings"])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_many_patterns(self):
        """A targets file of 20,000 lines, of which one matches."""
        target = self.start_target(script="steady.py")
        file = self.write("many.txt", "".join("package.module_%d:Class.method_%d\n" % (i, i) for i in range(19_999)) +
                          "*steady.py:step\n")
        session = self.attach(target, "--targets", file, "--max-stop", "100ms")
        target.ask("call", "step", 77)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [77])
        self.assertEqual(len(last["patterns"]), 20_000)
        self.assertLess(last["times"]["longest_stop_ns"], 150_000_000)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
