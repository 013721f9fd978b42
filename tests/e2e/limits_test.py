"""What a policy limits: targets, doses, times and shares."""
import os
import json
import re
import time

from harness.case import main
from harness.child import Child
from harness.guarded import Guarded, UserSession
from harness.metrics import free_port, scrape
from harness.users import ALICE, as_user

PERMISSION, LIMIT, WRONG_STATE, GUARDRAIL = 6, 12, 13, 15
STEP = ("--target", "*steady.py:step")


class LimitsTest(Guarded):
    def limited(self, limits):
        return "callers:\n  - user: %d\n    role: operator\n    limits: {%s}\n" % (ALICE, limits)

    def refused(self, code, *words, arguments=(), command="attach", target=None):
        answer = self.ctl_as(ALICE, command, "--pid", (target or self.target).pid, *STEP, *arguments)
        self.assert_refused(answer, code, *words)

    def refusals(self, address):
        """How many of each reason, as Prometheus gets them."""
        found = {re.fullmatch(r'sbump_refusals_total\{reason="(\w+)"\}', name): value
                 for name, value in scrape(address)[1].items()}
        return {match[1]: count for match, count in found.items() if match and count}

    def test_each_limit(self):
        address = "127.0.0.1:%d" % free_port()
        self.start(self.limited("max_delay: 1ms, max_ttl: 10m, max_stop: 200ms, max_sessions: 1"), "--metrics", address)
        self.target = target = self.start_target(script="steady.py")
        self.refused(PERMISSION, "a delay of 2ms", "1ms", arguments=["--delay", "2ms", "--ttl", "1m"])
        self.refused(PERMISSION, "a delay of 2ms", arguments=["--target", "*:x @delay=2ms", "--ttl", "1m"])
        self.refused(PERMISSION, "a delay of 2ms", arguments=["--native", "libc.so.6:getpid @delay=2ms", "--ttl", "1m"])
        self.refused(PERMISSION, "a ttl of", "10m", arguments=["--ttl", "11m"])
        self.refused(PERMISSION, "a ttl of", "10m")  # the default is an hour
        self.refused(PERMISSION, "a stop of 1s", arguments=["--max-stop", "1s", "--ttl", "1m"])
        self.refused(PERMISSION, "a stop of 1s", arguments=["--max-stop", "1s"], command="match")
        allowed = ["--delay", "1ms", "--ttl", "10m", "--max-stop", "200ms"]
        session = self.attach_as(ALICE, target, *STEP, *allowed)
        other = self.start_target(script="steady.py")
        self.refused(LIMIT, "has 1 sessions, and the most is 1", arguments=allowed, target=other)
        self.assert_refused(self.ctl_as(ALICE, "update", session.id, "--delay", "2ms"), PERMISSION, "a delay of 2ms")
        self.assert_refused(self.ctl_as(ALICE, "update", session.id, "--target", "*:step @delay=5ms"), PERMISSION,
                            "a delay of 5ms")
        self.assert_refused(self.ctl_as(ALICE, "update", session.id, "--native", "libc.so.6:getpid @delay=6ms"),
                            PERMISSION, "a delay of 6ms")
        self.assertEqual(self.ctl_as(ALICE, "update", session.id, "--delay", "1us").code, 0)
        self.assert_clean_proof(session.finish())
        again = self.attach_as(ALICE, other, *STEP, *allowed)  # the place is free again
        self.assert_clean_proof(again.finish())
        self.assertEqual(self.refusals(address), {"dose": 6, "time": 4, "sessions": 1})
        for one in (target, other):
            self.assert_nothing_left(one)
            self.assert_ends_well(one)

    def test_an_experiment_has_the_limits_of_an_attach(self):
        self.start(self.limited("max_delay: 1ms, max_ttl: 10m, max_stop: 200ms"))
        self.target = target = self.start_target(script="steady.py")
        target.ask("start", 1, 0.001)
        arguments = ["--metric", "calls:*/steady.py:aside", "--yes", "--budget", "15s"]
        self.refused(PERMISSION, "a delay of 10ms", "1ms", arguments=arguments, command="sweep")
        sweep = UserSession(self, ALICE, "--pid", target.pid, *STEP, *arguments, "--max-delay", "1ms", command="sweep")
        self.addCleanup(sweep.kill)
        sweep.wait_for(lambda line: "window" in line, 30)
        number = json.loads(self.ctl_as(ALICE, "list", "--format", "json").out)["sessions"][0]["session_id"]
        update = self.ctl_as(ALICE, "update", number, "--delay", "1us")
        self.assert_refused(update, WRONG_STATE, "the session is an experiment's")
        self.assertEqual(sweep.wait_exit(40), 0, sweep.errors)
        self.assertEqual(sweep.updates[-1]["results"][0]["name"], "targets")
        # Its targets, and those of its windows without probes: not each time that one begins.
        self.assertEqual(len(self.records("attach")), 1)
        self.assertEqual(len(self.records("update")), 1)
        arguments = [*arguments[:3], "--budget", "28s", "--look", "1s", "--max-delay", "1ms", "--no-confirmation"]
        answer = self.ctl_as(ALICE, "rank", "--pid", target.pid, *STEP, *arguments, seconds=60)
        self.assertIn(answer.code, (0, 16), answer)  # not refused for the look's time to live, or the experiment's
        self.assert_nothing_left(target)
        target.ask("finish")
        self.assert_ends_well(target)

    def test_targets(self):
        address = "127.0.0.1:%d" % free_port()
        self.start(self.limited("target_uids: [%d], max_stop: 1s" % ALICE), "--metrics", address)
        mine = self.start_target_as(ALICE)
        roots = self.start_target(script="steady.py")
        saved = self.start_target(script="steady.py", prefix=["/usr/bin/setpriv", "--ruid", str(ALICE)])
        for target in (roots, saved):
            for command in ("attach", "match"):
                self.refused(PERMISSION, "may not touch pid %d" % target.pid, "uid 0", command=command, target=target)
            self.assert_refused(self.ctl_as(ALICE, "doctor", "--pid", target.pid), PERMISSION, "may not touch")
        self.assertEqual(self.ctl_as(ALICE, "match", "--pid", mine.pid, *STEP, "--max-stop", "1s").code, 0)
        # What root does to root's processes is not shown either.
        secret = self.attach(roots, *STEP)
        self.assertNotIn(secret.id, self.ctl_as(ALICE, "list").out)
        self.assert_refused(self.ctl_as(ALICE, "watch", secret.id), PERMISSION, "may not touch pid %d" % roots.pid)
        # Two processes, three commands each, and the watch.
        self.assertEqual(self.refusals(address), {"target": 7})
        session = self.attach_as(ALICE, mine, *STEP, "--max-stop", "1s")
        mine.ask("call", "step", 4)
        self.assertEqual([row["calls"] for row in session.finish()["targets"]], [4])
        self.assert_clean_proof(secret.finish())
        for target in (mine, roots, saved):
            self.assert_nothing_left(target)
            self.assert_ends_well(target)

    def test_what_is_selected(self):
        """Of several that fit, those that the caller may attach to; what else there is, is not told."""
        self.start(self.limited("target_uids: [%d], max_stop: 1s" % ALICE))
        mine = self.start_target_as(ALICE)
        roots = self.start_target(script="steady.py")
        everybody = UserSession(self, 0, "--cmdline", "*steady.py*", *STEP)
        self.addCleanup(everybody.kill)
        pids = {one["process"]["pid"] for one in everybody.wait_active()["processes"]}
        self.assertLessEqual({mine.pid, roots.pid}, pids)
        self.assert_clean_proof(everybody.finish())
        session = UserSession(self, ALICE, "--cmdline", "*steady.py*", "--max-processes", "1", "--max-stop", "1s", *STEP)
        self.addCleanup(session.kill)
        active = session.wait_active()
        self.assertEqual([one["process"]["pid"] for one in active["processes"]], [mine.pid])
        self.assert_clean_proof(session.finish())
        self.assertEqual(mine.end(), 0)
        answers = [self.ctl_as(ALICE, "attach", "--cmdline", cmdline, "--max-stop", "1s", *STEP).err.replace(cmdline, "")
                   for cmdline in ("*steady.py*", "*no such program*")]
        self.assertIn("no process is selected", answers[0])
        self.assertEqual(answers[0], answers[1])
        self.assert_nothing_left(roots)
        self.assert_ends_well(roots)

    def test_a_program_that_hides_from_its_user(self):
        """One that its own user may not debug is not its user's (PR_SET_DUMPABLE)."""
        self.start(self.limited("target_uids: [%d]" % ALICE))
        code = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print('ready', flush=True); time.sleep(100)"
        hidden = Child([*as_user(ALICE), self.python.path, "-c", code])
        self.addCleanup(hidden.kill)
        if hidden.output.wait_for(0, 10) is None:
            self.skipTest("this interpreter is not open to other users")
        self.refused(PERMISSION, "may not touch pid %d" % hidden.pid, "uid 0", target=hidden)

    def test_a_program_with_capabilities(self):
        """As systemd gives them (AmbientCapabilities=): its memory is its user's, who may not debug it all the same."""
        self.start(self.limited("target_uids: [%d]" % ALICE))
        capable = self.start_target(script="steady.py", prefix=[
            "/usr/bin/setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups",
            "--inh-caps", "+net_bind_service", "--ambient-caps", "+net_bind_service"])
        self.assertEqual(os.stat("/proc/%d/mem" % capable.pid).st_uid, ALICE)
        for command in ("attach", "match", "doctor"):
            arguments = () if command == "doctor" else STEP
            self.assert_refused(self.ctl_as(ALICE, command, "--pid", capable.pid, *arguments), PERMISSION,
                                "may not touch pid %d" % capable.pid, "uid 0")
        self.assert_nothing_left(capable)
        self.assert_ends_well(capable)

    def test_cgroups_and_command_lines(self):
        self.target = target = self.start_target(script="steady.py")
        with open("/proc/%d/cgroup" % target.pid) as file:
            cgroup = [line.rstrip("\n")[3:] for line in file if line.startswith("0::")][0]
        for limits, allowed in (('cmdlines: ["*steady.py*"]', True), ('cmdlines: ["*gunicorn*"]', False),
                                ('cgroups: ["%s"]' % cgroup, True), ('cgroups: ["/no/such"]', False)):
            with self.subTest(limits=limits):
                self.start(self.limited(limits + ", max_stop: 1s"))
                answer = self.ctl_as(ALICE, "match", "--pid", target.pid, *STEP, "--max-stop", "1s")
                self.assertEqual(answer.code, 0 if allowed else PERMISSION, answer)
                self.daemon.stop()

    def test_duty(self):
        """A session that injects more of the time than it may ends, with the reason; others go on."""
        self.start(self.limited("max_duty: 20%, max_stop: 1s"))
        self.try_duty()

    def test_duty_by_a_new_policy(self):
        self.start(self.limited("max_stop: 1s"))
        self.try_duty(lambda: self.reload(self.limited("max_duty: 20%, max_stop: 1s")))

    def try_duty(self, attached=lambda: None):
        busy, calm = self.start_target(script="steady.py"), self.start_target(script="steady.py")
        fine = self.attach_as(ALICE, calm, *STEP, "--delay", "1ms", "--max-stop", "1s", "--interval", "1m")
        much = self.attach_as(ALICE, busy, *STEP, "--delay", "10ms", "--max-stop", "1s", "--interval", "1m")
        attached()
        begin = time.monotonic()
        busy.send("call", "step", 600)
        for _ in range(30):
            calm.ask("call", "step", 5)
            time.sleep(0.1)
        last = much.wait_end()
        self.assertLess(time.monotonic() - begin, 8)
        self.assertRegex(last["end"]["reason"],
                         r"policy: uid %d took at least \d+ %% of the time, and the most is 20 %%" % ALICE)
        self.assertEqual(much.code, GUARDRAIL, much.errors)
        self.assert_clean_proof(last)
        busy.answer()
        self.assertEqual(fine.finish()["end"]["reason"], "detached")
        for target in (busy, calm):
            self.assert_nothing_left(target)
            self.assert_ends_well(target)

    def test_duty_of_short_sessions(self):
        """Each is over before it is judged; the next one pays for it."""
        self.start(self.limited("max_duty: 20%, max_stop: 1s"))
        busy = self.start_target(script="steady.py")
        reasons = []
        for _ in range(5):
            session = self.attach_as(ALICE, busy, *STEP, "--delay", "10ms", "--max-stop", "1s", "--duration", "450ms")
            busy.ask("call", "step", 40)
            reasons.append(session.wait_end()["end"]["reason"])
        self.assertIn("policy: uid %d took" % ALICE, "".join(reasons))
        self.assert_nothing_left(busy)
        self.assert_ends_well(busy)


if __name__ == "__main__":
    main()
