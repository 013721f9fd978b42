"""`sbumpctl spans`, told into a file while the target works."""
import json
import os
import signal

from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment
from harness.models import ModelCase


# Of one forward of the model, without those of Identity and Dropout.
SPANS_OF_FORWARD = 24


class Spans:
    def __init__(self, daemon, path, pid, *arguments):
        self.path = path
        self.child = Child([SBUMPCTL, "--endpoint", daemon.endpoint, "spans", "--pid", str(pid), "-o", path,
                            *map(str, arguments)], env=clean_environment())

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self, code=0):
        ended = self.child.wait()
        assert ended == code, (ended, self.child.errors)
        with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()


class SpansCase(ModelCase):
    ATTACH_SECONDS = 10

    def odd_model(self, python=None, kind="2.13"):
        target = self.model(python, kind)
        target.ask("make_odd")
        return target

    def start_spans(self, target, *arguments, form="jsonl", style=None):
        shape = ("--style", style) if style else ("--format", form)
        begun = self.daemon.log.count("session_active")
        spans = Spans(self.daemon, os.path.join(self.scratch, "spans"), target.pid, *shape, *arguments)
        self.addCleanup(spans.child.kill)
        self.eventually(lambda: self.daemon.log.count("session_active") > begun or
                        spans.child.process.poll() is not None, self.ATTACH_SECONDS, "an attach")
        return spans

    def text_of(self, target, call, *arguments, **options):
        """What is told of what `call` does."""
        spans = self.start_spans(target, *arguments, **options)
        call()
        text = spans.stop()
        self.assert_nothing_left(target)
        return text

    def spans_of(self, *arguments, **options):
        return [json.loads(line) for line in self.text_of(*arguments, **options).splitlines()]

    def check_hooks(self, target):
        """That the texts are those of hooks that are registered as vLLM's are."""
        calls = ("odd_calls",) if target.ask("tells_hooks_of_keywords") else ("forward", "main")
        expected = target.ask("oracle_of_hooks", *calls)
        told = self.text_of(target, lambda: target.ask(*calls), style="pythooks")
        self.assertEqual(told.splitlines(), expected)

    def check_replaced_inputs(self, target):
        """What a hook of the process replaces is seen by hooks that come after it. The caller gave something else."""
        target.ask("add_pre_hook")
        its = target.ask("oracle_of_hooks", "forward", "main")
        told = self.text_of(target, lambda: target.ask("forward", "main"), style="pythooks").splitlines()
        self.assertEqual(len(told), len(its))
        self.assertEqual([pair for pair in zip(told, its) if pair[0] != pair[1]],
                         [("{'Module': 'top.layers.1', 'Inputs': [[2, 5, 8]]}",
                           "{'Module': 'top.layers.1', 'Inputs': [[1, 5, 8]]}")])

    def check_threads(self, target):
        """Four that run the same model at once."""
        spans = self.spans_of(target, lambda: target.ask("forward_in_threads", 4, 20))
        self.assertEqual(len(spans), 80 * SPANS_OF_FORWARD)
        by_thread = {}
        for span in spans:
            by_thread.setdefault(span["thread_id"], []).append(span)
        self.assertEqual(len(by_thread), 4)
        for of_one in by_thread.values():
            for first in range(0, len(of_one), SPANS_OF_FORWARD):
                self.check_forward(of_one[first:first + SPANS_OF_FORWARD])

    def check_forward(self, spans):
        """Parents come before their children."""
        open_spans = []
        for span in spans:
            del open_spans[span["depth"]:]
            self.assertEqual(len(open_spans), span["depth"])
            if open_spans:
                self.assertTrue(_within(span, open_spans[-1]), (span, open_spans[-1]))
                self.assertTrue(span["path"].startswith(open_spans[-1]["path"] + "."))
            self.assertLessEqual(span["self_ns"], span["end_ns"] - span["begin_ns"])
            open_spans.append(span)
        self.assertEqual([span["path"] for span in spans if span["depth"] == 0], ["top"])
        self.assertEqual(sum(span["self_ns"] for span in spans), spans[0]["end_ns"] - spans[0]["begin_ns"])


def _within(inner, outer):
    return outer["begin_ns"] <= inner["begin_ns"] and inner["end_ns"] <= outer["end_ns"]
