"""--on resume: each entry of a generator or coroutine is a hit."""
from harness import traces
from harness.case import Case, each_interpreter, each_mechanism, each_with_jit, each_with_monitoring, main
from harness.session import calls_by_name

PATTERNS = ("--target", "*/resumes.py:plain", "--target", "*/resumes.py:numbers", "--target", "*/resumes.py:delegates",
            "--target", "*/resumes.py:receives", "--target", "*/resumes.py:waits", "--target", "*/resumes.py:ticks")
CALLS = {"plain": 1, "numbers": 3, "delegates": 1, "receives": 1, "waits": 5, "ticks": 2}  # a round, as i < n


def hits(python, entries, thrown):
    """Before 3.11 a frame that is thrown into is entered as any other."""
    return {name: entries[name] + (thrown[name] if python.version < (3, 11) else 0) for name in entries}


class ResumesTest(Case):
    def finish(self, session, target):
        last = super().finish(session, target)
        self.assert_exact(last)
        return last

    def assert_counted(self, last, wanted):
        self.assertEqual(calls_by_name(last), wanted)
        self.assertEqual({row["qualname"]: row["delayed_calls"] for row in last["targets"]}, wanted)

    @each_interpreter
    def test_entries_are_counted(self, python):
        """And delayed, from the first entry of code that was never called."""
        target = self.start_target(python, "resumes.py")
        session = self.attach(target, *PATTERNS, "--on", "resume", "--delay", "2us")
        answer, entries, thrown = target.ask("run", 400)
        last = self.finish(session, target)
        self.assertEqual((last["mode"], last["on"]), ("SPIN", "RESUME"))
        self.assert_counted(last, hits(python, entries, thrown))

    @each_interpreter
    def test_entries_of_warm_code(self, python):
        """It computes the same before, during and after."""
        target = self.start_target(python, "resumes.py")
        answer, entries, thrown = target.ask("run", 400)
        session = self.attach(target, *PATTERNS, "--on", "resume", "--delay", "2us")
        slowed, slowed_entries, slowed_thrown = target.ask("run", 400)
        last = session.finish()
        before, now = hits(python, entries, thrown), hits(python, slowed_entries, slowed_thrown)
        self.assert_exact(last)
        self.assert_counted(last, {name: now[name] - before[name] for name in now})
        self.assert_clean_proof(last)
        self.assertEqual((answer, answer), (slowed, target.ask("run", 400)[0]))
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_calls_are_counted_without_it(self, python):
        target = self.start_target(python, "resumes.py")
        session = self.attach(target, *PATTERNS, "--on", "call")
        target.ask("run", 40)
        self.assertEqual(calls_by_name(self.finish(session, target)), {name: 40 * n for name, n in CALLS.items()})

    @each_mechanism
    def test_a_forked_child(self, python):
        """Its code is armed already, by the parent's session; the entries are its own."""
        target = self.start_target(python, "resumes.py")
        target.ask("run", 100)
        session = self.attach(target, *PATTERNS, "--on", "resume", "--children")
        pid = target.ask("have_child")
        session.wait_for(lambda update: {"ACTIVE"} == {one["state"] for one in update["processes"]}
                         and len(update["processes"]) == 2)
        _, entries, thrown = target.ask("run_in_child", pid, 200)
        last = self.finish(session, target)
        of_child = [row for row in last["targets"] if row["pid"] == pid]
        self.assertEqual({row["qualname"]: row["calls"] for row in of_child}, hits(python, entries, thrown))
        self.assertEqual(sum(row["calls"] for row in last["targets"] if row["pid"] == target.pid), 0)

    @each_interpreter
    def test_what_stands_suspended(self, python):
        """gi_yieldfrom, cr_await, throw() and close() look at the instruction of a resumption, which is another one now:
        they answer the same."""
        target = self.start_target(python, "resumes.py")
        answer = target.ask("suspended_often", 400)
        self.assertEqual(len(answer), 1)
        session = self.attach(target, "--target", "*/resumes.py:*", "--on", "resume")
        self.assertEqual(target.ask("suspended_often", 400), answer)
        self.assert_clean_proof(session.finish())
        self.assertEqual(target.ask("suspended_often", 400), answer)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_with_jit
    def test_compiled_code(self, python):
        target = self.start_target(python, "resumes.py", env={"PYTHON_JIT": "1"})
        before = target.ask("run", 300)
        session = self.attach(target, *PATTERNS, "--on", "resume")
        now = target.ask("run", 300)
        last = self.finish(session, target)
        self.assertEqual(calls_by_name(last), {name: now[1][name] - before[1][name] for name in now[1]})

    @each_mechanism
    def test_a_killed_daemon(self, python):
        daemon = self.start_daemon()
        target = self.start_target(python, "resumes.py")
        answer = target.ask("suspended_often", 400)
        session = self.attach(target, "--target", "*/resumes.py:*", "--on", "resume", "--delay", "5us", daemon=daemon)
        target.ask("suspended_often", 400)
        armed = target.ask("armed_code")
        self.assertTrue(any(name.endswith(":outer") for name in armed), armed)
        daemon.kill()
        session.child.wait()
        self.eventually(lambda: traces.changed_text(target.pid) == [], 5, "the probes' end")
        self.assertEqual(target.ask("suspended_often", 400), answer)
        again = self.start_daemon(state_dir=daemon.state_dir)
        self.eventually(lambda: target.ask("armed_code") == [], 5, "the fields' end")
        self.assertEqual(target.ask("suspended_often", 400), answer)
        self.assert_nothing_left(target, again)
        self.assert_ends_well(target)

    @each_with_monitoring
    def test_a_tool_of_the_process(self, python):
        """Of which it is said that it has the resumptions, or the lines, to itself; and it loses no event."""
        for event in "PY_RESUME", "LINE":
            target = self.start_target(python, "resumes.py")
            target.ask("watch", event)
            target.ask("suspended_often", 400)
            events = target.ask("watched")
            session = self.attach(target, "--target", "*/resumes.py:outer", "--on", "resume", "--interval", "50ms")
            answer = target.ask("suspended_often", 400)
            self.assertEqual(target.ask("watched"), events, event)
            target.ask("unwatch")
            self.assertEqual(target.ask("suspended_often", 400), answer)
            last = session.finish()
            self.assert_clean_proof(last)
            # What did not run again since the tool ended still has its marks.
            self.assert_nothing_left(target, own_marks=("code_objects", "<genexpr>", "__await__"))
            self.assert_ends_well(target)


if __name__ == "__main__":
    main()
