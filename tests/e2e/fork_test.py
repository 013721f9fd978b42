"""Children of a slowed process: other processes, at full speed, unharmed, with and after the session."""
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import traces
from harness.case import Case, each_interpreter, each_mechanism, main
from harness.session import calls_by_name
from harness.target import TARGETS

N = 200
ANSWER = N * (N + 1) // 2
MS = 1_000_000


class ForkTest(Case):
    @each_interpreter
    def test_fork_and_pools(self, python):
        target = self.start_target(python, "forks.py")
        target.ask("work", 3000)
        target.ask("take_calls")
        session = self.attach(target, "--target", "*/forks.py:step", "--delay", "500us")
        status, (child_answer, child_ns), (answer, ns) = target.ask("fork", N)
        self.assertEqual((status, child_answer, answer), (0, ANSWER, ANSWER))
        self.assertGreater(ns, N * 0.5 * MS)
        self.assertLess(child_ns, N * 0.25 * MS)
        self.assertEqual(target.ask("pool", N), [ANSWER] * 20)
        self.assertEqual(target.ask("spawned", N), ANSWER)
        target.ask("work", N)
        own = target.ask("take_calls")
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": own})
        self.assertEqual(own, 2 * N)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_children_have_no_probe_on_their_calls(self, python):
        """Not even while the session is on: every call of theirs would pay for it. Their first hit removes it.
        What remains are the rare sites (daemon/attach/uprobe_link.h), where code is born and where it dies, as long as
        no other session with the same interpreter's file ends: the kernel looks at all its processes then."""
        target = self.start_target(python, "forks.py")
        session = self.attach(target, "--target", "*/forks.py:step")
        target.ask("work", 3000)
        child = target.ask("fork_and_stay", N)
        in_target = set(traces.changed_text(target.pid))
        self.eventually(lambda: set(traces.changed_text(child)) < in_target, 5, "a probe less")
        last = session.finish()
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(target.ask("collect"), [0])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_mechanism
    def test_child_that_outlives_the_session(self, python):
        """Born while its parent is armed, it carries the marks and no probe, and works on."""
        target = self.start_target(python, "forks.py")
        target.ask("work", 3000)
        session = self.attach(target, "--target", "*/forks.py:*", "--delay", "10us")
        target.ask("work", N)
        child = target.ask("fork_and_stay", N)
        last = session.finish()
        time.sleep(0.1)
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(traces.trouble_of_threads(child), [])
        # It is a process like any other.
        of_child = self.attach(child, "--target", "*/forks.py:step")
        self.assertGreater(of_child.wait_calls(1000)["patterns"][0]["calls"], 999)
        self.assert_clean_proof(of_child.finish())
        self.assertEqual(traces.changed_text(child), [])
        self.assertEqual(target.ask("collect"), [0])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


# Forks a process that says, again and again, what of it is armed, until the test's files are gone. Then it ends, or drops
# what it had made.
FORKS_ONE = """import json, os, sys, time
from protocol import armed_code
made = {}
exec(compile("def born(x):\\n    return x + 1\\n", "born_1.py", "exec"), made)
def work():
    for i in range(3000):
        made["born"](i)
for turn in range(2):
    work()
    print(os.getpid(), flush=True)
    sys.stdin.readline()
if os.fork() != 0:
    if sys.argv[2] == "ends":
        os._exit(0)
    if sys.argv[2] == "executes":
        os.execv("/bin/cat", ["cat"])
    made.clear()
    print("dropped", flush=True)
    sys.exit(0 if sys.stdin.readline() else 1)
while os.path.exists(sys.argv[0]):
    try:
        with open(sys.argv[1] + ".new", "w") as file:
            json.dump([os.getpid(), armed_code()], file)
        os.rename(sys.argv[1] + ".new", sys.argv[1])
    except FileNotFoundError:
        break
    time.sleep(0.01)
"""


INT3 = b"\xcc"


def _waits_for_an_order(pid):
    return pathlib.Path("/proc/%d/wchan" % pid).read_text().endswith("pipe_read")


def _plant(pid, addresses):
    """Breakpoints that nothing must run into until they are taken away."""
    with open("/proc/%d/mem" % pid, "r+b", 0) as memory:
        for address in addresses:
            memory.seek(address)
            memory.write(INT3)


