"""Callable objects that are no modules, and are followed, counted and delayed as if they were: pieces of a compiled model."""
import json
import os
import time

from harness.case import each_interpreter, main
from harness.models import MS, rows
from harness.session import Session
from harness.spans import SpansCase

UNSUPPORTED = 5
PIECES = ["callable:PiecewiseBackend:0", "callable:PiecewiseBackend:1"]
REPLAYED = "callable:CUDAGraphWrapper:1"


class CallablesCase(SpansCase):
    def compiled(self, python=None, kind="made"):
        return self.start_target(python, "callables.py", kind)

    def end(self, session, target):
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        return {path: row["calls"] for path, row in rows(last).items()}

    def wait_rows(self, session, *paths):
        """That are in force, from now on."""
        known = len(session.updates)
        self.eventually(lambda: any({row["qualname"] for row in update["targets"] if row["pattern"]} == set(paths)
                                    for update in session.updates[known:]), 20, "a change of the targets")


class TreeTest(CallablesCase):
    def test_they_come_after_the_model(self):
        target = self.compiled()
        reply = self.modules(target)
        by_path = {module["path"]: module for module in reply["modules"]}
        self.assertEqual(list(by_path)[:2], ["top", "top.norm"])
        self.assertEqual(set(by_path), {"top", "top.norm", REPLAYED, *PIECES})
        self.assertEqual((reply["models"], reply["callables"], reply["modules_seen"]), (1, "3", "5"))
        piece = by_path[PIECES[1]]
        self.assertEqual((piece["type"], piece["qualified_type"]),
                         ("PiecewiseBackend", "vllm.compilation.stub.PiecewiseBackend"))
        self.assertEqual(piece["static_params"], {"piecewise_compile_index": 1, "sizes": [1, 2.5]})
        self.assertNotIn("training", piece)
        self.assertIn("5 of 5 modules in 1 model, 3 callables among them,", self.daemon.ctl("modules", target.pid).out)
        self.assert_ends_well(target)

    def test_which_classes(self):
        target = self.compiled()
        for arguments, expected in (
                (["--no-default-callables"], []),
                (["--no-default-callables", "--callable", "*.Wrapper"], ["callable:Wrapper"]),
                (["--no-default-callables", "--callable", "Piece*"], PIECES),
                (["--callable", "__main__.*"], [REPLAYED, "callable:Wrapper", *PIECES]),
                (["--module", "type:CUDAGraphWrapper"], [REPLAYED])):
            with self.subTest(arguments=arguments):
                paths = set(self.paths(target, *arguments))
                self.assertEqual(sorted(paths - {"top", "top.norm"}), sorted(expected))
        self.assert_ends_well(target)

    def test_without_a_model(self):
        target = self.compiled(kind="later")
        self.assertIn("no instance of", self.daemon.ctl("modules", target.pid).err)
        target.ask("make", "piece")
        self.assertEqual(self.paths(target), ["callable:PiecewiseBackend:7"])
        self.assert_ends_well(target)


class SpansTest(CallablesCase):
    @each_interpreter
    def test_each_call_and_what_it_is_within(self, python):
        target = self.compiled(python)
        if python.free_threaded:
            self.assert_refused(self.daemon.ctl("spans", "--pid", target.pid), UNSUPPORTED, "free-threaded")
        else:
            spans = self.spans_of(target, lambda: target.ask("call", "model", 3))
            self.assertEqual([(span["path"], span["depth"]) for span in spans],
                             3 * [("top", 0), (PIECES[0], 1), ("top.norm", 2), (REPLAYED, 1), (PIECES[1], 2)])
        self.assert_ends_well(target)

    def test_a_replay_of_the_whole_model(self):
        target = self.compiled()
        target.ask("make", "full")
        spans = self.spans_of(target, lambda: target.ask("call", "full"), "--module", "top", "--module", "type:CUDAGraph*")
        self.assertEqual([(span["path"], span["depth"]) for span in spans],
                         [("callable:CUDAGraphWrapper", 0), ("top", 1), (REPLAYED, 2)])
        self.assert_ends_well(target)


