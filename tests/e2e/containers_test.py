"""Processes in containers: namespaces, roots and users of their own; and a daemon that is in one itself."""
import os
import shutil
import signal
import subprocess
import sys
import unittest

from harness import traces
from harness.case import Case, each_with_own_file, each_with_own_root, main, on_any_interpreter
from harness.child import dies_with_parent
from harness.container import APP, RUNC, Image, Place, Runc
from harness.daemon import SBUMPD
from harness.session import Session, calls_by_name
from harness.target import TARGETS
from harness.users import ALICE, as_user

N = 200
ANSWER = N * (N + 1) // 2
STEP = ("--target", "*/workers.py:step")
PRECONDITION = 13


class ContainerCase(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.scratch, 0o755)
        self.image = Image(self.scratch, self.python)

    def start_inside(self, script="workers.py", python=None, image=None):
        """Process 1 of a pid namespace, below an overlay, with the image's interpreter."""
        image = image or self.image
        return self.start_target(python or image.python, image.script(script), prefix=image.with_own_pids())

    def start_attach_by(self, *arguments):
        session = Session(self.daemon, *arguments, "--max-stop", "1s")
        self.addCleanup(session.kill)
        return session

    def hire(self, target, kind, count):
        """Workers, by the pids that they have here."""
        return [traces.seen_from_here(target.pid, own) for own in target.ask("hire", kind, count)]

    def calls_by_pid(self, update):
        return {row["pid"]: row["calls"] for row in update["targets"] if row["calls"]}

    def finish_clean(self, session, calls, target, *pids):
        """`calls` by pid. What is said at the end."""
        last = session.finish()
        self.assertEqual(self.calls_by_pid(last), calls)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, *pids)
        return last

    def assert_all_clean(self, target, *pids):
        for pid in pids:
            self.assert_nothing_left(pid)
        self.assert_nothing_left(target)


