"""What a process costs, by the kernel's word."""
import os


def _status_kb(pid, name):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))


def resident_kb(pid):
    return _status_kb(pid, "VmRSS")


def peak_kb(pid):
    """The most that it ever had."""
    return _status_kb(pid, "VmHWM")


def burnt_ns(pid):
    """CPU time so far."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
