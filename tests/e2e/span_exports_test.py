"""Spans in the forms that other programs read."""
import json
import pathlib
import signal
import subprocess

from harness import chrome_trace
from harness.case import main
from harness.spans import SPANS_OF_FORWARD, SpansCase


PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


def messages(data):
    """What is behind each length, a varint."""
    at = 0
    while at < len(data):
        length, shift = 0, 0
        while data[at] & 0x80:
            length, shift, at = length | (data[at] & 0x7f) << shift, shift + 7, at + 1
        length, at = length | data[at] << shift, at + 1
        yield data[at:at + length]
        at += length


def decoded(message):
    return "\n" + subprocess.run(["protoc", "--decode=sbump.v1.SpanBatch", "-I", PROTO, "sbump/v1/modules.proto"],
                                 input=message, capture_output=True, check=True).stdout.decode()


class ExportTest(SpansCase):
    def test_chrome(self):
        target = self.odd_model()
        trace = json.loads(self.text_of(target, lambda: target.ask("forwards", "main", 3), "--delay", "10us",
                                        form="chrome"))
        spans = [event for event in trace["traceEvents"] if event["cat"] != "delay"]
        self.assertEqual(len(spans), 3 * SPANS_OF_FORWARD)
        self.assertEqual(len(trace["traceEvents"]), 2 * len(spans))
        for event in trace["traceEvents"]:
            self.assertEqual((event["ph"], event["pid"], event["tid"]), ("X", target.pid, target.pid))
            self.assertGreater(event["dur"], 0)
        self.assertEqual(spans[0]["args"]["inputs"], [[2, 5]])
        self.assertEqual(trace["otherData"], {"clock": "CLOCK_MONOTONIC", "lost_calls": 0})
        self.assert_ends_well(target)

    def test_chrome_as_its_devtools_see_it(self):
        chrome_trace.need_reader(self)
        target = self.odd_model()
        text = self.text_of(target, lambda: target.ask("forwards", "main", 3), "--delay", "10us", form="chrome")
        spans = [event for event in json.loads(text)["traceEvents"] if event["cat"] != "delay"]
        [thread] = chrome_trace.threads_of(self, text)
        self.assertEqual((thread["pid"], thread["tid"]), (target.pid, target.pid))
        calls = [dict(call, parent=thread["calls"][call["parent"]]["name"] if call["parent"] is not None else None)
                 for call in thread["calls"]]
        # In the order of their begins, each within the module that called it, and its delay before it.
        self.assertEqual([call["name"] for call in calls],
                         [name for span in sorted(spans, key=lambda span: span["ts"])
                          for name in ("delay of " + span["name"], span["name"])])
        for delay, call in zip(calls[::2], calls[1::2]):
            self.assertEqual(delay["parent"], call["parent"])
            self.assertLessEqual(delay["begin_us"] + delay["dur_us"], call["begin_us"] + 0.001)
            if call["name"] != "top":
                self.assertTrue(call["name"].startswith(call["parent"] + "."), call)
        self.assertEqual(sum(call["parent"] is None for call in calls), 2 * 3)
        self.assert_ends_well(target)

    def test_folded(self):
        target = self.odd_model()
        lines = self.text_of(target, lambda: target.ask("forwards", "main", 3), form="folded").splitlines()
        stacks = {stack: int(ns) for stack, ns in (line.rsplit(" ", 1) for line in lines)}
        self.assertEqual(len(stacks), SPANS_OF_FORWARD)
        self.assertIn("top;top.layers.2;top.layers.2.attn;top.layers.2.attn.q_proj", stacks)
        self.assertTrue(all(ns > 0 for ns in stacks.values()))
        self.assert_ends_well(target)

    def test_protobuf(self):
        """As its own compiler reads it: messages, each behind its length."""
        target = self.odd_model()
        spans = self.start_spans(target, form="protobuf")
        target.ask("forwards", "main", 3)
        spans.child.send_signal(signal.SIGINT)
        self.assertEqual(spans.child.wait(), 0, spans.child.errors)
        with open(spans.path, "rb") as file:
            texts = [decoded(one) for one in messages(file.read())]
        self.assertEqual(sum(text.count("\nspans {") for text in texts), 3 * SPANS_OF_FORWARD)
        self.assertIn('path: "top.layers.2.attn.q_proj"', "".join(texts))
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_table_for_people(self):
        target = self.odd_model()
        text = self.text_of(target, lambda: target.ask("forwards", "main", 30), form="table")
        self.assertIn("30 outermost calls, %d spans" % (30 * SPANS_OF_FORWARD), text)
        [row] = [line.split() for line in text.splitlines() if line.startswith("top.layers.0.attn ")]
        self.assertEqual(row[1:3], ["Attention", "30"])
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