class NamespacesTest(ContainerCase):
    """As containers are made, without a program that makes them."""

    @on_any_interpreter
    def test_it_lives_elsewhere(self):
        """What the other tests of this class rely on."""
        target = self.start_inside()
        self.assertEqual(target.hello["pid"], 1)
        self.assertGreater(target.pid, 1)
        self.assertFalse(os.path.exists(self.image.python.path))
        self.assertTrue(os.path.exists("/proc/%d/root%s" % (target.pid, self.image.python.path)))
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_an_interpreter_that_only_it_has(self):
        target = self.start_inside()
        session = self.attach(target, *STEP, "--delay", "50us")
        self.assertEqual(target.ask("work", N), ANSWER)
        last = self.finish_clean(session, {target.pid: N}, target)
        self.assertEqual(last["process"]["pid"], target.pid)
        self.assertEqual(last["process"]["exe"], self.image.python.path)
        self.assertGreaterEqual(last["targets"][0]["injected_delay_ns"], N * 50_000)
        self.assert_ends_well(target)

    @each_with_own_file
    def test_the_machine_s_interpreters(self, python):
        target = self.start_inside(python=python)
        target.ask("work", 3000)
        session = self.attach(target, *STEP)
        self.assertEqual(target.ask("work", N), ANSWER)
        self.finish_clean(session, {target.pid: N}, target)
        self.assert_ends_well(target)

    @each_with_own_root
    def test_another_system(self, python):
        target = self.start_inside(image=Image(self.scratch, python))
        self.assertEqual(os.readlink("/proc/%d/exe" % target.pid), python.file[len(python.root):])
        self.try_children(target)

    @each_with_own_root
    def test_another_system_that_was_upgraded(self, python):
        """The file is another one by now, as a package manager replaces it."""
        target = self.start_inside(image=Image(self.scratch, python))
        path = "/proc/%d/root%s" % (target.pid, python.file[len(python.root):])
        with open(path, "rb") as file, open(path + ".new", "wb") as new:
            new.write(file.read())
        os.rename(path + ".new", path)
        session = self.attach(target, *STEP)
        self.assertEqual(target.ask("work", N), ANSWER)
        self.finish_clean(session, {target.pid: N}, target)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_its_children(self):
        self.try_children(self.start_inside())

    def try_children(self, target):
        session = self.attach(target, "--children", *STEP)
        pids = self.hire(target, "fork", 2) + self.hire(target, "exec", 1)
        session.wait_for(lambda update: set(pids) <= {
            one["process"]["pid"] for one in update["processes"] if one["state"] == "ACTIVE"})
        self.assertEqual([answer for answer, _ in target.ask("order", N).values()], [ANSWER] * 3)
        self.finish_clean(session, {pid: N for pid in pids}, target, *pids)
        self.assertEqual(target.ask("dismiss"), [0] * 3)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_sleep(self):
        target = self.start_inside("steady.py")
        self.check_sleep(target)
        self.assert_all_clean(target)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_two_of_one_image(self):
        """They share the interpreter's file in the lower layer, as containers of one image do."""
        slowed, spared = (self.start_inside(python=self.python) for _ in range(2))
        session = self.attach(slowed, *STEP, "--delay", "50us")
        self.assertNotEqual(traces.changed_text(slowed.pid), [])
        self.assertEqual(traces.changed_text(spared.pid), [])
        self.assertEqual([one.ask("work", N) for one in (slowed, spared)], [ANSWER] * 2)
        last = session.finish()
        self.assertEqual(self.calls_by_pid(last), {slowed.pid: N})
        self.assert_clean_proof(last)
        for one in (slowed, spared):
            self.assert_all_clean(one)
            self.assert_ends_well(one)

    @on_any_interpreter
    def test_a_file_that_was_deleted_in_there(self):
        target = self.start_inside()
        os.unlink("/proc/%d/root%s" % (target.pid, self.image.python.path))
        session = self.attach(target, *STEP)
        self.assertEqual(target.ask("work", N), ANSWER)
        self.finish_clean(session, {target.pid: N}, target)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_a_file_that_was_copied_up_is_refused(self):
        """The kernel would place a probe in the copy, which nobody runs, and say nothing."""
        self.try_copied_up(self.python)

    @on_any_interpreter
    def test_a_file_of_two_names_that_was_copied_up_is_refused(self):
        """The copy has an inode of its own then."""
        python = Place(self.scratch + "/python")
        shutil.copy(os.path.realpath(self.python.path), python.path)
        os.link(python.path, python.path + "-too")
        self.try_copied_up(python)

    def try_copied_up(self, python):
        target = self.start_inside(python=python)
        os.utime("/proc/%d/root%s" % (target.pid, os.path.realpath(python.path)))
        answer = self.daemon.ctl("attach", "--pid", target.pid, *STEP)
        self.assert_refused(answer, PRECONDITION, "overlay", "restart the process")
        self.assertEqual(target.ask("work", N), ANSWER)
        self.assert_all_clean(target)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_root_of_a_user_namespace(self):
        """A user who is root in there, and nobody here."""
        prefix = [*as_user(ALICE), "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
                  "--mount-proc"]
        script = self.image.app + "/workers.py"
        try:
            target = self.start_target(self.python, script, prefix=prefix)
        except AssertionError as error:
            if "unshare" in str(error) and "not permitted" in str(error):
                self.skipTest("this machine lets no user have a user namespace")
            raise
        self.assertEqual(open("/proc/%d/uid_map" % target.pid).read().split(), ["0", str(ALICE), "1"])
        self.assertEqual(target.hello["pid"], 1)
        session = self.attach(target, "--children", *STEP)
        pids = self.hire(target, "fork", 1)
        session.wait_for(lambda update: {target.pid, *pids} <= {
            one["process"]["pid"] for one in update["processes"] if one["state"] == "ACTIVE"})
        self.assertEqual(target.ask("work", N), ANSWER)
        target.ask("order", N)
        self.finish_clean(session, {pid: N for pid in (target.pid, *pids)}, target, *pids)
        self.assertEqual(target.ask("dismiss"), [0])
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_selected_by_what_is_seen_in_there(self):
        """The executable's path and the command line are those of the container."""
        target, other = self.start_inside(), self.start_target(script="workers.py")
        for selector in (("--exe", "its-own-python"), ("--exe", self.image.python.path),
                         ("--cmdline", "*%s/workers.py" % APP), ("--exe", "its-own-*", "--cmdline", "*workers*")):
            session = self.start_attach_by(*selector, *STEP)
            active = session.wait_active()
            self.assertEqual([one["process"]["pid"] for one in active["processes"]], [target.pid], selector)
            self.assertEqual((target.ask("work", N), other.ask("work", N)), (ANSWER, ANSWER))
            last = session.finish()
            self.assertEqual(self.calls_by_pid(last), {target.pid: N})
            self.assert_clean_proof(last)
        for one in (target, other):
            self.assert_all_clean(one)
            self.assert_ends_well(one)


