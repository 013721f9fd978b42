"""What is refused: the exit code, the words, and that nothing was touched."""
import os
import time

from harness import interpreters, traces
from harness.case import Case, main
from harness.child import Child
from harness.daemon import run_client

BAD_ARGUMENTS, BAD_TARGETS, NO_PROCESS, UNSUPPORTED, NO_MATCH, TARGET_ENDED, UNREACHABLE, BUSY = 2, 3, 4, 5, 7, 8, 9, 10


class ArgumentsTest(Case):
    def setUp(self):
        super().setUp()
        self.target = self.start_target(script="steady.py")

    def tearDown(self):
        self.assert_nothing_left(self.target)
        self.assert_ends_well(self.target)

    def refused(self, code, *words, arguments=(), target="*:step", command="attach"):
        pattern = ["--target", target] if target else []
        answer = self.daemon.ctl(command, "--pid", self.target.pid, *pattern, *arguments)
        self.assert_refused(answer, code, *words)

    def test_bad_arguments(self):
        for arguments, word in ((["--delay", "10"], "--delay"), (["--delay", "-1us"], "--delay"),
                                (["--delay", "1h"], "10ms"), (["--delay", "11ms"], "10ms"),
                                (["--every", "0"], "--every"),
                                (["--interval", "10ms"], "50ms"), (["--duration", "soon"], "--duration"),
                                (["--format", "xml"], "xml"), (["--no-such-flag"], "--no-such-flag"),
                                (["--max-stop", "11s"], "10")):
            with self.subTest(arguments=arguments):
                self.refused(BAD_ARGUMENTS, word, arguments=arguments)
        self.refused(BAD_ARGUMENTS, "--target", target=None)
        self.assert_refused(self.daemon.ctl("attach", "--target", "*:step"), BAD_ARGUMENTS, "--pid")
        self.assert_refused(self.daemon.ctl("attach", "--pid", "self", "--target", "*:step"), BAD_ARGUMENTS, "self")
        self.assert_refused(self.daemon.ctl("attach", "--pid", "0", "--target", "*:step"), BAD_ARGUMENTS)
        self.assert_refused(self.daemon.ctl("no-such-command"), BAD_ARGUMENTS, "no-such-command")
        self.assert_refused(self.daemon.ctl("detach"), BAD_ARGUMENTS, "--all")
        self.assert_refused(self.daemon.ctl("update", "s1"), BAD_ARGUMENTS, "--delay")

    def test_a_delay_above_the_limit_by_a_pattern(self):
        self.refused(BAD_TARGETS, "10ms", target="*:step @delay=20ms")

    def test_every_bad_line_is_named_and_nothing_attached(self):
        file = self.write("bad.txt", "# fine\n*steady.py:step\nno_colon_here\n\n:step\n*:\n*:ok @delay=fast\n")
        for command in ("attach", "match"):
            self.refused(BAD_TARGETS, file + ":3", "no_colon_here", file + ":5", file + ":6", file + ":7", target=None,
                         arguments=["--targets", file], command=command)
        self.assertEqual(self.daemon.ctl("list").out.strip(), "no sessions")

    def test_empty_file(self):
        file = self.write("empty.txt", "")
        self.refused(BAD_TARGETS, file, target=None, arguments=["--targets", file])
        file = self.write("comments.txt", "# nothing\n\n   # but comments\n")
        self.refused(BAD_TARGETS, file, target=None, arguments=["--targets", file])

    def test_missing_file(self):
        file = self.scratch + "/none.txt"
        self.refused(BAD_TARGETS, file, target=None, arguments=["--targets", file])
        self.refused(BAD_TARGETS, self.scratch, target=None, arguments=["--targets", self.scratch])

    def test_bad_pattern(self):
        self.refused(BAD_TARGETS, "step", target="step")
        self.refused(BAD_TARGETS, "nothing", arguments=["--exclude", "nothing"])

    def test_daemon_unreachable(self):
        gone = "unix:%s/nobody.sock" % self.scratch
        for arguments in (["attach", "--pid", self.target.pid, "--target", "*:step"],
                          ["match", "--pid", self.target.pid, "--target", "*:step"], ["list"], ["detach", "--all"],
                          ["watch", "s1"], ["update", "s1", "--delay", "1us"], ["doctor"]):
            with self.subTest(arguments=arguments):
                self.assert_refused(run_client(gone, *arguments), UNREACHABLE, gone)
        self.assertEqual(run_client(gone, "version").code, 0)  # the client has a version all the same

    def test_second_attach_names_the_holder(self):
        session = self.attach(self.target, "--target", "*steady.py:step")
        self.refused(BUSY, session.id, "sbumpctl (pid %d)" % session.child.pid)
        self.target.ask("call", "step", 3)
        self.assertEqual([row["calls"] for row in session.finish()["targets"]], [3])

    def test_second_attach_by_another_daemon_names_the_holder(self):
        session = self.attach(self.target, "--target", "*steady.py:step")
        other = self.start_daemon()
        answer = other.ctl("attach", "--pid", self.target.pid, "--target", "*:step")
        self.assert_refused(answer, BUSY, session.id, "sbumpctl (pid %d)" % session.child.pid)
        self.assertEqual(other.kernel_objects(), [])
        self.target.ask("call", "step", 3)
        self.assertEqual([row["calls"] for row in session.finish()["targets"]], [3])
        # Free again: for the other one, too.
        again = self.attach(self.target, "--target", "*steady.py:step", daemon=other)
        self.target.ask("call", "step", 4)
        self.assertEqual([row["calls"] for row in again.finish()["targets"]], [4])


