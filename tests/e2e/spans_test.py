"""Calls of modules from begin to end, as `sbumpctl spans` tells them."""
import json
import os
import re
import signal
import time

from harness import chrome_trace, traces
from harness.case import each_interpreter, each_mechanism, each_with_greenlet, each_with_torch_and_greenlet, main
from harness.models import MS, Q_PROJ, rows
from harness.spans import SPANS_OF_FORWARD, SpansCase

BAD_ARGUMENTS, UNSUPPORTED = 2, 5


class EqualityTest(SpansCase):
    @each_interpreter
    def test_the_texts_are_those_of_an_in_process_tracer(self, python):
        target = self.odd_model(python)
        if python.free_threaded:
            answer = self.daemon.ctl("spans", "--pid", target.pid)
            self.assert_refused(answer, UNSUPPORTED, "free-threaded")
        else:
            expected = target.ask("oracle")
            told = self.text_of(target, lambda: target.ask("odd_calls"), style="pythooks")
            self.assertEqual(told.splitlines(), expected)
            self.check_hooks(target)
        self.assert_ends_well(target)

    def test_hooks_of_its_own_that_replace_inputs(self):
        target = self.odd_model()
        self.check_replaced_inputs(target)
        self.assert_ends_well(target)

    def test_a_model_that_comes_later(self):
        target = self.start_target(None, "models.py", "later")
        spans = self.start_spans(target, style="pythooks")
        target.ask("import_torch", "2.13")
        target.ask("make", "main")

        def is_told(path, *call):
            target.ask(*call)
            with open(spans.path, encoding="utf-8") as file:
                return "'Module': '%s'" % path in file.read()
        self.eventually(lambda: is_told("top", "forward", "main"), 20, "a forward")
        target.ask("add_fc")
        expected = target.ask("oracle_of_hooks", "call_part", "fc", 1)
        self.assertEqual(len(expected), 2)
        # A module that is not known yet is found by its calls.
        self.eventually(lambda: is_told("top.fc", "call_part", "fc", 1), 20, "its call")
        lines = spans.stop().splitlines()
        self.assertEqual({line for line in lines if "top.fc'" in line}, set(expected))
        whole = target.ask("oracle_of_hooks", "forward", "main")
        self.assertEqual(set(lines) - set(expected), set(whole))
        self.assertNotIn("are told", spans.child.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_both_layouts_of_tensors(self):
        target = self.odd_model(kind="1.13")
        expected = target.ask("oracle")
        told = self.text_of(target, lambda: target.ask("odd_calls"), style="pythooks")
        self.assertEqual(told.splitlines(), expected)
        self.assert_ends_well(target)


class NestingTest(SpansCase):
    def test_spans_lie_within_each_other(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: target.ask("forwards", "main", 5))
        self.assertEqual(len(spans), 5 * SPANS_OF_FORWARD)
        for first in range(0, len(spans), SPANS_OF_FORWARD):
            self.check_forward(spans[first:first + SPANS_OF_FORWARD])
        self.assertEqual({span["thread_id"] for span in spans}, {target.pid})
        self.assert_ends_well(target)

    def test_a_module_that_two_models_hold(self):
        target = self.model()
        target.ask("wrap", "main", "tail", "embed")
        spans = self.spans_of(target, lambda: target.ask("forward", "tail"))
        self.assertEqual([(span["path"], span["depth"]) for span in spans], [("top#2", 0), ("top.embed", 1)])
        self.assert_ends_well(target)

    def test_threads(self):
        target = self.odd_model()
        self.check_threads(target)
        self.assert_ends_well(target)

    def test_very_deep(self):
        """The kernel's own probes on returns end at 64."""
        target = self.odd_model()
        target.ask("dive", 0)
        spans = self.spans_of(target, lambda: target.ask("dive", 150))
        self.assertEqual([span["depth"] for span in spans], list(range(151)))
        self.assert_ends_well(target)

    def test_a_call_that_raises(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: target.ask("odd_calls"))
        raised = [span for span in spans if span["raised"]]
        self.assertEqual([(span["path"], span["inputs"], span["outputs"]) for span in raised], [("top.odd", [[2]], [])])
        # As hooks: there is none after it.
        text = self.text_of(target, lambda: target.ask("raise_in_odd"), style="pythooks")
        self.assertEqual(text, "{'Module': 'top.odd', 'Inputs': [[2]]}\n")
        self.assert_ends_well(target)


class GreenletsTest(SpansCase):
    """Several stacks in one thread: calls do not end in the order in which they began."""
    FORWARDS = 20

    @each_with_greenlet
    def test_at_places_of_their_own(self, python):
        self.try_with(python, range(0, 12, 3))

    @each_with_greenlet
    def test_at_the_same_place(self, python):
        self.try_with(python, [2] * 8)

    @each_with_greenlet
    def test_more_at_once_than_a_thread_has_room_for(self, python):
        self.try_with(python, [0, 2, 5, 2] * 15)

    @each_with_torch_and_greenlet
    def test_of_the_real_torch(self, python):
        self.try_with(python, [0, 2, 2, 5], "torch")

    @each_with_greenlet
    def test_that_are_within_calls_already(self, python):
        """The ends of these are nobody else's."""
        target = self.model(python)
        target.ask("make_switches")
        target.ask("leave_in_forwards", [2] * 8)
        spans = self.switch(target, [2] * 8)
        self.assertGreaterEqual(len(spans), 8 * self.FORWARDS * (SPANS_OF_FORWARD + 3))
        self.assert_ends_well(target)

    @each_with_greenlet
    def test_forwards_are_counted(self, python):
        target = self.model(python)
        target.ask("make_switches")
        spans = self.start_spans(target, "--forwards", 5)
        target.ask("switch_in_forwards", [0, 4, 8], self.FORWARDS)
        told = [json.loads(line) for line in spans.wait().splitlines()]
        self.assertEqual([span["depth"] for span in told if span["path"] == "top"], [0] * 5)
        self.assertIn("greenlets switch within calls", spans.child.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_with_greenlet
    def test_viewers_see_all_of_them(self, python):
        chrome_trace.need_reader(self)
        target = self.model(python)
        target.ask("make_switches")
        depths = [0, 4, 8]
        text = self.text_of(target, lambda: target.ask("switch_in_forwards", depths, self.FORWARDS), form="chrome")
        told = [event["name"] for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(len(told), len(depths) * self.FORWARDS * (SPANS_OF_FORWARD + 3))
        threads = chrome_trace.threads_of(self, text)
        self.assertGreaterEqual(len(threads), len(depths))
        self.assertEqual(sorted(call["name"] for thread in threads for call in thread["calls"]), sorted(told))
        self.assert_ends_well(target)

    def try_with(self, python, depths, kind="2.13"):
        target = self.model(python, kind)
        target.ask("make_switches")
        spans = self.switch(target, depths)
        self.assertEqual(len(spans), len(depths) * self.FORWARDS * (SPANS_OF_FORWARD + 3))
        self.assert_ends_well(target)

    def switch(self, target, depths):
        path = os.path.join(self.scratch, "spans.jsonl")
        session = self.attach(target, "--module", "top*", "--spans", path)
        target.ask("switch_in_forwards", list(depths), self.FORWARDS)
        session.finish()
        self.assertNotIn("no span could be told", session.errors)
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        for span in spans:  # begin and end are of one greenlet
            self.assertEqual(span["inputs"][0][:2], span["outputs"][0][:2], span)
        return spans


class ShapesTest(SpansCase):
    def test_texts_that_are_cut_are_counted(self):
        target = self.odd_model()
        spans = self.start_spans(target, style="pythooks")
        target.ask("call_odd", *[[1]] * 30)
        target.ask("call_odd", [1])
        self.assertEqual(spans.stop().count("top.odd"), 4)
        self.assertIn("1 call had tensors that are not told", spans.child.errors)
        self.assert_ends_well(target)

    def test_names_of_keywords(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: target.ask("odd_calls"), "--module", "top.odd")
        self.assertEqual(spans[1]["keywords"], {"mask": [[5, 1]]})
        self.assertEqual(spans[2]["keywords"], {"x": [[4], [6]], "state": [[1, 1], [2, 1]]})
        self.assertEqual(spans[5]["keywords"], {name: [[number]] for number, name in enumerate("abcdefghij", 1)})
        self.assertFalse(any(span["partial"] or span["shapes_unknown"] for span in spans))
        self.assert_ends_well(target)

    def test_more_than_can_be_told_is_said(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: [target.ask("call_odd", *[[1]] * count) for count in (16, 17, 2)])
        self.assertEqual([(len(span["inputs"]), len(span["outputs"]), span["partial"]) for span in spans],
                         [(16, 16, False), (16, 16, True), (2, 2, False)])
        self.assert_ends_well(target)

    def test_of_a_tree_without_tensors_of_its_own(self):
        target = self.model()
        target.ask("call_tensor_things", 1)
        spans = self.spans_of(target, lambda: target.ask("call_tensor_things", 2), "--module-root", "__main__.Thing")
        self.assertEqual([(span["inputs"], span["outputs"], span["shapes_unknown"]) for span in spans],
                         2 * [([[3, 5]], [[3, 5]], False)])
        self.assert_ends_well(target)

    def test_without_shapes(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: target.ask("forward", "main"), "--no-shapes")
        self.assertEqual(len(spans), SPANS_OF_FORWARD)
        self.assertEqual({(str(span["inputs"]), str(span["outputs"]), span["shapes_unknown"]) for span in spans},
                         {("[]", "[]", True)})
        self.assert_ends_well(target)

    def test_a_tensor_that_is_none(self):
        target = self.odd_model()
        spans = self.spans_of(target, lambda: [target.ask("call_false"), target.ask("call_odd", [3])])
        self.assertEqual([(span["inputs"], span["partial"]) for span in spans], [([], True), ([[3]], False)])
        self.assert_ends_well(target)


    def test_a_class_at_the_address_of_one_that_is_gone(self):
        """That one's objects were no tensors."""
        target = self.odd_model()
        spans = self.start_spans(target, "--module", "top.odd")

        def told():
            with open(spans.path, encoding="utf-8") as file:
                return [json.loads(line)["inputs"] for line in file.read().split("\n")[:-1]]
        target.ask("call_with_class_of_none")
        self.eventually(lambda: told() == [[]], 10, "what that class is")
        self.assertTrue(target.ask("replace_class"))
        self.eventually(lambda: target.ask("call_with_new_class") and [[2, 3]] in told(), 10, "its tensor")
        spans.stop()
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class DelayTest(SpansCase):
    def test_a_delay_is_told_apart(self):
        target = self.odd_model()
        target.ask("forwards", "main", 5)
        spans = self.spans_of(target, lambda: target.ask("forwards", "main", 5), "--module", Q_PROJ + " @delay=2ms",
                              "--module", "top*")
        slow = [span for span in spans if span["path"] == "top.layers.1.attn.q_proj"]
        self.assertEqual(len(slow), 5)
        for span in slow:
            self.assertGreaterEqual(span["delay_ns"], 1.9 * MS)
        others = [span for span in spans if span not in slow]
        self.assertEqual({span["delay_ns"] for span in others}, {0})
        # Some may have waited for a processor.
        self.assertLess(min(span["end_ns"] - span["begin_ns"] for span in slow), 1 * MS)
        self.assertLess(sorted(span["self_ns"] for span in others)[len(others) // 2], 1.5 * MS)
        around = [span for span in spans if span["path"] == "top.layers.1.attn"]
        self.assertGreater(min(span["end_ns"] - span["begin_ns"] for span in around), 1.9 * MS)
        self.assert_ends_well(target)


class AttachTest(SpansCase):
    def test_rows_have_times_and_a_file_has_the_spans(self):
        target = self.odd_model()
        target.ask("forwards", "main", 5)
        path = os.path.join(self.scratch, "attach.jsonl")
        session = self.attach(target, "--module", "top.layers.*", "--module", "top", "--target", "*:nothing_like_it",
                              "--spans", path)
        target.ask("forwards", "main", 50)
        # Figures come while it runs, too.
        session.wait_for(lambda update: rows(update).get("top", {}).get("spans", {}).get("calls") == 50, 10)
        last = session.finish()
        self.assert_clean_proof(last)
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        self.assertEqual(len([span for span in spans if span["path"] == "top"]), 50)
        for row in last["targets"]:
            of_row = [span for span in spans if span["path"] == row["qualname"]]
            if row["module_type"].endswith((".Dropout", ".Identity")):  # counted, and not told
                self.assertEqual((of_row, "spans" in row), ([], False))
                continue
            took = sorted(span["end_ns"] - span["begin_ns"] for span in of_row)
            figures = {name: int(value) for name, value in row["spans"].items()}
            self.assertEqual((figures["calls"], figures["total_ns"], figures["self_ns"], figures["raised"]),
                             (len(of_row), sum(took), sum(span["self_ns"] for span in of_row), 0))
            if took:
                self.assertEqual(int(row["calls"]), len(took))
                for name, value in (("p50_ns", took[len(took) // 2]), ("p99_ns", took[-1])):
                    self.assertLess(abs(figures[name] - value), 0.02 * value + 1, row)
        self.assert_ends_well(target)

    def test_the_table_has_their_times(self):
        target = self.odd_model()
        target.ask("forward_for_ever")
        path = os.path.join(self.scratch, "attach.json")
        answer = self.daemon.ctl("attach", "--pid", target.pid, "--module", "top", "--spans", path, "--duration", "1s")
        self.assertEqual(answer.code, 0, answer)
        self.assertRegex(answer.out, "TOTAL +SELF +TOOK P50 +TOOK P99")
        self.assert_nothing_left(target)

    def test_bad_arguments(self):
        target = self.odd_model()
        module = ("--module", "top")
        for wrong, word in (((*module, "--spans", "x.txt"), ".jsonl"), (("--target", "*:f", "--spans", "x.json"), "--module"),
                            ((*module, "--keep", "--spans", "x.json"), "--keep")):
            self.assert_refused(self.daemon.ctl("attach", "--pid", target.pid, *wrong), BAD_ARGUMENTS, word)
        self.assert_refused(self.daemon.ctl("attach", "--pid", target.pid, *module, "--spans", "/nowhere/x.json"), 1,
                            "/nowhere/x.json")
        self.assert_ends_well(target)


class ForwardsTest(SpansCase):
    def test_so_many_whole_forwards(self):
        """The process is in the middle of one when the probes come and when they go."""
        target = self.odd_model()
        target.ask("forward_for_ever")
        spans = [json.loads(line) for line in self.start_spans(target, "--forwards", 7).wait().splitlines()]
        self.assertEqual([span["path"] for span in spans if span["depth"] == 0], ["top"] * 7)
        self.assertEqual(len(spans), 7 * SPANS_OF_FORWARD)
        self.assert_nothing_left(target)

    def test_forwards_of_several_models_are_told_apart(self):
        target = self.odd_model()
        target.ask("make", "other", 4, 1)
        spans = self.start_spans(target, "--forwards", 5)
        for name in ("main", "other", "main", "main", "other"):
            target.ask("forward", name)
        spans.wait()
        self.assertIn("of several modules: top 3, top#2 2; --module", spans.child.errors)
        self.assert_nothing_left(target)

    def test_of_a_model_without_a_name(self):
        target = self.odd_model()
        target.ask("forward_for_ever")
        spans = [json.loads(line) for line in self.start_spans(target, "--forwards", 7, "--module-prefix", "").wait().splitlines()]
        self.assertEqual([span["path"] for span in spans if span["depth"] == 0], [""] * 7)
        self.assertEqual(len(spans), 7 * SPANS_OF_FORWARD)
        self.assert_nothing_left(target)

    def test_a_part_of_the_model(self):
        target = self.odd_model()
        target.ask("forward_for_ever")
        spans = self.start_spans(target, "--forwards", 6, "--module", "top.layers.*", "--no-skip").wait().splitlines()
        outermost = [json.loads(line)["path"] for line in spans if '"depth":0' in line]
        self.assertEqual(sorted(set(outermost)), ["top.layers.0", "top.layers.1", "top.layers.2"])
        self.assertEqual(len(outermost), 6)
        self.assertTrue(any("Dropout" in line for line in spans))
        self.assert_nothing_left(target)

    def test_a_session_that_ends_before(self):
        target = self.odd_model()
        spans = self.start_spans(target, "--forwards", 3, "--duration", "300ms", form="table")
        self.assertIn("0 outermost calls, 0 spans", spans.wait())
        self.assertIn("after 0 of 3 forwards", spans.child.errors)
        self.assert_ends_well(target)


class FaultTest(SpansCase):
    def test_a_daemon_that_is_killed(self):
        """In the middle of a call."""
        state_dir = self.scratch + "/state"
        self.daemon = self.start_daemon(state_dir=state_dir)
        target = self.odd_model()
        target.ask("make_waiting")
        spans = self.start_spans(target)
        target.ask("forward", "main")
        self.assertTrue(target.ask("begin_call"))
        self.daemon.kill()
        self.assertNotEqual(spans.child.wait(), 0)
        self.assertIn("broke", spans.child.errors)
        self.eventually(lambda: traces.changed_text(target.pid) == [], 5, "the kernel to take the probes")
        self.daemon = self.start_daemon(state_dir=state_dir)
        self.eventually(lambda: self.daemon.journals() == [], 10, "the clean-up")
        target.ask("end_call")
        self.assertEqual(target.ask("forward", "main"), [2, 5, 11])
        self.assert_nothing_left(target, self.daemon, after_kill=True)
        self.assert_ends_well(target)

    def test_a_daemon_that_does_not_keep_up(self):
        """Calls are lost, and no begin is told with the end of another call."""
        target = self.odd_model()
        path = os.path.join(self.scratch, "spans.jsonl")
        target.ask("forward_for_ever")
        session = self.attach(target, "--module", "top", "--module", "top.layers.*", "--spans", path)
        time.sleep(0.3)
        self.daemon.child.send_signal(signal.SIGSTOP)
        time.sleep(2)
        self.daemon.child.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        last = session.finish()
        lost = int(re.search(r"of ([\d,]+) calls no span could be told", session.errors)[1].replace(",", ""))
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        self.assertLess(max(span["end_ns"] - span["begin_ns"] for span in spans), 1000 * MS)
        calls = sum(row["calls"] for row in last["targets"] if "spans" in row)
        # Those that were in progress at the begin or the end are in one number and not in the other.
        self.assertLess(abs(calls - len(spans) - lost), 2 * SPANS_OF_FORWARD, (calls, len(spans), lost))
        self.assert_nothing_left(target)

    def test_a_process_without_torch(self):
        target = self.start_target(script="steady.py")
        spans = self.start_spans(target, "--duration", "300ms", form="table")
        self.assertNotEqual(spans.child.wait(), 0)
        self.assertIn("has not imported torch", spans.child.errors)
        self.assert_ends_well(target)

    @each_mechanism
    def test_arguments_that_lie(self, python):
        target = self.odd_model(python)
        if python.free_threaded:
            return
        target.ask("odd_calls")
        calls = [0]
        def call():
            calls[0] = target.ask("call_lies")
            target.ask("forward", "main")
        spans = self.spans_of(target, call)
        odd = [span for span in spans if span["path"] == "top.odd"]
        self.assertEqual(len(odd), calls[0])
        for span in odd:
            self.assertLessEqual(sum(map(len, span["inputs"])), 64)
        self.assertEqual([span["outputs"] for span in spans if span["path"] == "top"], [[[2, 5, 11]]])
        self.assert_ends_well(target)

    def test_a_model_that_goes_and_another_that_comes(self):
        """Its embedding is twice as wide."""
        target = self.odd_model()
        spans = self.start_spans(target, "--module", "top.embed")
        target.ask("forwards", "main", 3)
        target.ask("drop", "main")
        target.ask("make", "main", 16)

        def told():
            with open(spans.path, encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
        self.eventually(lambda: target.ask("forwards", "main", 1) and len(told()) > 3, 10, "a span of the new one")
        known = len(told())
        target.ask("forwards", "main", 5)
        spans.stop()
        outputs = [str(span["outputs"]) for span in told()]
        self.assertEqual(outputs[:3], ["[[2, 5, 8]]"] * 3)
        self.assertEqual(set(outputs[3:]), {"[[2, 5, 16]]"})
        self.assertGreaterEqual(len(outputs), known + 5)
        self.assert_ends_well(target)

    def test_bad_arguments(self):
        target = self.odd_model()
        for wrong in (("--format", "svg"), ("--forwards", "0"), ("--delay", "1h"), ("--style", "x"),
                      ("--style", "pythooks", "--format", "jsonl")):
            answer = self.daemon.ctl("spans", "--pid", target.pid, *wrong)
            self.assertEqual(answer.code, BAD_ARGUMENTS, answer)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
