"""The daemon as a service: its end by SIGTERM, its rights, its state directory, its listeners."""
import os
import shutil
import signal
import stat
import time

from harness import one_thread, traces
from harness.case import Case, each_mechanism, main
from harness.child import Child
from harness.daemon import SBUMPD, clean_environment, run_client
from harness.session import calls_by_name

PERMISSION, UNREACHABLE, LIMIT = 6, 9, 12
MS = 1_000_000


class StopTest(Case):
    @each_mechanism
    def test_a_stopped_daemon_delays_nobody_beyond_the_ttl(self, python):
        """The kernel's programs look at the time themselves."""
        daemon = self.start_daemon()
        target = self.start_target(python, "steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", "--ttl", "2s", daemon=daemon)
        self.assertGreater(target.ask("timed", 50), 50 * MS)
        with daemon.standing_still():
            time.sleep(2.1)
            self.assertLess(target.ask("timed", 50), 25 * MS)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "ttl over")
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)

    def test_a_control_thread_that_hangs(self):
        """It serves clients. The session's own thread goes on, also to the session's end."""
        daemon = self.start_daemon()
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", "--ttl", "3s", daemon=daemon)
        with one_thread.standing_still(daemon.pid):
            self.assertGreater(target.ask("timed", 50), 50 * MS)
            self.eventually(lambda: traces.locks(target.pid) == [], 10, "the end of the session")
            self.assertLess(min(target.ask("timed", 50) for _ in range(3)), 25 * MS)
            self.assert_nothing_left(target, daemon)
        last = session.wait_end()
        self.assertEqual((last["end"]["reason"], calls_by_name(last)["step"]), ("ttl over", 50))
        self.assert_clean_proof(last)
        self.assert_ends_well(target)

    @each_mechanism
    def test_sigterm_disarms_all_sessions(self, python):
        daemon = self.start_daemon()
        targets = [self.start_target(python, "steady.py") for _ in range(3)]
        sessions = []
        for target in targets:
            target.ask("start", 2, 0.0)
            sessions.append(self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", daemon=daemon))
        self.assertEqual(daemon.stop(), 0, daemon.log)
        for session, target in zip(sessions, targets):
            last = session.wait_end()
            self.assertEqual((session.code, last["end"]["reason"]), (UNREACHABLE, "daemon shutting down"))
            self.assert_clean_proof(last)
            target.ask("finish")
            self.assert_nothing_left(target, daemon)
            self.assert_ends_well(target)
        self.assertFalse(os.path.exists(daemon.socket))

    def test_sigint_as_sigterm(self):
        daemon = self.start_daemon()
        daemon.child.send_signal(signal.SIGINT)
        self.assertEqual(daemon.child.wait(), 0)

    def test_sigterm_during_an_attach(self):
        for i in range(5):
            daemon = self.start_daemon()
            target = self.start_target(script="steady.py")
            session = self.start_attach(target, "--target", "*:*", daemon=daemon)
            time.sleep(0.25 * i / 5)
            self.assertEqual(daemon.stop(), 0, daemon.log)
            session.child.wait(10)
            self.assert_nothing_left(target, daemon)
            self.assert_ends_well(target)


class RightsTest(Case):
    def refused_attach(self, prefix, state_dir):
        daemon = self.start_daemon(prefix=prefix, state_dir=state_dir)
        target = self.start_target(script="steady.py")
        answer = daemon.ctl("attach", "--pid", target.pid, "--target", "*steady.py:step")
        self.assert_refused(answer, PERMISSION)
        self.assertRegex(answer.err, "CAP_[A-Z_]+|root")
        doctor = daemon.ctl("doctor", "--pid", target.pid)
        self.assertEqual(doctor.code, PERMISSION, doctor)
        self.assertIn("CAP_BPF", doctor.out)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)
        self.assertEqual(daemon.stop(), 0, daemon.log)

    def test_root_without_capabilities(self):
        self.refused_attach(["/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all"], self.scratch + "/state")

    def test_another_user(self):
        """nobody, who may not even enter root's directories: hence the copy and the directories."""
        os.chmod(self.scratch, 0o755)
        binary = shutil.copy(SBUMPD, self.scratch + "/sbumpd")
        state_dir = self.scratch + "/state"
        os.mkdir(state_dir, 0o700)
        os.chown(state_dir, 65534, 65534)
        # The socket's directory belongs to root; nobody may write there for this test.
        prefix = ["/bin/sh", "-c", 'chmod 777 "$(dirname "${3#unix:}")"; shift; exec /usr/bin/setpriv --reuid 65534 '
                  '--regid 65534 --clear-groups %s "$@"' % binary, "sh"]
        self.refused_attach(prefix, state_dir)


