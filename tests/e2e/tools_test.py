"""Targets that trace, profile or monitor themselves: their tools see what they always see."""
from harness.case import Case, each_interpreter, each_with_monitoring, main
from harness.session import calls_by_name

N = 300
# Of targets/tools.py: they run while a tool is on, and not again after it.
TOOL_FUNCTIONS = ("watch", "callback", "is_ours", "tool", "with_trace")


class ToolsTest(Case):
    @each_interpreter
    def test_settrace_setprofile_and_cprofile(self, python):
        """Turned on before the session, within it and across its end: the same events, and exact counts."""
        target = self.start_target(python, "tools.py")
        tools = ("settrace", "setprofile", "profile")
        expected = {tool: target.ask(tool, N) for tool in tools}
        answer = target.ask("work", N)
        target.ask("take_calls")
        session = self.attach(target, "--target", "*/tools.py:step", "--target", "*/tools.py:items")
        for tool in tools:
            self.assertEqual(target.ask(tool, N), expected[tool], tool)
            self.assertEqual(target.ask("work", N), answer)
        own = target.ask("take_calls")
        last = session.finish()
        self.assertEqual(sum(calls_by_name(last).values()), own)
        self.assert_exact(last)
        for tool in tools:
            self.assertEqual(target.ask(tool, N), expected[tool], tool)
        self.assertEqual(target.ask("work", N), answer)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, own_marks=TOOL_FUNCTIONS)
        self.assert_ends_well(target)

    @each_interpreter
    def test_attached_in_the_middle_of_a_trace(self, python):
        target = self.start_target(python, "tools.py")
        expected = target.ask("settrace", 20_000)
        target.send("settrace", 20_000)
        session = self.attach(target, "--target", "*/tools.py:step", "--delay", "1us")
        last = session.finish()
        self.assertEqual(target.answer(), expected)
        self.assertEqual(target.ask("work", N), N * (N + 1))
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, own_marks=TOOL_FUNCTIONS)
        self.assert_ends_well(target)


class MonitoringTest(Case):
    def finish(self, session, target):
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assertEqual(target.ask("work", N), N * (N + 1))
        self.assert_nothing_left(target, own_marks=TOOL_FUNCTIONS)
        self.assert_ends_well(target)
        return last

    @each_with_monitoring
    def test_line_events(self, python):
        """They leave a function's start alone: everything is counted, every event arrives."""
        target = self.start_target(python, "tools.py")
        target.ask("watch", "LINE", False)
        target.ask("work", N)
        expected = target.ask("seen")
        target.ask("take_calls")
        session = self.attach(target, "--target", "*/tools.py:step")
        target.ask("work", N)
        self.assertEqual(target.ask("unwatch"), expected)
        target.ask("work", N)
        self.assertEqual(calls_by_name(self.finish(session, target)), {"step": 4 * N})

    @each_with_monitoring
    def test_a_tool_on_py_start_sees_every_call(self, python):
        """Counted, or blocked and said so; never a call that the tool misses or sees twice."""
        target = self.start_target(python, "tools.py")
        target.ask("watch", "PY_START", False)
        session = self.attach(target, "--target", "*/tools.py:step", "--interval", "50ms")
        target.ask("work", N)
        self.assertEqual(target.ask("seen"), 2 * N)
        session.wait_for(lambda update: any(row["calls"] == 2 * N or row["blocked"] for row in update["targets"]))
        self.assertEqual(target.ask("unwatch"), 0)
        target.ask("work", N)  # free of the tool
        last = self.finish(session, target)
        self.assertGreaterEqual(calls_by_name(last)["step"], 2 * N)
        self.assertEqual(target.child.process.poll(), 0)

    @each_with_monitoring
    def test_a_tool_that_disables_is_not_called_again(self, python):
        """The rule of "blocked by a tool": its DISABLE holds, and the row says why nothing is counted."""
        target = self.start_target(python, "tools.py")
        target.ask("watch", "PY_START", True)
        target.ask("work", N)
        self.assertEqual(target.ask("seen"), 1)
        session = self.attach(target, "--target", "*/tools.py:step", "--interval", "50ms")
        target.ask("work", N)
        self.assertEqual(target.ask("seen"), 0)
        blocked = session.wait_for(lambda update: any(row["blocked"] for row in update["targets"]))
        self.assertIn("sys.monitoring", [row["blocked"] for row in blocked["targets"]][0])
        self.assertEqual(target.ask("unwatch"), 0)
        target.ask("take_calls")
        target.ask("work", N)  # free of the tool: armed again from the first call on
        last = self.finish(session, target)
        self.assertEqual(calls_by_name(last)["step"], 2 * N)
        self.assertEqual([row["blocked"] for row in last["targets"]], [""])

    @each_with_monitoring
    def test_a_tool_that_comes_and_disables_in_mid_session(self, python):
        target = self.start_target(python, "tools.py")
        session = self.attach(target, "--target", "*/tools.py:step", "--interval", "50ms")
        target.ask("work", N)
        target.ask("watch", "PY_START", True)
        target.ask("work", N)
        self.assertEqual(target.ask("seen"), 1)
        target.ask("work", N)
        self.assertEqual(target.ask("unwatch"), 0)
        target.ask("work", N)
        last = self.finish(session, target)
        self.assertGreaterEqual(calls_by_name(last)["step"], 4 * N)


if __name__ == "__main__":
    main()
