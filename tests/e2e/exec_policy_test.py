"""Who executes another program is judged anew: what the caller may not touch is left alone, and works on."""
import os
import shutil

from harness import traces
from harness.case import main
from harness.family import FamilyCase
from harness.guarded import Guarded
from harness.users import ALICE, BOB

N = 200
ANSWER = N * (N + 1) // 2
ALICES = "target_uids: [%d]" % ALICE
OF_ROOT = "it runs with the rights of uid 0, which is none of target_uids"
OF_BOB = "it runs with the rights of uid %d, which is none of target_uids" % BOB
UNNAMED = "its command line matches none of cmdlines"


class ExecPolicyTest(Guarded, FamilyCase):
    def start_limited(self, limits):
        self.start("callers:\n  - {user: %d, role: operator, limits: {max_stop: 1s, %s}}\n" % (ALICE, limits))

    def start_alices(self, *options):
        return self.start_target(script="workers.py", prefix=[
            "/usr/bin/setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", *options])

    def follow(self, target):
        return self.attach_as(ALICE, target, "--children", "--max-stop", "1s", "--target", "*/workers.py:step",
                              "--delay", "20us")

    def setuid_copy(self, program):
        """Whoever executes it is root."""
        if os.statvfs(self.scratch).f_flag & os.ST_NOSUID:
            self.skipTest(self.scratch + " is mounted nosuid")
        os.chmod(self.scratch, 0o755)
        copy = shutil.copy(program, self.scratch)
        os.chmod(copy, 0o4755)
        return copy

    # ---- A process that was refused ----

    def executed(self, update, pid):
        return [one for one in update["processes"]
                if one["process"]["pid"] == pid and one["joined"].startswith("executed")]

    def wait_refused(self, session, pid):
        session.wait_for(lambda update: any(one["state"] == "ENDED" for one in self.executed(update, pid)))
        # It may have been forked into the session: the probes of that time are still being removed.
        self.eventually(lambda: not traces.changed_text(pid), 5, "no probe")

    def assert_recorded(self, session, pid, words, least):
        """A line for each program that was refused, and none that says that it was attached."""
        def refused():
            return [one for one in self.records("refused") if one["target"]["pid"] == pid and one["reason"] == words]
        self.eventually(lambda: len(refused()) >= least, 5, "the refusal in the log")
        attached = [one["target"] for one in self.records("attach") + self.records("end")]
        for one in refused():
            self.assertEqual((one["caller"], one["action"]), ({"uid": ALICE, "pid": session.child.pid}, "attach"))
            self.assertNotIn(one["target"], attached)

    def assert_refused_well(self, session, last, pid, why):
        """In the session and in the audit log."""
        words = "policy: uid %d may not touch pid %d: %s (%s:2)" % (ALICE, pid, why, self.policy)
        rows = self.executed(last, pid)
        self.assertEqual({(one["state"], one["joined"], one["end"]["reason"], one["calls"], one["targets"])
                          for one in rows}, {("ENDED", "executed", words, 0, 0)})
        self.assertIn("not attached: " + words, last["warnings"])
        self.assert_recorded(session, pid, words, len(rows))

    # ---- Workers ----

    def try_worker(self, target, why, kind, *details, by=None, allowed=None):
        """The caller may not touch a worker of that kind. The session goes on: the next one it may."""
        interpreter = [self.python.path]
        session = self.follow(target)
        target.ask("launch_by", *(by or interpreter))
        refused, = target.ask("hire", kind, 1, *details)
        self.wait_refused(session, refused)
        target.ask("launch_by", *(allowed or interpreter))
        attached, = target.ask("hire", "exec", 1)
        self.wait_members(session, [attached], "executed")
        self.assertEqual(target.ask("order", N), {str(pid): [ANSWER, N] for pid in (refused, attached)})
        self.assertEqual(traces.changed_text(refused), [])
        self.assertEqual(traces.trouble_of_threads(refused), [])
        last = session.finish()
        self.assertEqual(last["end"]["reason"], "detached")
        self.assert_calls(last, {target.pid: 0, refused: 0, attached: N})
        self.assert_refused_well(session, last, refused, why)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, [refused, attached])
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        self.assert_ends_well(target)

    def test_a_setuid_interpreter(self):
        copy = self.setuid_copy(self.python.file)
        for kind in ("exec", "fork, exec"):
            with self.subTest(kind=kind):
                self.start_limited(ALICES)
                self.try_worker(self.start_alices(), OF_ROOT, kind, by=[copy])

    def test_a_setuid_program_that_runs_python(self):
        """The very file in which the session has its probes."""
        env = self.setuid_copy("/usr/bin/env")
        for kind in ("exec", "fork, exec"):
            with self.subTest(kind=kind):
                self.start_limited(ALICES)
                self.try_worker(self.start_alices(), OF_ROOT, kind, by=[env, self.python.path])

    def test_a_child_that_changes_its_user(self):
        # Who may change its user has a capability, and so counts as root's, too.
        self.start_limited("target_uids: [%d, 0]" % ALICE)
        target = self.start_alices("--inh-caps", "+setuid", "--ambient-caps", "+setuid")
        self.try_worker(target, OF_BOB, "fork, exec", BOB)

    def test_a_command_line(self):
        for kind in ("exec", "fork, exec"):
            with self.subTest(kind=kind):
                self.start_limited("cmdlines: ['*-u */workers.py*']")
                self.try_worker(self.start_target(script="workers.py"), UNNAMED, kind,
                                allowed=[self.python.path, "-u"])

    # ---- The process that was named ----

    def test_the_process_itself_becomes_a_setuid_program(self):
        self.start_limited(ALICES)
        target = self.start_alices()
        session = self.follow(target)
        self.assertEqual(target.ask("work", N), ANSWER)
        target.ask("launch_by", self.setuid_copy(self.python.file))
        target.send("become")
        target.answer()  # it says hello again
        self.wait_refused(session, target.pid)
        self.assertEqual(target.ask("work", N), ANSWER)
        last = session.finish()
        self.assertEqual([one["joined"] for one in last["processes"]], ["", "executed"])
        self.assert_calls(last, {target.pid: N})
        self.assert_refused_well(session, last, target.pid, OF_ROOT)
        self.assert_clean_proof(last, verified=False)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_where_children_are_not_followed(self):
        """The exec is noticed a moment later. What runs until then is of a program that nobody may touch."""
        self.start_limited(ALICES)
        target = self.start_alices()
        session = self.attach_as(ALICE, target, "--max-stop", "1s", "--target", "*importlib*:*", "--delay", "5ms")
        target.ask("launch_by", self.setuid_copy("/usr/bin/env"), self.python.path)
        target.send("become")
        target.answer()
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "target called exec")
        self.assertEqual({row["qualname"]: row["calls"] for row in last["targets"] if row["calls"]}, {})
        self.assert_exact(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
