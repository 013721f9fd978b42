"""A real Python process to slow: one of tests/e2e/targets, spoken to over pipes."""
import json
import pathlib

from harness import traces
from harness.child import Child
from harness.daemon import clean_environment

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"


class Target:
    def __init__(self, python, script, *arguments, env=None, prefix=()):
        self.python = python
        self.file = str(script if "/" in str(script) else TARGETS / script)
        self.start([*prefix, python.path, "-B", "-u", self.file, *map(str, arguments)], env)

    def start(self, command, env):
        self.child = Child(command, env=clean_environment({"PYTHONPATH": str(TARGETS), **(env or {})}))
        self._answers = 0
        self.hello = self.answer()
        # In a pid namespace of its own it knows itself by another number.
        self.pid = traces.seen_from_here(self.child.pid, self.hello["pid"])
        self.start_ticks = traces.start_ticks(self.pid)

    def send(self, name, *arguments):
        self.child.process.stdin.write(json.dumps([name, arguments]).encode() + b"\n")
        self.child.process.stdin.flush()

    def answer(self, seconds=60):
        line = self.child.output.wait_for(self._answers, seconds)
        if line is None:
            raise AssertionError("%s ended with status %s: %s" % (
                self.file, self.child.process.wait(10), self.child.errors[-3000:]))
        self._answers += 1
        message = json.loads(line)
        if "error" in message:
            raise AssertionError("%s says: %s" % (self.file, message["error"]))
        return message["answer"]

    def ask(self, name, *arguments, seconds=60):
        self.send(name, *arguments)
        return self.answer(seconds)

    def alive(self):
        return self.child.process.poll() is None

    def end(self):
        """Asks it to end; its exit status is part of its answer."""
        self.ask("end")
        return self.child.wait()

    def kill(self):
        self.child.kill()
