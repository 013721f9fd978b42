"""Who may do what: the policy file, its roles, its reload, and the audit log."""
import grp
import json
import os
import re
import subprocess

from harness import raw_call, traces
from harness.case import main
from harness.daemon import REPO
from harness.guarded import Guarded, UserSession
from harness.users import ALICE, BOB, GROUP, as_user, mode_of, open_to_users

BAD_ARGUMENTS, PERMISSION, LIMIT = 2, 6, 12
BAD_POLICY = 3  # of sbumpd
OPERATOR = "callers:\n  - {user: %d, role: operator}\n" % ALICE
STEP = ("--target", "*steady.py:step")


class RolesTest(Guarded):
    def test_a_viewer_looks_and_may_not_attach(self):
        self.start("callers:\n  - {user: %d, role: viewer, limits: {max_stop: 1s}}\n" % ALICE)
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP)  # root's
        for arguments in (["list"], ["doctor"], ["doctor", "--pid", target.pid], ["version"],
                          ["match", "--pid", target.pid, *STEP, "--max-stop", "1s"]):
            with self.subTest(arguments=arguments):
                answer = self.ctl_as(ALICE, *arguments)
                self.assertEqual(answer.code, 0, answer)
        self.assertIn(session.id, self.ctl_as(ALICE, "list").out)
        watch = UserSession(self, ALICE, session.id, command="watch")
        self.addCleanup(watch.kill)
        watch.wait_active()
        for arguments in (["attach", "--pid", target.pid, *STEP], ["update", session.id, "--delay", "1us"],
                          ["detach", session.id], ["detach", "--all"],
                          ["sweep", "--pid", target.pid, *STEP, "--metric", "calls:*/steady.py:aside", "--yes"]):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.ctl_as(ALICE, *arguments), PERMISSION, "uid %d" % ALICE, "viewer",
                                    self.policy + ":2")
        target.ask("call", "step", 3)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [3])
        self.assertEqual(watch.wait_end()["state"], "ENDED")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_limits_are_those_of_modules_too(self):
        self.start("callers:\n  - {user: %d, role: operator, limits: {max_delay: 1ms}}\n" % ALICE)
        target = self.start_target(None, "models.py", "2.13")
        target.ask("make", "main")
        for arguments in (["attach", "--module", "top*", "--delay", "2ms"], ["spans", "--delay", "2ms"],
                          ["attach", "--module", "top.layers.1 @delay=2ms"]):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.ctl_as(ALICE, arguments[0], "--pid", target.pid, *arguments[1:]), PERMISSION, "the most is 1ms")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_who_has_no_role_may_nothing(self):
        self.start(OPERATOR)
        for arguments in (["list"], ["version"], ["doctor"], ["watch", "s1"], ["detach", "--all"],
                          ["attach", "--pid", 1, *STEP], ["match", "--pid", 1, *STEP]):
            answer = self.ctl_as(BOB, *arguments)
            self.assertIn("uid %d has no role" % BOB, answer.err, answer)
        self.eventually(lambda: len(self.records("refused")) == 7, 5, "seven refusals in the log")
        self.assertEqual({record["caller"]["uid"] for record in self.records("refused")}, {BOB})

    def test_without_a_policy_root_alone(self):
        self.daemon = self.start_daemon()
        self.client = open_to_users(self.daemon.directory)
        os.chmod(self.daemon.socket, 0o666)
        self.assert_refused(self.ctl_as(ALICE, "list"), PERMISSION, "uid %d" % ALICE, "root alone")
        self.assertEqual(self.daemon.ctl("list").code, 0)

    def test_an_operator_has_its_own_sessions(self):
        self.start("callers:\n  - {user: %d, role: operator}\n  - {user: %d, role: operator}\n" % (ALICE, BOB))
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP)
        self.assertIn("uid %d (pid %d)" % (ALICE, session.child.pid), self.daemon.ctl("list").out)
        self.assert_refused(self.ctl_as(BOB, "detach", session.id), PERMISSION, "its own", "uid %d" % ALICE)
        self.assert_refused(self.ctl_as(BOB, "update", session.id, "--delay", "1us"), PERMISSION, "its own")
        self.assertIn("no sessions", self.ctl_as(BOB, "detach", "--all").out)
        self.assertEqual(self.ctl_as(ALICE, "update", session.id, "--delay", "1us").code, 0)
        self.assertEqual(self.daemon.ctl("detach", session.id).code, 0)  # root may all
        self.assertEqual(session.wait_end()["end"]["reason"], "detached")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_group_by_its_socket(self):
        """The socket of --socket-group lets its members in, and nobody else."""
        name = grp.getgrgid(os.stat("/etc/shadow").st_gid).gr_name
        gid = grp.getgrnam(name).gr_gid
        policy = self.write("policy.yaml", "callers:\n  - {group: %s, role: viewer}\n" % name)
        os.chmod(policy, 0o600)
        self.daemon = self.start_daemon(options=["--policy", policy, "--socket-group", name])
        self.client = open_to_users(self.daemon.directory)
        self.assertEqual((mode_of(self.daemon.socket), os.stat(self.daemon.socket).st_gid), (0o660, gid))
        self.assertEqual(self.ctl_as(ALICE, "list", groups=[gid, GROUP]).code, 0)
        self.assert_refused(self.ctl_as(ALICE, "list"), PERMISSION, "permission denied on the socket")


