"""The unit that is installed, in a machine that systemd has booted: what it must do, under all of its restrictions.

A system call that its filter denies is the end of the daemon here, by a drop-in: nothing is denied in silence.
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import traces
from harness.case import Case, main
from harness.certificates import Authority
from harness.daemon import Answer, run_client
from harness.session import Session, calls_by_name
from harness.target import TARGETS
from harness.users import ALICE, BOB, GROUP, as_user
from unit import NAME, Unit, journal, systemctl

N = 200
ANSWER = N * (N + 1) // 2
US = 1000
PERMISSION, LIMIT = 6, 12
# Of systemd-analyze security, from 0 (locked) to 10 (open).
MOST_EXPOSED, MOST_EXPOSED_LOCAL = 3.1, 2.3  # docs/security.md
# As many sessions as a daemon takes.
FULL_HOUSE = 256


def exposure():
    ended = subprocess.run(["systemd-analyze", "security", "--no-pager", NAME], stdout=subprocess.PIPE, check=True)
    line = ended.stdout.decode().strip().splitlines()[-1]
    print(line, flush=True)
    return float(re.search(r"level for %s: ([0-9.]+)" % re.escape(NAME), line).group(1))


class UnitCase(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Unit()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.put_back)
        self.daemon.drop_in("SystemCallErrorNumber=\n")

    def put_back(self):
        self.daemon.stop()
        self.daemon.no_drop_ins()
        shutil.rmtree("/etc/sbump", ignore_errors=True)

    def start_unit(self):
        self.daemon.start()
        self.assertEqual(systemctl("is-active", NAME).strip(), "active")

    def start_target_as(self, uid, script="workers.py"):
        """A process of another user, whose interpreter and program are below /home."""
        home = "/home/%d" % uid
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(TARGETS, home)
        shutil.copy(os.path.realpath(self.python.path), home + "/python3")
        subprocess.run(["chown", "-R", "%d:%d" % (uid, uid), home], check=True)
        self.addCleanup(shutil.rmtree, home)
        python = OwnPython(home + "/python3")
        return self.start_target(python, "%s/%s" % (home, script), prefix=as_user(uid))

    def assert_never_died(self):
        self.assertEqual(self.daemon.value("NRestarts"), "0", journal())


class OwnPython:
    def __init__(self, path):
        self.path = path


class WorkTest(UnitCase):
    """Sessions, of each kind."""

    def setUp(self):
        super().setUp()
        self.start_unit()

    def tearDown(self):
        self.assert_never_died()

    def test_restrictions_hold(self):
        """What systemd cannot do on a machine it leaves out without a word: so look at the process itself."""
        pid = self.daemon.pid
        names = self.daemon.value("CapabilityBoundingSet").split()
        status = dict(line.split(":\t", 1) for line in open("/proc/%d/status" % pid) if ":\t" in line)
        self.assertEqual((status["NoNewPrivs"].strip(), status["Seccomp"].strip()), ("1", "2"))
        self.assertEqual(len(names), 4, names)
        self.assertEqual(bin(int(status["CapEff"], 16)).count("1"), len(names))
        self.assertEqual(status["CapEff"], status["CapBnd"])

        def inside(*command):
            return subprocess.run(["nsenter", "-t", str(pid), "-m", *command], capture_output=True)
        for path in ("/usr/x", "/etc/x", "/var/x", "/proc/sys/kernel/domainname"):
            self.assertIn(b"Read-only file system", inside("/bin/sh", "-c", "echo x >" + path).stderr, path)
        self.assertEqual(inside("ls", "-A", "/home", "/root").stdout.split(), [b"/home:", b"/root:"])
        self.assertNotEqual(inside("test", "-e", "/dev/kmsg").returncode, 0)
        self.assertNotEqual(inside("test", "-e", self.scratch).returncode, 0)
        for path in ("/run/sbumpd/x", "/var/log/sbump/x"):
            self.assertEqual(inside("/bin/sh", "-c", "echo x >%s && rm %s" % (path, path)).returncode, 0, path)

    def test_a_process_of_another_user(self):
        target = self.start_target_as(ALICE)
        session = self.attach(target, "--target", "*/workers.py:step", "--delay", "20us")
        self.assertEqual(target.ask("work", N), ANSWER)
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": N})
        self.assertGreaterEqual(last["targets"][0]["injected_delay_ns"], N * 20 * US)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_children(self):
        target = self.start_target_as(ALICE)
        session = self.attach(target, "--children", "--target", "*/workers.py:step")
        workers = target.ask("hire", "fork", 2) + target.ask("hire", "exec", 1)
        session.wait_for(lambda update: set(workers) <= {
            one["process"]["pid"] for one in update["processes"] if one["state"] == "ACTIVE"})
        self.assertEqual([answer for answer, _ in target.ask("order", N).values()], [ANSWER] * 3)
        last = session.finish()
        calls = {row["pid"]: row["calls"] for row in last["targets"] if row["calls"]}
        self.assertEqual(calls, {pid: N for pid in workers})
        self.assert_clean_proof(last)
        for pid in workers:
            self.assert_nothing_left(pid)
        self.assertEqual(target.ask("dismiss"), [0] * 3)
        self.assert_ends_well(target)

    def test_sleep(self):
        target = self.start_target_as(ALICE, "steady.py")
        self.check_sleep(target)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_native(self):
        target = self.start_target_as(ALICE, "native.py")
        session = self.attach(target, "--native", "libc.so.6:write", "--target", "*/native.py:step", "--delay", "50us")
        self.assertEqual(target.ask("writes", N), ANSWER)
        last = session.finish()
        calls = calls_by_name(last)
        self.assertEqual(calls["step"], N)
        self.assertEqual(calls["write"] // N, 1)  # and the answer
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_doctor_is_content(self):
        target = self.start_target_as(ALICE)
        answer = self.daemon.ctl("doctor", "--pid", target.pid)
        self.assertEqual(answer.code, 0, answer)


class ConfiguredTest(UnitCase):
    """What an administrator can turn on, as docs/security.md says."""

    def configure(self, **lines):
        os.makedirs("/etc/sbump", mode=0o755, exist_ok=True)
        with open("/etc/sbump/sbumpd.conf", "w") as file:
            file.writelines("%s = %s\n" % (name.replace("_", "-"), value) for name, value in lines.items())

    def policy(self, text):
        path = "/etc/sbump/policy.yaml"
        os.makedirs("/etc/sbump", mode=0o755, exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def certificates(self):
        os.makedirs("/etc/sbump/tls", mode=0o700)
        authority = Authority("/etc/sbump/tls")
        server = authority.issue("server", "DNS:localhost", "IP:127.0.0.1")
        client = authority.issue("client", "URI:spiffe://site/ops")
        return authority, server, client

    def test_another_machine_with_an_audit_log_and_metrics(self):
        authority, (certificate, key), client = self.certificates()
        policy = self.policy('callers:\n  - {certificate: "uri:spiffe://site/ops", role: operator}\n')
        self.configure(listen='["unix:/run/sbumpd/sbumpd.sock", "tcp:127.0.0.1:7443"]', policy=policy,
                       audit_log="/var/log/sbump/audit.jsonl", metrics="127.0.0.1:9464", tls_ca=authority.file,
                       tls_cert=certificate, tls_key=key)
        self.start_unit()
        target = self.start_target_as(ALICE)
        answer = run_client("127.0.0.1:7443", "--tls-ca", authority.file, "--tls-cert", client[0], "--tls-key", client[1],
                            "attach", "--pid", target.pid, "--target", "*/workers.py:step", "--duration", "500ms")
        self.assertEqual(answer.code, 0, answer)
        page = subprocess.run(["/usr/bin/python3", "-c", "import urllib.request as r; print(r.urlopen("
                               "'http://127.0.0.1:9464/metrics', timeout=10).read().decode())"],
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertRegex(page, r"sbump_sessions\S* 0\n")
        systemctl("reload", NAME)
        with open("/var/log/sbump/audit.jsonl") as file:
            events = [json.loads(line)["event"] for line in file]
        self.assertLess(events.index("attach"), events.index("end"))
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        self.assert_never_died()

    def test_a_group_of_users(self):
        subprocess.run(["groupadd", "-g", str(GROUP), "sbump-perf"], check=True)
        self.addCleanup(subprocess.run, ["groupdel", "sbump-perf"], check=True)
        policy = self.policy("callers:\n  - {group: %d, role: operator, limits: {target_uids: [%d]}}\n" % (GROUP, ALICE))
        self.configure(policy=policy, socket_group="sbump-perf")
        self.daemon.drop_in("Group=sbump-perf\nRuntimeDirectoryMode=0710\n")
        self.start_unit()
        target = self.start_target_as(ALICE)

        def ask(*groups):
            ended = subprocess.run([*as_user(BOB, *groups), "/usr/bin/sbumpctl", "attach", "--pid", str(target.pid),
                                    "--target", "*/workers.py:step", "--duration", "300ms"], capture_output=True)
            return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
        self.assertEqual(ask(GROUP).code, 0)
        self.assertEqual(ask().code, PERMISSION)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        self.assert_never_died()


    def test_without_a_network(self):
        self.daemon.drop_in("PrivateNetwork=yes\nRestrictAddressFamilies=\nRestrictAddressFamilies=AF_UNIX\n")
        self.start_unit()
        self.assertNotEqual(os.readlink("/proc/%d/ns/net" % self.daemon.pid), os.readlink("/proc/self/ns/net"))
        target = self.start_target_as(ALICE)
        session = self.attach(target, "--children", "--target", "*/workers.py:step")
        self.assertEqual(target.ask("work", N), ANSWER)
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": N})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        self.assert_never_died()
        self.assertLessEqual(exposure(), MOST_EXPOSED_LOCAL)


class EndsTest(UnitCase):
    """Restarts, kills and stops, with sessions."""

    def setUp(self):
        super().setUp()
        self.start_unit()

    def attach_by_system(self, target, *arguments):
        return self.attach(target, "--target", "*/workers.py:step", "--delay", "20us", *arguments)

    def assert_works(self, target):
        session = self.attach_by_system(target)
        self.assertEqual(target.ask("work", N), ANSWER)
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": N})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)

    def test_restarted_in_mid_session(self):
        target = self.start_target_as(ALICE)
        session = self.attach_by_system(target)
        target.send("work", 50_000)
        old = self.daemon.pid
        systemctl("restart", NAME)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "daemon shutting down")
        self.assert_clean_proof(last)
        self.assertEqual(target.answer(), 50_000 * 50_001 // 2)
        self.assertNotEqual(self.daemon.pid, old)
        self.assertEqual(self.daemon.value("Result"), "success")
        self.assert_nothing_left(target)
        self.assert_works(target)
        self.assert_ends_well(target)
        self.assert_never_died()

    def wait_restarted(self, old, seconds=10):
        """systemd's doing: nobody asks for it here."""
        self.eventually(lambda: self.daemon.pid not in (0, old) and
                        self.daemon.value("ActiveState") == "active", seconds, "the restart by systemd")

    def check_recovery(self, target, old, session):
        target.send("work", 20_000)
        self.wait_restarted(old)
        session.child.wait()
        self.assertIn("recovery", journal())
        self.assertEqual(target.answer(), 20_000 * 20_001 // 2)
        self.assertEqual(self.daemon.journals(), [])
        self.assert_nothing_left(target)
        self.assert_works(target)
        self.assert_ends_well(target)
        self.assertEqual(self.daemon.value("NRestarts"), "1")

    def test_killed(self):
        target = self.start_target_as(ALICE)
        session = self.attach_by_system(target)
        old = self.daemon.pid
        self.assertNotEqual(self.daemon.journals(), [])
        os.kill(old, signal.SIGKILL)
        self.check_recovery(target, old, session)

    def test_stopped_until_the_watchdog_comes(self):
        self.daemon.drop_in("WatchdogSec=2\n")
        systemctl("restart", NAME)
        target = self.start_target_as(ALICE)
        session = self.attach_by_system(target)
        old = self.daemon.pid
        os.kill(old, signal.SIGSTOP)
        self.check_recovery(target, old, session)
        self.assertIn("watchdog", subprocess.run(["journalctl", "--no-pager", "-u", NAME], stdout=subprocess.PIPE)
                      .stdout.decode().lower())

    def test_stopped_with_a_full_house(self):
        target = self.start_target_as(ALICE)
        pids = [target.pid] + target.ask("hire", "fork", FULL_HOUSE)
        spare = pids.pop()

        attach = ("--target", "*/workers.py:step", "--delay", "20us", "--max-stop", "1s", "--keep")

        def keep(pid):
            session = Session(self.daemon, "--pid", pid, *attach)
            session.wait_active(60)
            session.kill()  # the client: its session goes on
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(keep, pids))
        print("%d sessions in %.1f s" % (len(pids), time.monotonic() - begin), flush=True)
        self.assert_refused(self.daemon.ctl("attach", "--pid", spare, *attach), LIMIT, "%d sessions" % FULL_HOUSE)
        memory = int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%d/status" % self.daemon.pid).read()).group(1))
        target.send("order", 1000)
        begin = time.monotonic()
        self.daemon.stop()
        took = time.monotonic() - begin
        print("%d MB; stopped within %.1f s" % (memory // 1024, took), flush=True)
        self.assertEqual(self.daemon.value("Result"), "success", journal())
        self.assertNotIn("session_left_behind", journal())
        minutes, seconds = re.fullmatch(r"(?:(\d+)min ?)?(?:(\d+)s)?", self.daemon.value("TimeoutStopUSec")).groups("0")
        self.assertLess(took, 60 * int(minutes) + int(seconds))
        self.assertEqual({answer for answer, _ in target.answer(120).values()}, {1000 * 1001 // 2})
        self.assertEqual(self.daemon.journals(), [])
        for pid in pids[::8]:
            self.assert_nothing_left(pid)
        self.assertEqual(set(target.ask("dismiss")), {0})
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class ScoreTest(UnitCase):
    def test_exposure(self):
        """Of the unit as it is installed, without this test's drop-in."""
        self.daemon.no_drop_ins()
        self.assertLessEqual(exposure(), MOST_EXPOSED)


if __name__ == "__main__":
    main()