class DelayTest(CallablesCase):
    def test_one_piece_of_two(self):
        target = self.compiled()
        before = target.ask("forwards", 50)
        session = self.attach(target, "--module", PIECES[1], "--delay", "1ms")
        meanwhile = target.ask("forwards", 50)
        self.assertGreater(meanwhile[1] - before[1], 0.95 * MS)
        self.assertLess(meanwhile[0] - before[0], 0.2 * MS)
        self.assertEqual(self.end(session, target), {PIECES[1]: 50})
        self.assertLess(target.ask("forwards", 50)[1], 0.5 * MS)
        self.assert_ends_well(target)

    def test_of_a_class_that_is_named(self):
        target = self.compiled()
        session = self.attach(target, "--module", "type:Wrapper", "--callable", "__main__.Wrapper")
        target.ask("call", "model", 7)
        answer = self.daemon.ctl("update", session.id, "--module", "type:PiecewiseBackend", "--module", "type:Wrapper")
        self.assertEqual(answer.code, 0, answer)
        target.ask("call", "model", 5)
        self.assertEqual(self.end(session, target), {"callable:Wrapper": 7, PIECES[0]: 5, PIECES[1]: 5})
        self.assert_ends_well(target)


    def test_of_a_class_that_is_named_no_more_while_objects_are_looked_for(self):
        """What is found is of a question that nobody asks any more."""
        target = self.compiled()
        target.ask("fill", 1_000_000)
        session = self.attach(target, "--module", "type:Wrapper", "--callable", "__main__.Wrapper", "--interval", "100ms")
        target.ask("call", "model", 7)
        target.ask("make", "model")
        target.ask("call", "model")  # unknown until it is found
        time.sleep(0.1)
        answer = self.daemon.ctl("update", session.id, "--module", "type:PiecewiseBackend", "--module", "type:Wrapper")
        self.assertEqual(answer.code, 0, answer)
        time.sleep(3)  # it was found long since
        target.ask("call", "model", 5)
        self.assertEqual(self.end(session, target), {"callable:Wrapper": 7, PIECES[0]: 5, PIECES[1]: 5})
        self.assert_ends_well(target)


class ScheduleTest(CallablesCase):
    def test_they_are_nodes(self):
        target = self.compiled()
        answer = self.daemon.ctl("schedule", "list", "--pid", target.pid, "--callable", "__main__.Wrapper", "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual({node["path"] for node in json.loads(answer.out)["nodes"]},
                         {"top", "top.norm", REPLAYED, "callable:Wrapper", *PIECES})
        path = os.path.join(self.scratch, "schedule.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("version: 1\ncallables: [__main__.Wrapper]\n"
                       "schedule: [{module: '%s', count: true}, {module: 'type:Wrapper', count: true}]" % PIECES[0])
        session = Session(self.daemon, "apply", path, "--pid", target.pid, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        target.ask("call", "model", 3)
        self.assertEqual(self.end(session, target), {PIECES[0]: 3, "callable:Wrapper": 3})
        self.assert_ends_well(target)


class ChangeTest(CallablesCase):
    def test_one_that_dies_and_another_that_comes(self):
        target = self.compiled()
        session = self.attach(target, "--module", "type:PiecewiseBackend", "--interval", "100ms")
        target.ask("call", "model", 3)
        target.ask("replace_second_piece", 4)
        self.wait_rows(session, PIECES[0], "callable:PiecewiseBackend:4")
        target.ask("call", "model", 5)
        self.assertEqual(self.end(session, target), {PIECES[0]: 8, PIECES[1]: 3, "callable:PiecewiseBackend:4": 5})
        self.assert_ends_well(target)

    def test_the_first_of_its_class(self):
        """No call of it says that it is there: nothing is known of its class."""
        target = self.compiled()
        session = self.attach(target, "--module", "type:Late", "--interval", "100ms", "--callable", "Late")
        target.ask("make", "late")
        self.wait_rows(session, "callable:Late")
        target.ask("call", "late", 5)
        self.assertEqual(self.end(session, target), {"callable:Late": 5})
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
