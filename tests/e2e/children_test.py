"""A process and all that it forks and executes, in one session."""
import os
import signal
import subprocess
import time

from harness.case import each_interpreter, each_mechanism, main
from harness.family import FamilyCase
from harness.quiet import judges_times
from harness.session import calls_by_name

N = 200
ANSWER = N * (N + 1) // 2
US = 1000
FIRST = "before its first call"
# One child after the other, each for a while, until its input ends.
STORM = """import os, select, sys, time
def step():
    return os.getpid()
living = []
print("forks", flush=True)
while not select.select([sys.stdin], [], [], 0.01)[0]:
    living.append(os.fork())
    if living[-1] == 0:
        step()
        time.sleep(0.4)
        os._exit(0)
    step()
    living = [one for one in living if os.waitpid(one, os.WNOHANG)[0] == 0]
for one in living:
    os.waitpid(one, 0)
"""


@judges_times
class ChildrenTest(FamilyCase):
    def try_workers(self, python, kind):
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        old = target.ask("hire", kind, 2)
        target.ask("order", N)
        session = self.follow(target, "--delay", "20us")
        self.wait_members(session, [target.pid, *old])
        new = target.ask("hire", kind, 3)
        how = "executed" if "exec" in kind else "forked"
        self.wait_members(session, new, how)
        before = {int(pid): calls for pid, (_, calls) in target.ask("order", 0).items()}
        answers = target.ask("order", N)
        self.assertEqual({answer for answer, _ in answers.values()}, {ANSWER})
        last = session.finish()
        self.assert_calls(last, {int(pid): calls - before[int(pid)] for pid, (_, calls) in answers.items()})
        members = self.members(last)
        self.assertEqual({members[pid]["joined"] for pid in old}, {""})
        self.assert_joined(members, new, how)
        for pid in [*old, *new]:
            self.assertGreaterEqual(members[pid]["injected_delay_ns"], N * 20 * US)
        self.assertEqual(sum(one["calls"] for one in last["patterns"]), N * 5)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, [*old, *new])
        self.assertEqual(target.ask("order", N)[str(new[0])][0], ANSWER)
        self.assertEqual(target.ask("dismiss"), [0] * 5)
        self.assert_ends_well(target)

    @each_interpreter
    def test_forked_workers(self, python):
        self.try_workers(python, "fork")

    @each_mechanism
    def test_workers_that_call_at_once(self, python):
        self.try_eager_workers(python)

    @each_mechanism
    def test_workers_that_call_native_functions_at_once(self, python):
        """What is found quickly keeps nobody from being held."""
        last, said = self.try_eager_workers(python, "--native", "libc.so.6:getppid")
        counted = {row["pid"]: row["calls"] for row in last["targets"] if row["qualname"] == "getppid"}
        self.assertEqual({pid: counted[pid] for pid in said}, dict.fromkeys(said, 100))

    def try_eager_workers(self, python, *natives):
        """What is said of when they were held is true; and most are held before their first call."""
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        session = self.follow(target, *natives)
        pids = []
        said_so = False
        while not said_so and len(pids) < 40:
            pids += [target.ask("hire", "fork eagerly", 1)[0] for _ in range(8)]
            members = self.members(self.wait_members(session, pids))
            said_so = any(members[pid]["joined"].endswith(FIRST) for pid in pids)
        made = {int(pid): calls - 3000 for pid, (_, calls) in target.ask("order", 0).items()}
        last = session.finish()
        counted = {row["pid"]: row["calls"] for row in last["targets"] if row["qualname"] == "step"}
        joined = {pid: one["joined"] for pid, one in self.members(last).items()}
        said = [pid for pid in pids if joined[pid].endswith(FIRST)]
        self.assertNotEqual(said, [], joined)
        self.assertEqual([counted[pid] for pid in said], [made[pid] for pid in said], joined)
        # The others ran for a moment. On a busy machine that can be long enough for a call.
        whole = [pid for pid in pids if counted.get(pid) == made[pid]]
        print("%d of %d said, %d whole" % (len(said), len(pids), len(whole)), end=" ")
        self.assertGreater(2 * len(whole), len(pids), (joined, counted))
        self.assert_clean_proof(last)
        self.assert_all_clean(target, pids)
        self.assertEqual(target.ask("dismiss"), [0] * len(pids))
        self.assert_ends_well(target)
        return last, said

    def test_a_child_that_comes_after_an_update_to_native_functions_alone(self):
        """Nothing of it needs a stop then: it does not stand still until one would end."""
        native = ("--native", "libc.so.6:getppid")
        target = self.start_target(script="workers.py")
        session = self.follow(target, *native, "--max-stop", "8s")
        answer = self.daemon.ctl("update", session.id, *native)
        self.assertEqual(answer.code, 0, answer)
        begin = time.monotonic()
        new = target.ask("hire", "fork", 1)
        self.assertLess(time.monotonic() - begin, 4)
        self.wait_members(session, new)
        self.assert_clean_proof(session.finish())
        self.assert_all_clean(target, new)
        self.assertEqual(target.ask("dismiss"), [0])
        self.assert_ends_well(target)

    @each_mechanism
    def test_executed_workers(self, python):
        self.try_workers(python, "exec")

    @each_mechanism
    def test_forked_workers_that_execute_at_once(self, python):
        """Attached twice: the new program while the links of the old one are still being closed."""
        self.try_workers(python, "fork, exec")

    def test_workers_of_a_shell(self):
        """What stands between is no Python."""
        target = self.start_target(script="workers.py")
        target.ask("through_a_shell")
        session = self.follow(target)
        new = target.ask("hire", "exec", 2)
        self.wait_members(session, new, "executed")
        target.ask("order", N)
        last = session.finish()
        self.assertLessEqual(set(new), set(self.members(last)))
        self.assertIn("processes without a Python interpreter", [one["reason"] for one in last["skipped"]])
        self.assert_clean_proof(last)
        self.assert_all_clean(target, new)
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        self.assert_ends_well(target)

    @each_mechanism
    def test_a_change_is_for_all_also_for_those_to_come(self, python):
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        first = target.ask("hire", "fork", 1)[0]
        session = self.follow(target, "--delay", "1us")
        answer = self.daemon.ctl("update", session.id, "--delay", "300us")
        self.assertEqual(answer.code, 0, answer)
        second = target.ask("hire", "fork", 1)[0]
        self.wait_members(session, [first, second])
        target.ask("order", N)
        last = session.finish()
        for pid in (first, second):
            self.assertGreaterEqual(self.members(last)[pid]["injected_delay_ns"], N * 300 * US)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, [first, second])
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        self.assert_ends_well(target)

    @each_mechanism
    def test_a_change_is_also_for_those_on_their_way(self, python):
        """One that is being attached when the others change."""
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        first = target.ask("hire", "fork", 1)[0]
        session = self.follow(target, "--delay", "1us")
        late = target.ask("hire_late")
        time.sleep(1)  # longer than a program may take to map a libpython, were it not stopped
        session.wait_for(lambda update: late in self.members(update))
        answer = self.daemon.ctl("update", session.id, "--delay", "300us")
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual(self.members(session.updates[-1])[late]["state"], "ATTACHING")
        self.assertEqual(target.ask("let_go"), late)
        self.wait_members(session, [first])
        self.wait_members(session, [late], "executed")
        seen = len(session.updates)  # it has caught up in the next one
        self.eventually(lambda: len(session.updates) > seen + 1, 10, "two updates")
        target.ask("order", N)
        last = session.finish()
        for pid in (first, late):
            self.assertGreaterEqual(self.members(last)[pid]["injected_delay_ns"], N * 300 * US)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, [first, late])
        self.assertEqual(target.ask("dismiss"), [0] * 2)
        self.assert_ends_well(target)

    @each_mechanism
    def test_what_is_forked_while_the_session_ends(self, python):
        """Copies of a process that is not disarmed yet: they are disarmed, too."""
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        session = self.follow(target, "--ttl", "1s")
        with self.daemon.standing_still():
            pids = target.ask("hire", "fork", 5)
            time.sleep(1)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "ttl over")
        self.assertEqual({pid: armed for pid, armed in target.ask("armed_workers").items() if armed}, {})
        self.assert_clean_proof(last)
        self.assert_all_clean(target, pids)
        self.assertEqual(target.ask("dismiss"), [0] * len(pids))
        self.assert_ends_well(target)

    def test_it_begins_though_the_process_forks_all_the_time(self):
        """Some child or other is always about to be attached to: none of these is waited for."""
        storm = self.write("storm.py", STORM)
        parent = subprocess.Popen([self.python.path, storm], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for clean_up in (parent.stdout.close, parent.stdin.close, parent.wait, parent.kill):
            self.addCleanup(clean_up)
        parent.stdout.readline()
        session = self.follow(parent.pid, "--target", "*/storm.py:step", "--max-processes", "256")
        self.assertLess(len(session.updates[-1]["processes"]), 150)
        parent.stdin.close()
        self.assertEqual(parent.wait(20), 0)
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "target exited")
        self.assert_clean_proof(last, verified=False)

    def test_more_children_than_the_most(self):
        target = self.start_target(script="workers.py")
        session = self.follow(target, "--max-processes", 2)
        target.ask("hire", "fork", 3)
        update = session.wait_for(lambda one: any(
            skipped["reason"] == "processes beyond the most (2 at once)" and int(skipped["count"]) == 2
            for skipped in one["skipped"]))
        self.assertEqual(len(update["processes"]), 2)
        last = session.finish()
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assertEqual(target.ask("dismiss"), [0] * 3)
        self.assert_ends_well(target)

    def test_the_session_goes_on_while_a_child_does(self):
        """A parent that is no Python, and ends before its child."""
        python = self.python
        script = self.write("late.py", "import time\ndef step(): pass\nend = time.time() + 3\n"
                                       "while time.time() < end:\n    step()\n    time.sleep(0.01)\n")
        shell = subprocess.Popen(["/bin/sh", "-c", "sleep 0.7; %s %s & sleep 0.2" % (python.path, script)])
        self.addCleanup(shell.wait)
        session = self.start_attach(shell.pid, "--children", "--target", "*/late.py:step")
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "target exited")
        self.assertGreater(calls_by_name(last)["step"], 100)

    def test_a_number_that_another_process_has_later(self):
        target = self.start_target(script="workers.py")
        session = self.follow(target)
        target.ask("launch_by", "/bin/sleep", "60")  # no Python: nothing of it is in the session but that it runs
        child = target.ask("launch")
        self.eventually(lambda: "without a Python interpreter" in str(session.updates[-1]["skipped"]), 10, "the child")
        self.daemon.child.send_signal(signal.SIGSTOP)
        self.assertEqual(target.ask("end_launched"), -signal.SIGKILL)
        later = self.start_with_number(child)
        self.assert_ends_well(target)
        self.daemon.child.send_signal(signal.SIGCONT)
        self.assertEqual(session.wait_end()["end"]["reason"], "target exited")
        self.assertIsNone(later.poll())

    def test_a_child_s_number_that_another_python_has_by_then(self):
        """Told of a fork late, the daemon must not take whoever has the number then."""
        target = self.start_target(script="workers.py")
        session = self.follow(target, "--target", "*/stranger.py:met")
        script = self.write("stranger.py", "import time\ndef met(): pass\nwhile True:\n    met()\n    time.sleep(0.01)\n")
        with self.daemon.standing_still():
            child = target.ask("launch")
            self.assertEqual(target.ask("end_launched"), -signal.SIGKILL)
            time.sleep(0.05)  # processes are told apart by when they began, in units of 10 ms
            self.start_with_number(child, self.python.path, script)
            time.sleep(0.5)  # it is a Python by now
        update = session.wait_for(lambda one: "processes that ended before they could be attached" in str(one["skipped"]))
        self.assertEqual([process["process"]["pid"] for process in update["processes"]], [target.pid])
        self.assertEqual(calls_by_name(session.finish()), {"step": 0})
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def start_with_number(self, pid, *command):
        """A process that runs with it, once it is free."""
        for _ in range(100):
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as last:
                last.write(str(pid - 1))
            process = subprocess.Popen(command or ["/bin/sleep", "60"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            if process.pid == pid:
                return process
        self.fail("no other process gets the number %d" % pid)

    @each_mechanism
    def test_a_process_that_becomes_another_program(self, python):
        target = self.start_target(python, "workers.py")
        target.ask("work", 3000)
        session = self.follow(target)
        target.send("become")
        target.answer()  # it says hello again
        update = session.wait_for(lambda one: any(
            process["joined"].startswith("executed; attached") and process["state"] == "ACTIVE"
            for process in one["processes"]))
        self.assertEqual([process["process"]["pid"] for process in update["processes"]], [target.pid] * 2)
        target.ask("work", N)
        last = session.finish()
        self.assertEqual(calls_by_name(last), {"step": N})
        # What the new program met at the probes of the old one says nothing of either.
        self.assert_exact(last)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_mechanism
    def test_memory_that_outlives_an_exec(self, python):
        """Another process has it, with what was armed there. The new program is another one all the same."""
        for followed in (False, True):
            with self.subTest(followed=followed):
                self.try_lent_memory(self.start_target(python, "workers.py"), followed)

    def try_lent_memory(self, target, followed):
        target.ask("work", 3000)
        session = self.attach(target, *["-C"] * followed, "--target", "*/workers.py:step")
        target.ask("work", N)
        lent_to = target.ask("lend_memory")
        self.addCleanup(os.kill, lent_to, signal.SIGKILL)
        target.send("become")
        target.answer()
        if followed:
            self.wait_members(session, [target.pid], "executed; attached")
        target.ask("work", N)
        last = session.finish() if followed else session.wait_end()
        ended = next(one for one in last["processes"] if not one["joined"])["end"]
        self.assertEqual(ended["reason"], "target called exec")
        self.assertFalse(ended["detach_proof"]["verified"])
        self.assertEqual(ended["detach_proof"]["detail"], "the process runs another program now (exec); "
                         "1 process that it forked disarmed, too")
        self.assertEqual(calls_by_name(last), {"step": N * (1 + followed)})
        self.assert_clean_proof(last, verified=followed)
        self.assert_all_clean(target, [target.pid, lent_to])
        self.assert_ends_well(target)

    def test_without_the_flag_children_are_left_alone(self):
        target = self.start_target(script="workers.py")
        session = self.attach(target, "--target", "*/workers.py:step")
        target.ask("hire", "fork", 1)
        target.ask("order", N)
        last = session.finish()
        self.assertEqual([one["process"]["pid"] for one in last["processes"]], [target.pid])
        self.assertEqual(calls_by_name(last).get("step", 0), 0)
        self.assertEqual(target.ask("dismiss"), [0])
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
