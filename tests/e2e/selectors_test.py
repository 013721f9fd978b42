"""Several processes in one session, chosen by what they are."""
import os
import time

from harness import traces
from harness.case import Case, main
from harness.session import Session, calls_by_name

N = 200
ANSWER = N * (N + 1) // 2


class SelectorTest(Case):
    def start_some(self, count):
        return [self.start_target(script="workers.py") for _ in range(count)]

    def test_by_command_line(self):
        targets = self.start_some(3)
        mark = targets[0].file
        session = self.start_attach_by("--cmdline", "*%s*" % mark, "--target", "*/workers.py:step", "--delay", "20us")
        active = session.wait_active()
        self.assertEqual(sorted(one["process"]["pid"] for one in active["processes"]),
                         sorted(target.pid for target in targets))
        for target in targets:
            self.assertEqual(target.ask("work", N), ANSWER)
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": 3 * N})
        self.assertEqual({row["pid"]: row["calls"] for row in last["targets"]},
                         {target.pid: N for target in targets})
        self.assert_clean_proof(last)
        for target in targets:
            self.assert_nothing_left(target)
            self.assert_ends_well(target)

    def start_attach_by(self, *arguments):
        session = Session(self.daemon, *arguments, "--max-stop", "1s")
        self.addCleanup(session.kill)
        return session

    def make_cgroup(self, *names):
        """Below some hierarchy of this machine; removed again at the end, when nobody is in it."""
        mounts = [line.split() for line in open("/proc/mounts")]
        for mount in sorted((one for one in mounts if one[2] in ("cgroup", "cgroup2")), key=lambda one: one[2] != "cgroup2"):
            try:
                for i in range(len(names)):
                    path = os.path.join(mount[1], *names[:i + 1])
                    os.mkdir(path)
                    self.addCleanup(os.rmdir, path)
                return path
            except OSError:
                continue
        self.fail("no cgroup can be made on this machine")

    def test_by_cgroup_and_container(self):
        unit = "sbump-test-%d.service" % os.getpid()
        container = "%064x" % os.getpid()
        cgroup = self.make_cgroup(unit, "docker-%s.scope" % container)
        inside, outside = self.start_some(2)
        with open(cgroup + "/cgroup.procs", "w") as file:
            file.write(str(inside.pid))
        for selector in (("--cgroup", "/" + unit), ("--container", container[:60]), ("--container", container)):
            session = self.start_attach_by(*selector, "--target", "*/workers.py:step")
            active = session.wait_active()
            self.assertEqual([one["process"]["pid"] for one in active["processes"]], [inside.pid])
            self.assertEqual((inside.ask("work", N), outside.ask("work", N)), (ANSWER, ANSWER))
            last = session.finish()
            self.assertEqual(calls_by_name(last), {"step": N})
            self.assert_clean_proof(last)
        self.assert_nothing_left(inside)
        self.assert_ends_well(inside)
        self.assert_ends_well(outside)

    def test_many(self):
        """Probes of a kind that is removed side by side, whose price is said. Nothing of them stays in what was forked."""
        targets = self.start_some(8)
        self.assertEqual(self.try_with_a_child(targets), 0)
        targets += self.start_some(1)
        self.assertEqual(self.try_with_a_child(targets), 1)
        for target in targets:
            self.assert_ends_well(target)

    def try_with_a_child(self, targets):
        """How often it is said."""
        parent = targets[0]
        session = self.start_attach_by("--cmdline", "*%s*" % parent.file, "--target", "*/workers.py:step")
        active = session.wait_active()
        child, = parent.ask("hire", "fork", 1)
        self.assertEqual([target.ask("work", N) for target in targets], [ANSWER] * len(targets))
        self.assertEqual(parent.ask("order", N)[str(child)][0], ANSWER)
        last = session.finish()
        self.assertEqual({row["pid"]: row["calls"] for row in last["targets"]}, {target.pid: N for target in targets})
        self.assert_clean_proof(last)
        self.assertEqual((traces.changed_text(child), traces.trouble_of_threads(child)), ([], []))
        self.assertEqual(parent.ask("dismiss"), [0])
        for target in targets:
            self.assert_nothing_left(target)
        return sum("what one of them forks pays for its probes" in warning for warning in active["warnings"])

    def test_sixty_four(self):
        """All of them at once, twice as slow as is aimed for at most: tests/bench/run says how fast."""
        parent, = self.start_some(1)
        pids = [parent.pid, *parent.ask("hire", "fork", 63)]
        begin = time.monotonic()
        session = self.start_attach_by("--cmdline", "*%s*" % parent.file, "--target", "*/workers.py:step",
                                       "--max-processes", "64")
        active = session.wait_active()
        self.assertLess(time.monotonic() - begin, 16)
        self.assertEqual({one["process"]["pid"]: one["state"] for one in active["processes"]},
                         dict.fromkeys(pids, "ACTIVE"))
        parent.ask("work", N)
        self.assertEqual({answer for answer, _ in parent.ask("order", N).values()}, {ANSWER})
        begin = time.monotonic()
        last = session.finish()
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual({row["pid"]: row["calls"] for row in last["targets"]}, dict.fromkeys(pids, N))
        self.assert_clean_proof(last)
        for pid in pids:
            self.assertEqual((traces.changed_text(pid), traces.trouble_of_threads(pid)), ([], []))
        self.assertEqual(parent.ask("dismiss"), [0] * 63)
        self.assert_nothing_left(parent)
        self.assert_ends_well(parent)

    def test_nobody_and_too_many(self):
        answer = self.daemon.ctl("attach", "--exe", "no-such-program", "--target", "*:*")
        self.assert_refused(answer, 4, "no process is selected by exe no-such-program")
        self.start_some(2)
        answer = self.daemon.ctl("attach", "--exe", "python*", "--max-processes", 1, "--target", "*:*")
        self.assert_refused(answer, 12, "the most is 1", "--max-processes")

    def test_bad_combinations(self):
        answer = self.daemon.ctl("attach", "--target", "*:*")
        self.assert_refused(answer, 2, "--pid", "--container")
        answer = self.daemon.ctl("attach", "--pid", 1, "--exe", "python3", "--target", "*:*")
        self.assert_refused(answer, 2, "--exe")

    def test_one_that_another_session_holds_is_said(self):
        held, free = self.start_some(2)
        first = self.attach(held, "--target", "*/workers.py:step")
        second = self.start_attach_by("--cmdline", "*%s*" % held.file, "--target", "*/workers.py:step")
        active = second.wait_active()
        self.assertIn("is held by session %s" % first.id, " ".join(active["warnings"]).replace("already ", ""))
        last = second.finish()
        self.assert_clean_proof(last)
        self.assert_clean_proof(first.finish())
        for target in (held, free):
            self.assert_nothing_left(target)
            self.assert_ends_well(target)


if __name__ == "__main__":
    main()