class ReloadTest(Guarded):
    def test_a_revoked_role_ends_what_runs(self):
        both = "callers:\n  - {user: %d, role: operator}\n  - {user: %d, role: viewer}\n" % (ALICE, BOB)
        self.start(both)
        target, kept = self.start_target(script="steady.py"), self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP, "--delay", "1us")
        roots = self.attach(kept, *STEP)
        watch = UserSession(self, BOB, roots.id, command="watch")
        self.addCleanup(watch.kill)
        watch.wait_active()
        self.reload("callers:\n  - {user: %d, role: viewer}\n" % ALICE)
        last = session.wait_end()
        self.assertIn("revoked by a new policy: uid %d is a viewer" % ALICE, last["end"]["reason"])
        self.assertEqual(session.code, PERMISSION, session.errors)
        self.assert_clean_proof(last)
        self.assertEqual(watch.child.wait(10), PERMISSION, watch.errors)
        self.assertIn("uid %d has no role" % BOB, watch.errors)
        self.assertIsNone(roots.code)  # nobody took that away
        self.assert_refused(self.ctl_as(ALICE, "attach", "--pid", target.pid, *STEP), PERMISSION, "viewer")
        roots.finish()
        for one in (target, kept):
            self.assert_nothing_left(one)
            self.assert_ends_well(one)

    def test_a_revoked_role_reads_no_more_spans(self):
        """Of a session that somebody else began, and does not read."""
        self.start("callers:\n  - {user: %d, role: viewer}\n  - {user: %d, role: operator, sessions: all}\n" % (ALICE, BOB))
        target = self.start_target(self.python, "models.py", "2.13")
        target.ask("make", "main")
        modules = raw_call.field(2, raw_call.field(5, raw_call.field(1, b"*")))
        begun, updates = self.call_as(0, "Control/Attach", raw_call.number(1, target.pid) + modules + raw_call.field(17, b""))
        self.eventually(lambda: b"top.layers" in updates(), 20, "the attach")
        [session] = json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"]
        watch = raw_call.field(1, session["session_id"].encode())
        viewer, told = self.call_as(ALICE, "Modules/WatchSpans", watch)
        self.assertEqual(viewer.wait(10), 0)
        self.assertIn(b"grpc-status: 7", told())
        reader, told = self.call_as(BOB, "Modules/WatchSpans", watch)
        self.eventually(lambda: (target.ask("forward", "main"), b"top.layers" in told())[1], 20, "a span")
        self.reload("callers:\n  - {user: %d, role: viewer}\n" % BOB)  # who may watch, but not take spans away
        self.assertEqual(reader.wait(10), 0)
        self.assertIn(b"grpc-status: 7", told())
        self.assertIsNone(begun.poll())
        self.assertEqual(self.daemon.ctl("detach", "--all").code, 0)
        self.assertEqual(begun.wait(10), 0)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def call_as(self, uid, method, message):
        return raw_call.start(self, as_user(uid), method, message)

    def test_a_revoked_role_sees_no_more_of_modules(self):
        self.start("callers:\n  - {user: %d, role: viewer}\n" % BOB)
        target = self.start_target(self.python, "models.py", "2.13")
        target.ask("make", "main")
        watch = UserSession(self, BOB, "--pid", target.pid, "--watch", "--interval", "1h", command="modules")
        self.addCleanup(watch.kill)
        self.assertTrue(json.loads(watch.child.output.wait_for(0, 10))["modules"])
        self.reload("callers: []\n")
        self.assertEqual(watch.child.wait(10), PERMISSION, watch.errors)
        self.assertIn("uid %d has no role" % BOB, watch.errors)
        self.assert_ends_well(target)

    def test_a_smaller_limit_ends_what_is_above_it(self):
        self.start(OPERATOR)
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP, "--delay", "2ms")
        self.reload("callers:\n  - {user: %d, role: operator, limits: {max_delay: 3ms}}\n" % ALICE)
        self.assertIsNone(session.code)
        self.reload("callers:\n  - {user: %d, role: operator, limits: {max_delay: 1ms}}\n" % ALICE)
        self.assertIn("a delay of 2ms", session.wait_end()["end"]["reason"])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_what_was_allowed_is_allowed_after_a_reload(self):
        """The dose in force is what a hit costs, and above the limit. It was asked for less."""
        limited = "callers:\n  - {user: %d, role: operator, limits: {max_delay: 1ns}}\n" % ALICE
        self.start(limited)
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP, "--delay", "1ns")
        self.reload(limited)
        target.ask("call", "step", 3)
        last = session.finish()
        self.assertEqual((last["end"]["reason"], [row["calls"] for row in last["targets"]]), ("detached", [3]))
        self.assertEqual(self.ctl_as(ALICE, "list").code, 0)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_mistake_leaves_the_old_policy_in_force(self):
        self.start(OPERATOR)
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP)
        self.reload("callers:\n  - {user: %d, roll: operator}\n" % ALICE, log="event=policy_not_reloaded")
        self.assertIn(self.policy + ":2: unknown key `roll`", self.daemon.log)
        self.assertIsNone(session.code)
        self.assertEqual(self.ctl_as(ALICE, "list").code, 0)
        session.finish()
        self.assert_ends_well(target)

    def test_a_policy_with_a_mistake_is_no_start(self):
        for text, words in (("callers:\n  - user: 5\n    role: admin\n", ":3: role: "),
                            ("callers:\n  - user: 5\n    role: viewer\n    colour: red\n", ":4: unknown key `colour`"),
                            ("callers:\n  - {user: 5, role: viewer\n", ":")):
            policy = self.write("bad.yaml", text)
            os.chmod(policy, 0o600)
            daemon = self.start_daemon(wait=False, options=["--policy", policy])
            self.assertEqual(daemon.child.wait(), BAD_POLICY, daemon.log)
            self.assertIn(policy + words, daemon.log)
        for options, code in ((["--policy", self.scratch + "/none.yaml"], BAD_POLICY),
                              (["--socket-group", "root"], BAD_ARGUMENTS)):
            daemon = self.start_daemon(wait=False, options=options)
            self.assertEqual(daemon.child.wait(), code, daemon.log)


