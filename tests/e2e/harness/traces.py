"""What a session may have left in or around a process, looked for without asking the daemon."""
import contextlib
import fcntl
import os
import pathlib

LOCKS = "/run/sbumpd/locks"
PAGE = 4096


def _mapped_text(pid):
    for line in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            begin, end = (int(address, 16) for address in fields[0].split("-"))
            yield "%x-%x" % (begin, end), begin, end - begin, int(fields[2], 16), fields[5]


def changed_text(pid):
    """Bytes of the executable mappings that differ from their files: [(file, offset, byte)]."""
    return [(path, offset, hex(byte)) for path, offset, byte, _ in _changed_bytes(pid)]


def changed_addresses(pid):
    """Where they are in the process."""
    return [address for _, _, _, address in _changed_bytes(pid)]


# Kept from one look to the next: of new ones each 4 KB would cost a page fault, more than all the rest. One thread looks.
_EXPECTED, _FOUND = bytearray(), bytearray()


def _fill(buffer, file, offset, size):
    """From `offset` on; returns how many bytes there were."""
    buffer.extend(bytes(max(0, size - len(buffer))))
    file.seek(offset)
    filled = 0
    while filled < size:
        count = file.readinto(memoryview(buffer)[filled:size])
        if not count:
            break
        filled += count
    return filled


def _changed_bytes(pid):
    changed = []
    with open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for name, begin, size, offset, path in _mapped_text(pid):
            # map_files opens what is mapped, whatever the path leads to by now.
            with open("/proc/%d/map_files/%s" % (pid, name), "rb", 0) as file:
                known = _fill(_EXPECTED, file, offset, size)
            found = _fill(_FOUND, memory, begin, known)
            # A few of millions: in which pages they are is quickly told.
            pages = [slice(page, min(page + PAGE, found)) for page in range(0, found, PAGE)]
            changed += [(path, offset + i, _FOUND[i], begin + i) for page in pages if _FOUND[page] != _EXPECTED[page]
                        for i in range(page.start, page.stop) if _FOUND[i] != _EXPECTED[i]]
    return changed


def kernel_objects(pid):
    """The BPF and perf files that a daemon still holds, or the process that keeps its probes."""
    found = []
    for process in [pid] + children(pid):
        directory = "/proc/%d/fd" % process
        for fd in os.listdir(directory):
            try:
                what = os.readlink(os.path.join(directory, fd))
            except FileNotFoundError:
                continue
            if "bpf" in what or "perf_event" in what:
                found.append(what)
    return sorted(found)


def runs(pid):
    """Whether any thread is left. One whose parent has yet to take note of its end has none."""
    try:
        stats = [path.read_text() for path in pathlib.Path("/proc/%d/task" % pid).glob("*/stat")]
        return any(stat.rpartition(")")[2].split()[0] not in "ZX" for stat in stats)
    except (FileNotFoundError, ProcessLookupError):
        return os.path.exists("/proc/%d" % pid)  # a thread ended as we looked


def main_thread_runs(pid):
    """False for a process that was ended, though one of its threads may wait for what never comes."""
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    found = []
    for thread in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found += map(int, thread.read_text().split())
    return found


def seen_from_here(starter, own_number):
    """The pid of that process, or of one that descends from it, which has that number in its own pid namespace."""
    waiting = [starter]
    while waiting:
        pid = waiting.pop(0)
        numbers = pathlib.Path("/proc/%d/status" % pid).read_text().partition("\nNSpid:")[2].splitlines()[0].split()
        if int(numbers[-1]) == own_number:
            return pid
        waiting += children(pid)
    raise AssertionError("no process below %d has the number %d in its pid namespace" % (starter, own_number))


def trouble_of_threads(pid):
    """Threads that are traced or stopped."""
    found = []
    for thread in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            status = dict(line.split(":", 1) for line in (thread / "status").read_text().splitlines() if ":" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(status["TracerPid"]) != 0 or status["State"].strip()[0] in "tT":
            found.append("thread %s: state %s, traced by %s" % (
                thread.name, status["State"].strip(), status["TracerPid"].strip()))
    return found


def all_threads_stopped(pid):
    """By a signal (state T)."""
    try:
        return all((thread / "stat").read_text().rpartition(")")[2].split()[0] == "T"
                   for thread in pathlib.Path("/proc/%d/task" % pid).iterdir())
    except (FileNotFoundError, ProcessLookupError):  # of a thread that ended: look again
        return False


def blocks(pid, signal_number):
    """Whether its first thread takes that signal by its own means (signalfd): the signal does not end it."""
    status = pathlib.Path("/proc/%d/status" % pid).read_text()
    mask = int(status.partition("\nSigBlk:")[2].split()[0], 16)
    return mask & (1 << (signal_number - 1)) != 0


def waits_of_threads(pid):
    """Name, state and place in the kernel of each thread, for people."""
    found = []
    for thread in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
            found.append("%s %s %s %s" % (thread.name, (thread / "comm").read_text().strip(), state,
                                          (thread / "wchan").read_text().strip()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def stuck_threads(pid):
    """Threads that a signal does not reach (state D), now. Disks have such moments: to be looked at repeatedly."""
    found = []
    for thread in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] == "D":
                found.append(int(thread.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def are_all_traced(pid, tracer):
    for thread in pathlib.Path("/proc/%d/task" % pid).iterdir():
        try:
            if "TracerPid:\t%d\n" % tracer not in (thread / "status").read_text():
                return False
        except (FileNotFoundError, ProcessLookupError):
            continue
    return True


def locks(pid, ticks=None):
    """Lock files that name the process, by its pid and start time."""
    return [name for name in _lock_files() if name == "%d-%d" % (pid, ticks or start_ticks(pid))]


def held_locks(pid):
    return [name for name in locks(pid) if _is_held(os.path.join(LOCKS, name))]


def state(pid):
    """Of its first thread: R, S, D, T (stopped), t (traced), Z."""
    return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0]


def start_ticks(pid):
    """0 where there is no such process any more."""
    try:
        return int(pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _lock_files():
    try:
        return os.listdir(LOCKS)
    except FileNotFoundError:
        return []


def _is_held(path):
    try:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except FileNotFoundError:  # removed since it was listed
        return False