class ProcessesTest(Case):
    def refused(self, pid, code, *words):
        for command in ("attach", "match"):
            answer = self.daemon.ctl(command, "--pid", pid, "--target", "*:*")
            self.assert_refused(answer, code, pid, *words)
        doctor = self.daemon.ctl("doctor", "--pid", pid)
        self.assertNotEqual(doctor.code, 0, doctor)
        for word in words:
            self.assertIn(word, doctor.out)
        self.assertEqual(self.daemon.kernel_objects(), [])
        self.assertEqual(self.daemon.journals(), [])

    def other_child(self, *command):
        child = Child(command)
        self.addCleanup(child.kill)
        return child

    def test_pid_that_is_gone(self):
        child = self.other_child("/bin/true")
        child.wait()
        self.refused(child.pid, NO_PROCESS)
        self.refused(2 ** 31 - 1, NO_PROCESS)

    def test_not_python(self):
        child = self.other_child("/bin/sleep", "100")
        self.refused(child.pid, UNSUPPORTED, "3.8", "3.15")
        self.assertEqual(traces.changed_text(child.pid), [])
        self.assertIsNone(child.process.poll())

    def test_a_refusal_prints_nothing_on_standard_output(self):
        child = self.other_child("/bin/sleep", "100")
        for arguments in ([], ["--duration", "1s"]):
            answer = self.daemon.ctl("attach", "--pid", child.pid, "--target", "*:*", *arguments)
            self.assertEqual((answer.code, answer.out), (UNSUPPORTED, ""), answer)

    def test_zombie(self):
        # A child of this very process, so that nobody else can wait for it: a shell may reap its own at any time.
        zombie = os.posix_spawn("/bin/true", ["/bin/true"], {})
        self.addCleanup(os.waitpid, zombie, 0)
        self.assertIsNotNone(os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT))
        self.refused(zombie, UNSUPPORTED, "zombie")

    def test_kernel_thread(self):
        self.refused(2, UNSUPPORTED, "kernel thread")

    def test_thread_of_a_process(self):
        target = self.start_target(script="steady.py")
        target.ask("start", 1, 0.01)
        thread = max(int(tid) for tid in os.listdir("/proc/%d/task" % target.pid))
        self.refused(thread, NO_PROCESS, "thread of process %d" % target.pid)
        target.ask("finish")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_the_daemon_itself(self):
        answer = self.daemon.ctl("attach", "--pid", self.daemon.pid, "--target", "*:*")
        self.assert_refused(answer, BAD_ARGUMENTS, self.daemon.pid)

    def test_unsupported_pythons(self):
        found = interpreters.unsupported()
        if not found:
            self.skipTest("no CPython that sbump refuses is here (2.7, 3.6 or 3.7)")
        for python in found:
            with self.subTest(python=python.name):
                target = self.start_target(python, "plain.py")
                self.refused(target.pid, UNSUPPORTED, ".".join(map(str, python.version)), "3.8", "3.15")
                self.assertEqual(traces.changed_text(target.pid), [])
                self.assertEqual(target.ask("work", 10), 285)
                self.assert_ends_well(target)


