"""One `sbumpctl attach` or `watch` with --format json, read while it runs."""
import json
import signal
import time

from harness.child import Child, Timeout
from harness.daemon import SBUMPCTL, clean_environment

# Protobuf's JSON writes 64-bit integers as strings.
NUMBERS = {"calls", "delayed_calls", "requested_delay_ns", "injected_delay_ns", "missed_calls", "p50_ns", "p99_ns",
           "first_hit_unix_ns", "last_hit_unix_ns", "targets", "delay_ns", "every", "attach_ns", "detach_ns", "active_ns",
           "stopped_ns", "longest_stop_ns", "stops", "holds", "hold_p50_ns", "hold_max_ns", "hold_timeouts",
           "start_ticks", "unix_ns", "trap_cost_ns", "count", "code_objects_seen", "started_unix_ns",
           "expires_unix_ns", "vaddr", "file_offset", "entry_vaddr", "hit_cost_ns"}


def with_numbers(message):
    """The message with its counts as numbers."""
    if isinstance(message, list):
        return [with_numbers(one) for one in message]
    if not isinstance(message, dict):
        return message
    return {key: int(value) if key in NUMBERS and isinstance(value, str) else with_numbers(value)
            for key, value in message.items()}


def rows_of(update):
    return {(row["filename"], row["qualname"], row["first_line"]): row for row in update["targets"]}


def calls_by_name(update, filename=None):
    """Calls of each qualified name, over all lines and code objects of that name."""
    calls = {}
    for row in update["targets"]:
        if filename is None or row["filename"] == filename:
            calls[row["qualname"]] = calls.get(row["qualname"], 0) + row["calls"]
    return calls


class Session:
    def __init__(self, daemon, *arguments, command="attach", env=None):
        self.child = Child([SBUMPCTL, "--endpoint", daemon.endpoint, command, *map(str, arguments),
                            "--format", "json"], env=clean_environment(env))
        self._updates = []

    @property
    def updates(self):
        lines = self.child.output.lines
        while len(self._updates) < len(lines):
            self._updates.append(with_numbers(json.loads(lines[len(self._updates)][1])))
        return self._updates

    def wait_for(self, wanted, seconds=20):
        """The first update that `wanted` holds for."""
        limit = time.monotonic() + seconds
        number = 0
        while True:
            self.child.output.wait_for(number, max(limit - time.monotonic(), 0.01))
            updates = list(self.updates)
            for update in updates[number:]:
                if wanted(update):
                    return update
            number = len(updates)
            if self.child.output.closed and number == len(self.child.output.lines):
                raise AssertionError("the stream ended (status %s): %s\n%s" % (
                    self.child.process.poll(), self.child.errors, updates[-1:]))

    def wait_active(self, seconds=20):
        return self.wait_for(lambda update: update["state"] == "ACTIVE", seconds)

    def wait_calls(self, least, seconds=20):
        return self.wait_for(lambda update: sum(row["calls"] for row in update["patterns"]) >= least, seconds)

    @property
    def id(self):
        return self.updates[0]["session_id"]

    def wait_exit(self, seconds=20):
        """The client's exit status. All that it wrote is read then."""
        code = self.child.wait(seconds)
        self.child.output.wait_closed(5)
        return code

    def wait_end(self, seconds=30):
        """The last update. The client has ended then."""
        self.wait_exit(seconds)
        updates = self.updates
        if not updates or updates[-1]["state"] != "ENDED":
            raise AssertionError("no last update; status %s: %s\n%s" % (
                self.code, self.child.errors, updates[-1:]))
        return updates[-1]

    def finish(self, seconds=30):
        """Ends it as Ctrl-C does."""
        self.child.send_signal(signal.SIGINT)
        return self.wait_end(seconds)

    @property
    def code(self):
        return self.child.process.poll()

    @property
    def errors(self):
        return self.child.errors

    def kill(self):
        self.child.kill()


__all__ = ["Session", "Timeout", "calls_by_name", "rows_of", "with_numbers"]