@unittest.skipUnless(os.path.exists(RUNC), "runc is not installed")
class RuncTest(ContainerCase):
    def start_container(self, name, image=None):
        """A service with two workers, in there."""
        image = image or self.image
        container = Runc(image, name, image.python.path, "-B", "-u", image.script("workers.py"))
        self.addCleanup(container.clean_up)
        target = self.start_target(image.python, image.script("workers.py"), prefix=container.command())
        self.assertEqual(target.hello["pid"], 1)
        return target, self.hire(target, "fork", 2)

    def setUp(self):
        super().setUp()
        # Ids as container engines make them: the first 8 digits are common to both.
        self.names = ["%08x%056x" % (os.getpid(), n) for n in (0xa << 220, 0xb << 220)]

    @on_any_interpreter
    def test_its_processes_are_one_session(self):
        name = self.names[0]
        target, workers = self.start_container(name)
        outside = self.start_target(script="workers.py")
        pids = sorted([target.pid, *workers])
        for selector in (("--container", name[:12]), ("--container", name), ("--cgroup", "/" + name),
                         ("--exe", "its-own-python"), ("--cmdline", "*%s/workers.py" % APP),
                         ("--container", name[:12], "--exe", self.image.python.path)):
            session = self.start_attach_by(*selector, *STEP)
            active = session.wait_active()
            self.assertEqual(sorted(one["process"]["pid"] for one in active["processes"]), pids, selector)
            self.assertEqual((target.ask("work", N), outside.ask("work", N)), (ANSWER, ANSWER))
            self.assertEqual([answer for answer, _ in target.ask("order", N).values()], [ANSWER] * 2)
            last = session.finish()
            self.assertEqual(self.calls_by_pid(last), {pid: N for pid in pids}, selector)
            self.assertEqual(calls_by_name(last), {"step": 3 * N})
            self.assert_clean_proof(last)
        self.assert_all_clean(target, *workers)
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        for one in (target, outside):
            self.assert_ends_well(one)

    @on_any_interpreter
    def test_by_the_pid_that_it_has_here(self):
        self.try_pid(*self.start_container(self.names[0]))

    @each_with_own_root
    def test_another_system(self, python):
        self.try_pid(*self.start_container(self.names[0], Image(self.scratch, python)))

    def try_pid(self, target, workers):
        session = self.attach(target, "--children", *STEP, "--delay", "20us")
        new = self.hire(target, "exec", 1)
        pids = workers + new
        session.wait_for(lambda update: set(pids) <= {
            one["process"]["pid"] for one in update["processes"] if one["state"] == "ACTIVE"})
        target.ask("order", N)
        self.finish_clean(session, {pid: N for pid in pids}, target, *pids)
        self.assertEqual(target.ask("dismiss"), [0] * 3)
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_a_prefix_of_two(self):
        both = [self.start_container(name) for name in self.names]
        answer = self.daemon.ctl("attach", "--container", self.names[0][:8], *STEP)
        self.assert_refused(answer, PRECONDITION, "more than one", *self.names)
        session = self.start_attach_by("--container", self.names[1][:9], *STEP)
        active = session.wait_active()
        self.assertEqual(sorted(one["process"]["pid"] for one in active["processes"]),
                         sorted([both[1][0].pid, *both[1][1]]))
        self.assert_clean_proof(session.finish())
        for target, workers in both:
            self.assert_all_clean(target, *workers)
            self.assertEqual(target.ask("dismiss"), [0] * 2)
            self.assert_ends_well(target)


class DaemonInContainerTest(Case):
    """sbumpd in a pid namespace of its own: it sees what is in there, by the numbers of there."""

    @classmethod
    def setUpClass(cls):
        pass

    def run_inside(self, script, *names):
        """Other tests, with all that they start, in a pid namespace."""
        tests = os.path.dirname(os.path.realpath(__file__))  # a Bazel test sees only its own
        environment = {**os.environ, "SBUMP_PYTHONS": self.python.path}
        environment.pop("XML_OUTPUT_FILE", None)
        ended = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, script,
                                "-k", *names], cwd=tests, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                               preexec_fn=dies_with_parent(signal.SIGKILL))
        said = ended.stdout.decode(errors="replace")
        self.assertEqual(ended.returncode, 0, said[-6000:])
        self.assertIn("... ok", said)
        self.assertNotIn("skipped", said)

    @on_any_interpreter
    def test_children(self):
        self.run_inside("children_test.py", "forked_workers", "executed_workers", "becomes_another_program")

    @on_any_interpreter
    def test_sleep(self):
        self.run_inside("sleep_test.py", "dose_without_the_cpu", "several_threads")

    @on_any_interpreter
    def test_killed(self):
        self.run_inside("daemon_killed_test.py", "test_in_mid_hit")

    @on_any_interpreter
    def test_a_container_in_it(self):
        self.run_inside("containers_test.py", "an_interpreter_that_only_it_has", "its_children", "NamespacesTest.test_sleep")

    def assert_cannot_start(self, *words, prefix):
        ended = subprocess.run([*prefix, SBUMPD, "--listen", "unix:%s/s" % self.scratch, "--state-dir",
                                self.scratch + "/state"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                               preexec_fn=dies_with_parent(signal.SIGKILL))
        said = ended.stderr.decode() + ended.stdout.decode()
        self.assertEqual(ended.returncode, 1, said)
        for word in words:
            self.assertIn(word, said)

    @on_any_interpreter
    def test_with_the_proc_of_another_namespace(self):
        self.assert_cannot_start("/proc is that of another pid namespace", "--mount-proc",
                                 prefix=["unshare", "--pid", "--fork", "--kill-child"])

    @on_any_interpreter
    def test_with_a_clock_of_its_own(self):
        self.assert_cannot_start("time namespace",
                                 prefix=["unshare", "--time", "--monotonic", "1000", "--fork", "--kill-child"])

    @on_any_interpreter
    def test_in_a_user_namespace(self):
        """It starts, and says what it has no right to."""
        daemon = self.start_daemon(prefix=["unshare", "--user", "--map-root-user"])
        target = self.start_target(script="workers.py")
        answer = daemon.ctl("attach", "--pid", target.pid, *STEP)
        self.assertNotEqual(answer.code, 0)
        self.assertIn("CAP_", answer.err)
        self.assertEqual(target.ask("work", N), ANSWER)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