class EndingTargetsTest(Case):
    def assert_daemon_clean(self, target):
        self.assertEqual(self.daemon.kernel_objects(), [])
        self.assertEqual(self.daemon.journals(), [])
        self.assertEqual(traces.locks(target.pid, target.start_ticks), [])

    def test_target_exits(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1us")
        target.ask("call", "step", 123)
        target.send("leave", 7)
        last = session.wait_end()
        self.assertEqual(target.child.wait(), 7)
        self.assertEqual(session.code, TARGET_ENDED, session.errors)
        self.assertIn("target exited", last["end"]["reason"])
        self.assertEqual([row["calls"] for row in last["targets"]], [123])
        self.assert_clean_proof(last, verified=False)
        self.assert_daemon_clean(target)

    def test_target_is_killed_in_a_delay(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10ms")
        target.send("call", "step", 1000)
        time.sleep(0.2)
        begin = time.monotonic()
        target.child.process.kill()
        target.child.wait(5)
        self.assertLess(time.monotonic() - begin, 1)
        last = session.wait_end()
        self.assertEqual(session.code, TARGET_ENDED, session.errors)
        self.assert_clean_proof(last, verified=False)
        self.assert_daemon_clean(target)

    def test_target_calls_exec(self):
        """The new image is a new target: nothing of the session is in it."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1us")
        target.ask("call", "step", 10)
        target.send("execute", self.python.path, "-c", "import time; print('new', flush=True); time.sleep(100)")
        last = session.wait_end()
        self.assertEqual(session.code, TARGET_ENDED, session.errors)
        self.assertIn("exec", last["end"]["reason"])
        self.assert_clean_proof(last, verified=False)
        target.child.output.wait_for(target._answers, 5)
        self.assertEqual(traces.changed_text(target.pid), [])
        self.assertEqual(traces.trouble_of_threads(target.pid), [])
        self.assertTrue(target.alive())
        self.assert_daemon_clean(target)

    def test_target_exits_during_the_attach(self):
        """30 times, at moments that are spread over what an attach takes here: an answer each time, and nothing is left."""
        codes = {}
        target = self.start_target(script="steady.py")
        begin = time.monotonic()
        session = self.attach(target, "--target", "*:*")
        attach_seconds = time.monotonic() - begin
        session.finish()
        for i in range(30):
            target = self.start_target(script="steady.py")
            session = self.start_attach(target, "--target", "*:*", "--duration", "100ms")
            time.sleep(1.3 * attach_seconds * i / 30)
            target.child.process.kill()
            target.child.wait(10)
            code = session.child.wait(15)
            codes[code] = codes.get(code, 0) + 1
            self.assertIn(code, (NO_PROCESS, UNSUPPORTED, NO_MATCH, TARGET_ENDED, 0), session.errors)
            self.assertIsNone(self.daemon.child.process.poll(), self.daemon.log)
        self.eventually(lambda: self.daemon.kernel_objects() == [], 2, "the last link's end")
        self.assertEqual(self.daemon.journals(), [])
        self.assertGreater(codes.get(TARGET_ENDED, 0) + codes.get(NO_PROCESS, 0), 5, codes)


if __name__ == "__main__":
    main()
