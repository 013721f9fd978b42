"""A service with workers: processes that it forks or executes, each of which counts its own calls."""
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import time

from protocol import armed_code, serve

PTRACE_TRACEME, PTRACE_DETACH = 0, 17  # ptrace(2)
CLONE_VM = 0x100  # clone(2)
calls = 0


def step(x):
    global calls
    calls += 1
    return x + 1


def work(n):
    return sum(step(i) for i in range(n))


# ---- What a worker answers, over a pipe: its pid first, then its answer and count, or what of it is armed ----

def worker(read, write):
    with os.fdopen(read) as orders, os.fdopen(write, "w") as answers:
        answers.write(json.dumps(os.getpid()) + "\n")
        answers.flush()
        for line in orders:
            answers.write(json.dumps(obey(*line.split())) + "\n")
            answers.flush()


def obey(order, *details):
    if order == "armed":
        return armed_code()
    if order == "spawn":
        return spawn(*details)
    return [work(int(order)), calls]


def spawn(path):
    """Its status. Until `path`, a FIFO, is opened for writing, it has this process's memory, and all of this waits (vfork)."""
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ,
                           file_actions=[(os.POSIX_SPAWN_OPEN, 0, path, os.O_RDONLY, 0)])
    return os.waitpid(child, 0)[1]


class Worker:
    def __init__(self, start):
        orders, self._to = os.pipe()
        self._from, answers = os.pipe()
        self.pid, self._end = start(orders, answers, (self._to, self._from))
        os.close(orders)
        os.close(answers)
        self._from = os.fdopen(self._from)

    def join(self):
        self.pid = json.loads(self._from.readline())  # not a shell's
        workers.append(self)
        return self.pid

    def tell(self, order):
        os.write(self._to, str(order).encode() + b"\n")

    def answer(self):
        return json.loads(self._from.readline())

    def ask(self, order):
        self.tell(order)
        return self.answer()

    def end(self):
        os.close(self._to)
        self._from.close()
        return self._end()


def forked(orders, answers, ours, at_once=0):
    """One that calls `step`, and libc's getppid, so many times before anything else."""
    child = os.fork()
    if child == 0:
        for i in range(at_once):
            step(i)
            os.getppid()
        status = 1
        try:
            for fd in ours:
                os.close(fd)
            for other in workers:
                os.close(other._to)
            worker(orders, answers)
            status = 0
        finally:
            os._exit(status)
    return child, lambda: os.waitpid(child, 0)[1]


def command_of(orders, answers):
    return [*launcher, os.path.abspath(__file__), "worker", str(orders), str(answers)]


def executed(orders, answers, ours, before=None):
    child = subprocess.Popen(command_of(orders, answers), pass_fds=(orders, answers), preexec_fn=before)
    return child.pid, child.wait


def forked_to_execute(orders, answers, ours, user=None):
    """A process of its own before it executes: `subprocess` shares its memory with the child until then (vfork)."""
    child = os.fork()
    if child == 0:
        if user is not None:
            os.setresuid(user, user, user)
        for fd in (orders, answers):
            os.set_inheritable(fd, True)
        command = command_of(orders, answers)
        os.execv(command[0], command)
    return child, lambda: os.waitpid(child, 0)[1]


def forked_eagerly(orders, answers, ours):
    return forked(orders, answers, ours, at_once=100)


starts = {"fork": forked, "fork eagerly": forked_eagerly, "exec": executed, "fork, exec": forked_to_execute}
workers = []
late = []
launcher = [sys.executable]


def hire(kind, count, *details):
    """Starts so many workers: their pids."""
    return [Worker(lambda *pipes: starts[kind](*pipes, *details)).join() for _ in range(count)]


def ptrace(request, pid):
    """Tried again while somebody else traces it."""
    end = time.monotonic() + 5
    while ctypes.CDLL(None, use_errno=True).ptrace(request, pid, None, None) != 0:
        if ctypes.get_errno() != errno.EPERM or time.monotonic() > end:
            raise OSError(ctypes.get_errno(), "ptrace")
        time.sleep(0.001)


def hire_late():
    """One that stands at the first instruction of its program, until `let_go`."""
    late.append(Worker(lambda *pipes: executed(*pipes, before=lambda: ptrace(PTRACE_TRACEME, 0))))
    _, status = os.waitpid(late[-1].pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    return late[-1].pid


def let_go():
    ptrace(PTRACE_DETACH, late[-1].pid)
    return late.pop().join()


def order(n):
    """Each worker's answer, and the calls that it has made in all."""
    return {str(one.pid): one.ask(n) for one in workers}


def armed_workers():
    return {str(one.pid): one.ask("armed") for one in workers}


def begin_spawn(path):
    workers[0].tell("spawn " + path)


def end_spawn():
    return workers[0].answer()


def dismiss():
    statuses = [one.end() for one in workers]
    workers.clear()
    return statuses


def dismiss_first(count):
    gone = workers[:count]
    del workers[:count]
    return [one.end() for one in gone]


def launch_by(*command):
    """What is executed from now on is executed by that, in place of this interpreter."""
    launcher[:] = command


def launch():
    """What is executed now, by itself: its pid."""
    launched.append(subprocess.Popen(launcher))
    return launched[-1].pid


def end_launched():
    launched[-1].kill()
    return launched.pop().wait()


def through_a_shell():
    """They are children of a shell, not of this process."""
    launch_by("/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable)


def become(*arguments):
    """This very process runs another program."""
    os.execv(launcher[0], [*launcher, os.path.abspath(__file__), *arguments])


def lend_memory():
    """A process that has this one's memory, also when this one executes another program, and does nothing: its pid."""
    libc = ctypes.CDLL(None)
    stack = ctypes.create_string_buffer(65536)
    lent.append(stack)
    return libc.clone(libc.pause, ctypes.c_void_p(ctypes.addressof(stack) + 65536 - 64), CLONE_VM | signal.SIGCHLD, None)


lent = []
launched = []


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        serve({"work": work, "hire": hire, "hire_late": hire_late, "let_go": let_go, "order": order,
               "armed_workers": armed_workers, "dismiss": dismiss, "dismiss_first": dismiss_first, "launch_by": launch_by,
               "launch": launch, "end_launched": end_launched,
               "through_a_shell": through_a_shell, "become": become, "lend_memory": lend_memory,
               "begin_spawn": begin_spawn, "end_spawn": end_spawn, "calls": lambda: calls})