class StateDirectoryTest(Case):
    def test_full(self):
        disk = self.small_disk(16)
        daemon = self.start_daemon(state_dir=disk.directory)
        disk.fill()
        target = self.start_target(script="steady.py")
        answer = daemon.ctl("attach", "--pid", target.pid, "--target", "*steady.py:step")
        self.assertIn(answer.code, (1, LIMIT, 13), answer)
        self.assertIn("--state-dir", answer.err)
        self.assert_nothing_left(target, daemon)
        disk.make_room()
        self.assert_ends_well(target)

    def test_full_in_mid_session(self):
        """What cannot be journalled is not armed, and is said; the rest goes on."""
        disk = self.small_disk(1024)
        daemon = self.start_daemon(state_dir=disk.directory)
        target = self.start_target(script="births.py")
        session = self.attach(target, "--target", "born_*.py:plain", daemon=daemon)
        disk.fill()
        total = 0
        for i in range(1500):
            answer, _ = target.ask("born", "born_%d.py" % i, 12)
            total += answer
        expected, _ = target.ask("born", "other.py", 12)
        self.assertEqual(total, 1500 * expected)
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        short = [row for row in last["targets"] if row["calls"] != 12]
        if len(last["targets"]) < 1500 or short:
            self.assertTrue(last["inexact"] or all(row["blocked"] for row in short), (last["skipped"], short[:3]))
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)

    def test_created_private(self):
        daemon = self.start_daemon(state_dir=self.scratch + "/new")
        self.assertEqual(stat.S_IMODE(os.stat(daemon.state_dir).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(daemon.socket).st_mode), 0o600)

    def test_writable_by_others_is_refused(self):
        """Journals say what is written into processes."""
        directory = self.scratch + "/open"
        os.mkdir(directory)
        os.chmod(directory, 0o777)
        daemon = self.start_daemon(state_dir=directory, wait=False)
        self.assertEqual(daemon.child.wait(), 1)
        self.assertIn(directory, daemon.log)

    def test_a_broken_journal_does_no_harm(self):
        target = self.start_target(script="steady.py")
        daemon = self.start_daemon()
        journals = daemon.state_dir + "/journal"
        self.attach(target, "--target", "*steady.py:step", daemon=daemon).finish()
        daemon.stop()
        for name, text in (("%d-1" % target.pid, "not a journal\n"), ("%d-2" % target.pid, ""),
                           ("7-7", "sbump-journal 1 pid=7 start_ticks=7 boot_id=none\narm code=0x1\n")):
            with open(os.path.join(journals, name), "w") as file:
                file.write(text)
        again = self.start_daemon(state_dir=daemon.state_dir)
        session = self.attach(target, "--target", "*steady.py:step", daemon=again)
        target.ask("call", "step", 5)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [5])
        self.assert_clean_proof(last)
        for name in os.listdir(journals):
            os.unlink(os.path.join(journals, name))
        self.assert_nothing_left(target, again)
        self.assert_ends_well(target)


class LocksTest(Case):
    def test_a_new_daemon_removes_those_that_nobody_holds(self):
        """Here of a session that was killed before it had a journal."""
        daemon = self.start_daemon()
        target = self.start_target()
        self.inject(daemon, "fallocate", "signal=SIGKILL:when=1")  # before the first line of the journal
        self.start_attach(target, "--target", "*/calls.py:*", daemon=daemon).child.wait(10)
        daemon.child.wait(10)
        self.assertEqual((len(traces.locks(target.pid)), traces.held_locks(target.pid)), (1, []))
        again = self.start_daemon()  # which has none of its journals
        self.assertEqual(traces.locks(target.pid), [])
        self.assert_nothing_left(target, again)
        self.assert_ends_well(target)


class ListenersTest(Case):
    def test_two_listeners(self):
        endpoints = ["unix:%s/%d.sock" % (self.scratch, i) for i in range(2)]
        listen = ["--listen", endpoints[0], "--listen", endpoints[1]]
        daemon = Child([SBUMPD, *listen, "--state-dir", self.scratch + "/st"],
                       death_signal=signal.SIGTERM, env=clean_environment())
        self.addCleanup(daemon.kill)
        self.eventually(lambda: all(os.path.exists(one[5:]) for one in endpoints), 5, "both sockets")
        for endpoint in endpoints:
            self.assertEqual(run_client(endpoint, "list").code, 0)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)

    def test_config_file(self):
        config = self.write("sbumpd.conf", 'listen = "unix:%s/c.sock"\nstate-dir = "%s/st"\n' % (self.scratch,
                                                                                               self.scratch))
        daemon = Child([SBUMPD, "--config", config], death_signal=signal.SIGTERM, env=clean_environment())
        self.addCleanup(daemon.kill)
        self.eventually(lambda: os.path.exists(self.scratch + "/c.sock"), 5, "the socket")
        self.assertEqual(run_client("unix:%s/c.sock" % self.scratch, "list").code, 0)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        bad = self.write("bad.conf", "no-such-flag = 1\n")
        daemon = Child([SBUMPD, "--config", bad], death_signal=signal.SIGTERM, env=clean_environment())
        self.addCleanup(daemon.kill)
        self.assertNotEqual(daemon.wait(), 0)

    def test_a_socket_that_a_killed_daemon_left(self):
        daemon = self.start_daemon()
        daemon.kill()
        self.assert_refused(daemon.ctl("list"), UNREACHABLE, daemon.endpoint)
        again = Child([SBUMPD, "--listen", daemon.endpoint, "--state-dir", daemon.state_dir],
                      death_signal=signal.SIGTERM, env=clean_environment())
        self.addCleanup(again.kill)
        self.eventually(lambda: daemon.ctl("list").code == 0, 5, "a new daemon on the old socket")
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(), 0)

    def test_a_socket_in_use_is_not_taken_over(self):
        second = Child([SBUMPD, "--listen", self.daemon.endpoint, "--state-dir", self.scratch + "/st"],
                       death_signal=signal.SIGTERM, env=clean_environment())
        self.addCleanup(second.kill)
        self.assertNotEqual(second.wait(10), 0)
        self.assertEqual(self.daemon.ctl("list").code, 0)
        self.assertEqual(self.daemon.kernel_objects(), [])


if __name__ == "__main__":
    main()