class CopiesTest(Case):
    """What is forked while its parent is armed has copies of the armed fields. They go when the parent's go."""

    def start_copies(self, python, daemon):
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        session = self.attach(target, "--target", "*/workers.py:*", daemon=daemon)
        target.ask("hire", "fork", 2)
        self.assertEqual([len(armed) > 1 for armed in target.ask("armed_workers").values()], [True] * 2)
        return target, session

    def assert_copies_work_disarmed(self, target):
        self.assertEqual(list(target.ask("armed_workers").values()), [[]] * 2)
        self.assertEqual([answer for answer, _ in target.ask("order", N).values()], [ANSWER] * 2)
        for pid in map(int, target.ask("order", 0)):
            self.assertEqual((traces.changed_text(pid), traces.trouble_of_threads(pid)), ([], []))
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        self.assert_ends_well(target)

    @each_interpreter
    def test_at_the_end(self, python):
        target, session = self.start_copies(python, self.daemon)
        last = session.finish()
        self.assert_clean_proof(last)
        self.assertIn("; 2 processes that it forked disarmed, too", last["end"]["detach_proof"]["detail"])
        self.assert_nothing_left(target)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_what_an_update_disarmed(self, python):
        target, session = self.start_copies(python, self.daemon)
        answer = self.daemon.ctl("update", session.id, "--target", "*/workers.py:hire")
        self.assertEqual(answer.code, 0, answer)
        self.assert_clean_proof(session.finish())
        self.assert_nothing_left(target)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_after_a_kill(self, python):
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target, _ = self.start_copies(python, daemon)
        daemon.kill()
        again = self.start_daemon(state_dir=state_dir)
        self.assertEqual(again.log.count("event=forked_copy_disarmed"), 2, again.log)
        self.assertEqual(again.journals(), [])
        self.assert_nothing_left(target, again)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_breakpoints_that_stayed_in_copies_alone(self, python):
        """As the kernel leaves them where the keeper of the probes is killed, too: it had got to the parent by then. Nothing
        of the session was armed yet."""
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        self.attach(target, "--target", "*:nothing", daemon=daemon)
        copies = target.ask("hire", "fork", 2)
        self.eventually(lambda: all(_waits_for_an_order(pid) for pid in copies), 10, "workers that wait")
        places = traces.changed_addresses(target.pid)
        self.assertTrue(places)
        keepers = traces.children(daemon.pid)
        daemon.kill()
        self.eventually(lambda: not any(map(traces.runs, keepers)), 10, "the keeper's end")
        for pid in copies:
            self.assertEqual(traces.changed_text(pid), [])
            _plant(pid, places)
        again = self.start_daemon(state_dir=state_dir)
        # Those of one: with them the kernel took the others' of the same places.
        self.assertIn("event=leaked_probes_removed", again.log)
        self.assertEqual(again.journals(), [])
        self.assert_nothing_left(target, again)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_breakpoints_that_the_daemons_own_keeper_left(self, python):
        """As above, but the daemon lives on until it has undone this."""
        daemon = self.start_daemon()
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        session = self.attach(target, "--target", "*:nothing", daemon=daemon)
        copies = target.ask("hire", "fork", 2)
        self.eventually(lambda: all(_waits_for_an_order(pid) for pid in copies), 10, "workers that wait")
        places = traces.changed_addresses(target.pid)
        keeper, = traces.children(daemon.pid)
        with daemon.standing_still():
            os.kill(keeper, signal.SIGKILL)
            self.eventually(lambda: not traces.runs(keeper), 10, "the keeper's end")
            for pid in [target.pid, *copies]:
                self.assertEqual(traces.changed_text(pid), [])
            for pid in copies:
                _plant(pid, places)
        session.finish()
        self.assertIn("event=leaked_probes_removed", daemon.log)
        self.assertEqual(daemon.journals(), [])
        self.assert_nothing_left(target, daemon)
        self.assert_copies_work_disarmed(target)

    def test_after_a_kill_and_an_exec(self):
        """The parent is no Python any more, and nothing is left to undo in it."""
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        parent, _ = self.start_parent(self.python, "executes", daemon)
        with daemon.standing_still():
            self.go_on(parent)
            pid = self.await_armed()
            self.eventually(lambda: os.readlink("/proc/%d/exe" % parent.pid).endswith("/cat"), 10, "exec")
            daemon.kill()
        again = self.start_daemon(state_dir=state_dir)
        self.eventually(lambda: self.said() == [pid, []], 5, "disarmed")
        self.assertEqual(traces.changed_text(pid), [])
        self.assertEqual(again.journals(), [])
        self.assertIsNone(parent.poll())

    def hold_a_copy(self, python, daemon):
        """Of two copies one is another session's when the parent's ends: target, the copy's pid, its session."""
        target, session = self.start_copies(python, daemon)
        held, other = target.ask("order", 0)
        of_copy = self.attach(int(held), "--target", "*/protocol.py:*", daemon=daemon)
        self.assert_clean_proof(session.finish())
        armed = target.ask("armed_workers")
        self.assertIn("/workers.py:", str(armed[held]))
        self.assertEqual(armed[other], [])
        kept, = [name for name in daemon.journals() if name.startswith("%d-" % target.pid)]
        self.assertIn(".aside-", kept)
        return target, held, of_copy

    @each_mechanism
    def test_of_another_session(self, python):
        daemon = self.start_daemon(state_dir=self.scratch + "/state")
        target, held, of_copy = self.hold_a_copy(python, daemon)
        # Meanwhile the parent is free.
        self.assert_clean_proof(self.attach(target, "--target", "*/workers.py:*", daemon=daemon).finish())
        self.assert_clean_proof(of_copy.finish())
        self.eventually(lambda: not daemon.journals(), 5, "looked at again, as the copy's session is over")
        self.assertIn("event=forked_copy_disarmed pid=%s" % held, daemon.log)
        self.assert_nothing_left(target, daemon)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_of_another_session_after_a_kill(self, python):
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target, held, _ = self.hold_a_copy(python, daemon)
        daemon.kill()
        again = self.start_daemon(state_dir=state_dir)
        self.assertEqual(again.journals(), [])
        self.assert_nothing_left(target, again)
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_of_another_session_at_the_daemons_end(self, python):
        daemon = self.start_daemon(state_dir=self.scratch + "/state")
        target, _, _ = self.hold_a_copy(python, daemon)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(daemon.journals(), [])
        self.assertEqual(traces.changed_text(target.pid), [])
        self.assert_copies_work_disarmed(target)

    @each_mechanism
    def test_workers_that_come_and_go_leave_no_journals(self, python):
        """A younger sibling has the same code armed, by its own session: that is no copy of the one that went."""
        daemon = self.start_daemon(state_dir=self.scratch + "/state")
        target = self.start_target(python, "workers.py")
        session = self.attach(target, "--target", "*/workers.py:*", "--children", daemon=daemon)
        for _ in range(3):
            followed = 1 + len(target.ask("hire", "fork", 4))
            session.wait_for(lambda update, n=followed: [one["state"] for one in update["processes"]].count("ACTIVE") == n)
            target.ask("order", N)
            for dismiss, left in ((("dismiss_first", 2), 2), (("dismiss",), 0)):
                self.assertEqual(target.ask(*dismiss), [0] * 2)
                self.eventually(lambda n=left: len(daemon.journals()) == 1 + n, 5, "no journal but of those that are left")
        last = session.finish()
        self.assert_clean_proof(last)
        self.assertEqual(daemon.journals(), [])
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)

    @each_mechanism
    def test_what_shares_the_memory_of_a_copy(self, python):
        """A vfork that has not executed yet is no copy: what is armed there is its parent's."""
        target, session = self.start_copies(python, self.daemon)
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        target.ask("work", 10)
        copy, = target.ask("hire", "fork", 1)
        of_copy = self.attach(copy, "--target", "*/workers.py:step")
        fifo = self.scratch + "/fifo"
        os.mkfifo(fifo)
        target.ask("begin_spawn", fifo)
        self.eventually(lambda: traces.children(copy), 10, "a vfork")
        try:
            self.assert_clean_proof(session.finish())
            sharing, = traces.children(copy)
            self.assertEqual(os.readlink("/proc/%d/exe" % sharing), os.readlink("/proc/%d/exe" % copy), "executed already")
        finally:
            open(fifo, "w", encoding="utf-8").close()
        self.assertEqual(target.ask("end_spawn"), 0)
        self.assertEqual(target.ask("order", N), {str(copy): [ANSWER, 3010 + N]})
        last = of_copy.finish()
        self.assertEqual(calls_by_name(last), {"step": N})
        self.assert_clean_proof(last)
        self.eventually(lambda: not self.daemon.journals(), 5, "looked at again, as the copy's session is over")
        self.assertEqual(target.ask("armed_workers"), {str(copy): []})
        self.assertEqual(target.ask("dismiss"), [0])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def start_parent(self, python, then, daemon=None):
        """Armed, and about to fork: its Popen, and the session."""
        parent = subprocess.Popen([python.path, self.write("forks_one.py", FORKS_ONE), self.scratch + "/armed", then],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env={**os.environ, "PYTHONPATH": str(TARGETS)})
        for clean_up in (parent.stdout.close, parent.stdin.close, parent.wait, parent.kill):
            self.addCleanup(clean_up)
        session = self.attach(int(parent.stdout.readline()), "--target", "born_1.py:born", daemon=daemon)
        self.go_on(parent)
        parent.stdout.readline()
        return parent, session

    def go_on(self, parent):
        parent.stdin.write(b"\n")
        parent.stdin.flush()

    def said(self):
        with open(self.scratch + "/armed", encoding="utf-8") as file:
            return json.load(file)

    def await_armed(self):
        """The pid of the forked process."""
        self.eventually(lambda: os.path.exists(self.scratch + "/armed"), 10, "the forked process")
        pid, armed = self.said()
        self.assertEqual(armed, ["born_1.py:born"])
        return pid

    @each_mechanism
    def test_what_its_parent_dropped(self, python):
        parent, session = self.start_parent(python, "drops")
        self.go_on(parent)
        self.assertEqual(parent.stdout.readline(), b"dropped\n")
        pid = self.await_armed()
        last = session.finish()
        self.assert_clean_proof(last)
        self.eventually(lambda: self.said() == [pid, []], 5, "disarmed")
        self.assertEqual(traces.changed_text(pid), [])
        self.go_on(parent)
        self.assertEqual(parent.wait(10), 0)

    @each_mechanism
    def test_after_a_kill_of_all_but_the_copy(self, python):
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        parent, _ = self.start_parent(python, "ends", daemon)
        with daemon.standing_still():
            self.go_on(parent)
            self.assertEqual(parent.wait(10), 0)
            pid = self.await_armed()
            daemon.kill()
        self.start_daemon(state_dir=state_dir)
        self.eventually(lambda: self.said() == [pid, []], 5, "disarmed")
        self.assertEqual(traces.changed_text(pid), [])


if __name__ == "__main__":
    main()
