"""The base of the tests of a process and its children, in one session."""
from harness import traces
from harness.case import Case
from harness.child import Timeout

JOINED = "^(forked|executed); attached after [0-9]+ms(, before its first call|, held after it ran for [0-9]+us|, held meanwhile)?$"


class FamilyCase(Case):
    def follow(self, target, *arguments):
        """`step` counts its own calls."""
        return self.attach(target, "-C", "--target", "*/workers.py:step", *arguments)

    def wait_members(self, session, pids, how="", seconds=30):
        """The update in which all these processes are ACTIVE, as what joined like that: a forked one may execute next."""
        def holds(update):
            active = {one["process"]["pid"] for one in update["processes"]
                      if one["state"] == "ACTIVE" and one["joined"].startswith(how)}
            return active.issuperset(pids)
        try:
            return session.wait_for(holds, seconds)
        except Timeout as error:
            self.fail("%s; of %s there are %s" % (error, pids, [
                (one["process"]["pid"], one["joined"], one["state"], one.get("end")) for one in session.updates[-1]["processes"]]))

    def members(self, update):
        return {one["process"]["pid"]: one for one in update["processes"]}

    def assert_calls(self, update, expected):
        """Calls of `step` by process."""
        found = {}
        for row in update["targets"]:
            found[row["pid"]] = found.get(row["pid"], 0) + row["calls"]
        self.assertEqual({pid: found.get(pid, 0) for pid in expected}, expected)
        self.assertFalse(update["inexact"], update["skipped"])

    def assert_all_clean(self, target, pids):
        for pid in pids:
            self.assertEqual(traces.changed_text(pid), [])
            self.assertEqual(traces.trouble_of_threads(pid), [])
        self.assert_nothing_left(target)
