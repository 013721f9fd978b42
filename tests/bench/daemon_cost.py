"""What the daemon itself takes: processor, memory, and its time for many processes."""
import contextlib
import glob
import os
import time

from rows import Row
from sessions import F_ONLY, Closable, attached, is_clean, started  # before the harness: it says where that is
from harness import traces
from harness.daemon import Daemon
from harness.session import Session

POOL_SECONDS = 5
HOUSE_PART, HOUSE_PAUSE_S = 128, 0.1  # as many as there may be would else need more than two processors


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes_of(daemon):
    """With sbump-links."""
    return [daemon.pid, *traces.children(daemon.pid)]


def cpu_seconds_of(daemon):
    return sum(map(cpu_seconds, processes_of(daemon)))


def memory_mb(daemon):
    """What its processes share counts once (Pss)."""
    kilobytes = 0
    for pid in processes_of(daemon):
        with open("/proc/%d/smaps_rollup" % pid) as file:
            kilobytes += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return kilobytes / 1024


def kernel_mb(daemon):
    """What the kernel has for its BPF maps and programs: no process's memory, and its cgroup's."""
    found = {}
    for path in glob.glob("/proc/%d/fdinfo/*" % daemon.pid):
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
            for kind in ("map_id", "prog_id"):
                if kind in fields and "memlock" in fields:  # not a link, which names its program
                    found[kind, fields[kind]] = int(fields["memlock"])
    return sum(found.values()) / (1 << 20)


def idle_cost(python, seconds):
    daemon = Daemon()
    with contextlib.closing(Closable(daemon)), started(python) as target:
        own_kernel = kernel_mb(daemon)
        with attached(daemon, target):
            before = cpu_seconds_of(daemon)
            target.ask("run", seconds)
            share = (cpu_seconds_of(daemon) - before) / seconds
            memory, kernel = memory_mb(daemon), kernel_mb(daemon) - own_kernel
    return [Row("daemon with one session: processor", "%.2f %% of a core" % (share * 100), "under 1 %", share < 0.01),
            Row("daemon with one session: memory", "%.0f MB" % memory, "under 60 MB", memory < 60),
            Row("daemon with one session: the kernel's memory for that session", "%.1f MB" % kernel)]


def running_cost(daemon, seconds):
    """Of the sessions that it has: its share of a core, its memory, the kernel's for it (MB)."""
    before = cpu_seconds_of(daemon)
    time.sleep(seconds)
    return (cpu_seconds_of(daemon) - before) / seconds, memory_mb(daemon), kernel_mb(daemon)


def pool_rows(name, active_s, aim_active_s, all_active, gone_s, cost):
    share, memory, kernel = cost
    return [Row(name + "all ACTIVE", "%.2f s" % active_s, "within %d s" % aim_active_s,
                all_active and active_s <= aim_active_s),
            Row(name + "all detached and proven", "%.2f s" % gone_s, "within 5 s, with `uprobe_multi`", gone_s <= 5),
            Row(name + "processor", "%.2f %% of a core" % (share * 100), "under 5 %", share < 0.05),
            Row(name + "memory", "%.0f MB" % memory, "under 100 MB", memory < 100),
            Row(name + "the kernel's memory for it", "%.0f MB" % kernel)]


def fork_pool(python, count, aim_active_s):
    """A service that forks its workers under a session that follows them."""
    daemon = Daemon()
    with contextlib.closing(Closable(daemon)), started(python) as target:
        with attached(daemon, target, "--children", "--max-processes", count + 1, "--delay", "10us") as session:
            begin = time.monotonic()
            target.ask("fork_pool", count)
            session.wait_for(lambda update: [one["state"] for one in update["processes"]].count("ACTIVE") > count, 60)
            active_s = time.monotonic() - begin
            cost = running_cost(daemon, POOL_SECONDS)
            begin = time.monotonic()
        gone_s = time.monotonic() - begin
        target.ask("end_pool")
    return pool_rows("a pool of %d workers that are forked at once: " % count, active_s, aim_active_s, True, gone_s, cost)


def selected_pool(python, count, aim_active_s):
    """The same workers, once they are there, without the service that forked them."""
    daemon = Daemon()
    with contextlib.closing(Closable(daemon)), started(python) as target:
        target.ask("fork_pool", count)
        begin = time.monotonic()
        with attached(daemon, None, "--cmdline", "*%s*" % target.file, "--max-processes", count + 1,
                      "--delay", "10us") as session:
            active_s = time.monotonic() - begin
            states = [one["state"] for one in session.updates[-1]["processes"]]
            cost = running_cost(daemon, POOL_SECONDS)
            begin = time.monotonic()
        gone_s = time.monotonic() - begin
        target.ask("end_pool")
    return pool_rows("%d processes that are selected: " % len(states), active_s, aim_active_s,
                     states == ["ACTIVE"] * (count + 1), gone_s, cost)


def full_house(python, count):
    """So many processes, in sessions of 128, and a daemon that is told to stop."""
    daemon = Daemon()
    with contextlib.ExitStack() as stack:
        stack.callback(daemon.clean_up)
        sessions = []
        for i, size in enumerate(min(HOUSE_PART, count - done) for done in range(0, count, HOUSE_PART)):
            target = stack.enter_context(started(python, "house%d" % i))
            target.ask("fork_pool", size - 1, HOUSE_PAUSE_S)
            stack.callback(target.ask, "end_pool")
            sessions.append(("*target.py house%d" % i, size))
        begin = time.monotonic()
        sessions = [(Session(daemon, "--cmdline", which, *F_ONLY, "--max-processes", size, "--delay", "10us"), size)
                    for which, size in sessions]
        for session, _ in sessions:
            stack.callback(session.kill)
            session.wait_active(120)
        active_s = time.monotonic() - begin
        complete = all([one["state"] for one in session.updates[-1]["processes"]] == ["ACTIVE"] * size
                       for session, size in sessions)
        cost = running_cost(daemon, POOL_SECONDS)
        begin = time.monotonic()
        status = daemon.stop(120)
        stopped_s = time.monotonic() - begin
        ended = [one for session, _ in sessions for one in session.wait_end()["processes"]]
        clean = all(map(is_clean, ended))
    share, memory, kernel = cost
    name = "%d processes in %d sessions: " % (count, len(sessions))
    return [Row(name + "all ACTIVE", "%.1f s" % active_s, met=complete,
                detail="ended: " + ", ".join(sorted({one["end"]["reason"] for one in ended})[:3])),
            Row(name + "processor", "%.1f %% of a core" % (share * 100)),
            Row(name + "memory", "%.0f MB" % memory),
            Row(name + "the kernel's memory for it", "%.0f MB" % kernel),
            Row(name + "a stop of the daemon (SIGTERM), each proven clean", "%.1f s" % stopped_s, "within 90 s",
                clean and status == 0 and stopped_s <= 90)]