class AuditTest(Guarded):
    def test_who_did_what(self):
        self.start(OPERATOR)
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP, "--target", "*:nothing @delay=5us @every=3", "--delay", "10us",
                                 "--exclude", "*:aside", "--ttl", "5m")
        target.ask("call", "step", 7)
        self.assertEqual(self.ctl_as(ALICE, "update", session.id, "--delay", "20us").code, 0)
        self.assert_refused(self.ctl_as(BOB, "detach", session.id), PERMISSION)
        last = session.finish()
        self.eventually(lambda: len(self.records("refused")) == 1, 5, "the refusal in the log")
        self.assertEqual(mode_of(self.audit), 0o600)
        attach, = self.records("attach")
        who = {"uid": ALICE, "pid": session.child.pid}
        self.assertEqual((attach["caller"], attach["session"]), (who, session.id))
        self.assertEqual((attach["target"]["pid"], attach["target"]["exe"], attach["target"]["start_ticks"]),
                         (target.pid, os.readlink("/proc/%d/exe" % target.pid), target.start_ticks))
        self.assertEqual(attach["rules"], [{"pattern": "*steady.py:step", "delay_ns": 10000, "every": 1},
                                           {"pattern": "*:nothing @delay=5us @every=3", "delay_ns": 5000, "every": 3}])
        self.assertEqual((attach["exclude"], attach["ttl_ns"]), (["*:aside"], 300 * 10 ** 9))
        self.assertRegex(attach["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        update, = self.records("update")
        self.assertEqual((update["delay_ns"], update["session"], update["target"]), (20000, session.id, attach["target"]))
        self.assertEqual(update["rules"], [{"pattern": "*steady.py:step", "delay_ns": 20000, "every": 1},
                                           attach["rules"][1]])
        self.assertEqual(update["exclude"], attach["exclude"])
        refused, = self.records("refused")
        self.assertEqual((refused["caller"]["uid"], refused["action"]), (BOB, "detach"))
        end, = self.records("end")
        self.assertEqual((end["reason"], end["clean"], end["caller"]), ("detached", True, who))
        self.assertEqual(end["totals"]["calls"], 7)
        self.assertEqual(end["totals"]["injected_delay_ns"],
                         sum(row["injected_delay_ns"] for row in last["targets"]))
        self.assert_ends_well(target)

    def test_all_that_an_update_leads_to(self):
        """What it leaves as it was, too; and native functions."""
        self.start(OPERATOR)
        target = self.start_target(script="native.py")
        session = self.attach_as(ALICE, target, "--target", "*/native.py:step", "--native", "libc.so.6:getpid",
                                 "--delay", "3us", "--every", "2")
        updates = (("--target", "*/native.py:pids", "--native", "libc.so.6:write @delay=9us", "--exclude", "*:none"),
                   ("--every", "5"))
        for update in updates:
            self.assertEqual(self.ctl_as(ALICE, "update", session.id, *update).code, 0)
        session.finish()
        self.assertEqual([one["rules"] for one in self.records("update")], [
            [{"pattern": "*/native.py:pids", "delay_ns": 3000, "every": every},
             {"pattern": "libc.so.6:write @delay=9us", "delay_ns": 9000, "every": every}] for every in (2, 5)])
        self.assertEqual([(one["exclude"], one["target"]["pid"]) for one in self.records("update")],
                         [(["*:none"], target.pid)] * 2)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_dose_below_the_cost_of_a_hit(self):
        """What is recorded is what is injected."""
        self.start(OPERATOR)
        target = self.start_target(script="steady.py")
        session = self.attach_as(ALICE, target, *STEP, "--delay", "1ns")
        pattern, = session.wait_active()["patterns"]
        self.assertGreater(pattern["delay_ns"], 1)
        session.finish()
        self.assertEqual([one["rules"][0]["delay_ns"] for one in self.records("attach")], [pattern["delay_ns"]])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_dose_below_the_cost_of_a_step(self):
        self.start(OPERATOR)
        target = self.start_target(script="native.py")
        session = self.attach_as(ALICE, target, "--native", "libc.so.6:getppid", "--native", "libc.so.6:write @delay=1ms",
                                 "--delay", "1ns")
        row, = [row for row in session.finish()["targets"] if row["qualname"] == "getppid"]
        self.assertFalse(row["native"]["emulated"])
        self.assertLess(self.records("attach")[0]["rules"][0]["delay_ns"], int(row["native"]["hit_cost_ns"]))
        self.assertEqual([(one["pattern"], one["delay_ns"]) for one in self.records("end")[0]["rules"]],
                         [("libc.so.6:getppid", int(row["native"]["hit_cost_ns"]))])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_of_each_process(self):
        self.start(OPERATOR)
        target = self.start_target(script="workers.py")
        session = self.attach_as(ALICE, target, "--children", "--target", "*/workers.py:step")
        pids = [target.pid, *target.ask("hire", "fork", 2)]
        session.wait_for(lambda update: [one["state"] for one in update["processes"]] == ["ACTIVE"] * 3)
        target.ask("order", 7)
        session.finish()
        ends = self.records("end")
        self.assertCountEqual([(end["target"]["pid"], end["totals"]["calls"]) for end in ends],
                              [(target.pid, 0), (pids[1], 7), (pids[2], 7)])
        self.assertEqual({(end["reason"], end["clean"]) for end in ends}, {("detached", True)})
        self.assertCountEqual([attach["target"] for attach in self.records("attach")], [end["target"] for end in ends])
        target.ask("dismiss")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_without_a_record_nothing_begins(self):
        """A full disk: attach, update and match are refused with the reason; what runs is ended all the same."""
        disk = self.small_disk(16)
        audit = disk.directory + "/audit.jsonl"
        daemon = self.daemon = self.start_daemon(options=["--audit-log", audit])
        target, other = self.start_target(script="steady.py"), self.start_target(script="steady.py")
        parent = self.start_target(script="workers.py")
        session = self.attach(target, *STEP, "--delay", "1us")
        family = self.attach(parent, "--children", "--target", "*/workers.py:step")
        # To the brim: the log's own last page too.
        with open(audit, "a") as file:
            file.write(" " * (-os.path.getsize(audit) % 4096))
        disk.fill()
        before = os.path.getsize(audit)
        self.assert_refused(daemon.ctl("attach", "--pid", other.pid, *STEP), LIMIT, audit, "No space left",
                            "nothing is attached")
        self.assert_refused(daemon.ctl("update", session.id, "--delay", "5us"), LIMIT, "No space left")
        self.assert_refused(daemon.ctl("match", "--pid", other.pid, *STEP), LIMIT, "No space left")
        self.assert_refused(daemon.ctl("modules", "--pid", other.pid, "--max-stop", "100ms"), LIMIT, "No space left")
        parent.ask("hire", "fork", 1)
        parent.ask("order", 7)
        self.assertEqual(parent.ask("dismiss"), [0])
        self.assertEqual(os.path.getsize(audit), before)  # no half line
        self.assertEqual(traces.locks(other.pid), [])
        target.ask("call", "step", 3)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [3])
        self.assert_clean_proof(last)
        last = family.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [0])  # a child without a record is left alone
        self.assert_clean_proof(last)
        self.assertIn("event=audit_failed", daemon.log)
        disk.make_room()
        self.assert_clean_proof(self.attach(other, *STEP).finish())  # room again
        for one in (target, other, parent):
            self.assert_nothing_left(one)
            self.assert_ends_well(one)

    def test_logrotate(self):
        """The real tool, on the file that is installed; only the path and the pid are others."""
        self.start(OPERATOR)
        target = self.start_target(script="steady.py")
        self.attach(target, *STEP).finish()
        with open(REPO / "deploy/sbump.logrotate") as file:
            rules = file.read().replace("/var/log/sbump/audit.jsonl", self.audit)
        rules = re.sub("systemctl kill .*", "kill -HUP %d" % self.daemon.pid, rules)
        subprocess.run(["/usr/sbin/logrotate", "--force", "--state", self.scratch + "/state",
                        self.write("rotate", rules)], check=True)
        self.eventually(lambda: "event=reloaded" in self.daemon.log, 5, "the reload")
        self.assertEqual(mode_of(self.audit), 0o600)
        self.attach(target, *STEP).finish()
        # Ctrl-C is a request to detach.
        self.assertCountEqual([record["event"] for record in self.records()], ["attach", "detach", "end"])
        with open(self.audit + ".1") as file:
            self.assertCountEqual([json.loads(line)["event"] for line in file], ["attach", "detach", "end"])
        self.assert_ends_well(target)

    def test_a_log_that_others_can_write_is_no_log(self):
        for name, make in (("open.jsonl", lambda path: os.chmod(path, 0o666)),
                           ("theirs.jsonl", lambda path: os.chown(path, ALICE, -1))):
            audit = self.write(name, "")
            make(audit)
            daemon = self.start_daemon(wait=False, options=["--audit-log", audit])
            self.assertEqual(daemon.child.wait(), BAD_POLICY, daemon.log)
            self.assertIn(audit, daemon.log)
        os.symlink("/etc/passwd", self.scratch + "/link")
        daemon = self.start_daemon(wait=False, options=["--audit-log", self.scratch + "/link"])
        self.assertEqual(daemon.child.wait(), BAD_POLICY, daemon.log)


if __name__ == "__main__":
    main()
