"""The system calls of a daemon, as strace -f -ttt -y wrote them down, each with the phase that it belongs to."""
import collections
import re

CALLS = ("openat,pread64,pwrite64,process_vm_writev,ptrace,bpf,socketpair,sendmsg,recvmsg,fallocate,unlink,rename,mmap,"
         "munmap,close,fcntl,ioctl,clone3,exit,wait4,getdents64,sched_setscheduler,epoll_ctl,flock")
OPTIONS = ("-ttt", "-y", "-s", "16", "-e", "trace=" + CALLS)

Entry = collections.namedtuple("Entry", "thread call number phase")
_LINE = re.compile(r"^(?:(\d+) +)?\d+\.\d+ (\w+)\((.*)")


def read(path, begins_in):
    """Each call as it was entered; `number` counts the thread's calls of that name."""
    phases = Phases(begins_in)
    counts = collections.Counter()
    entries = []
    with open(path, errors="replace") as file:
        for line in file:
            match = _LINE.match(line)
            if not match:
                continue
            thread, call, rest = match.groups()
            counts[thread, call] += 1
            entries.append(Entry(thread, call, counts[thread, call], phases.of(call, rest)))
    return entries


class Phases:
    """Which phase a session is in, told by what it does."""

    def __init__(self, begins_in):
        self.phase = begins_in
        self.wrote = False  # anything about the process

    def of(self, call, rest):
        if self.phase in ("disarm", "restart"):
            return self.phase
        writes_journal = call == "pwrite64" and "/journal/" in rest
        self.wrote = self.wrote or (writes_journal and ('"arm' in rest or '"bump' in rest))
        # Let go without a change: it collected garbage, and is stopped again.
        again = self.phase == "hold" and not self.wrote and "PTRACE_SEIZE" in rest
        if (self.phase == "attach" or again) and call == "ptrace":
            self.phase = "walk"
        elif self.phase in ("walk", "arm") and writes_journal and '"bump' in rest:
            self.phase = "bump"
        elif self.phase == "walk" and writes_journal and '"arm' in rest:
            self.phase = "arm"
        elif self.phase in ("walk", "arm", "bump") and call == "ptrace" and "PTRACE_DETACH" in rest:
            phase, self.phase = self.phase, "hold"
            return phase
        # From 3.12 on most code is armed when it introduces itself, its thread held meanwhile.
        if self.phase == "hold" and call == "pwrite64" and ('"arm' in rest or "/mem>" in rest):
            return "arm"
        return self.phase


def points(entries):
    """phase -> [(call, number)] in the order of time: at which call a daemon can be killed in that phase. The first
    thread that gets to its `number`th `call` is the one that strace kills at."""
    met = set()
    of_phase = collections.defaultdict(list)
    for entry in entries:
        point = (entry.call, entry.number)
        if point not in met:
            met.add(point)
            of_phase[entry.phase].append(point)
    return of_phase


def phase_of_death(path, begins_in, call, number):
    """The phase in which a daemon died that was to be killed there. None: it never got there."""
    for entry in read(path, begins_in):
        if (entry.call, entry.number) == (call, number):
            return entry.phase
    return None


def that_come_back(points_of_phase):
    """Those of which another session has the like at the same place: of a call that was seldom made until then. How often
    memory was read before depends on what was there. All, where there are none."""
    return [point for point in points_of_phase if point[1] <= 40] or points_of_phase


def evenly(points_of_phase, i, count):
    """The `i`th of `count` that are spread from the first to the last; some come twice where they are fewer."""
    return points_of_phase[i * len(points_of_phase) // count]


def without_later(points_of_phase, never_met):
    """A session made fewer of these calls than the one that was looked at."""
    call, number = never_met
    return [point for point in points_of_phase if point[0] != call or point[1] < number]
