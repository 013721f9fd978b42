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
