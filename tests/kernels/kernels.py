"""Starts Debian's kernels in an emulated machine and has guest/kernel_test.py tried on each. See README.md."""
import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import debian_kernel
import guest_image

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "e2e")]
from harness.child import dies_with_parent  # noqa: E402  (tests/e2e)
import interpreters  # noqa: E402  (tests/lib)
import support_table  # noqa: E402

# Debian's suite, and what sbump is to do there.
KERNELS = {"5.10": ("bullseye", "refused"), "6.1": ("bookworm", "works"), "6.12": ("trixie", "works")}
OWN_PYTHON = "/usr/bin/python3.11"  # runs the tests in there
FAILED, INCOMPLETE = 1, 3  # exit status
MEGABYTES = 2048


@dataclasses.dataclass
class Run:
    """What came of one kernel."""
    kernel: str
    release: str = ""
    seconds: float = 0
    why_skipped: str = ""
    why_broken: str = ""
    checks: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)

    @property
    def is_good(self):
        return not self.why_broken and all(one["outcome"] != "failed" for one in self.checks.values())

    @property
    def is_complete(self):
        return not self.why_skipped and all(one["outcome"] == "ok" for one in self.checks.values())

    def take(self, kind, fields):
        if kind == "KERNEL":
            self.release = fields["release"]
        elif kind == "RESULT":
            self.checks[fields["check"]] = fields
        elif kind != "END":
            self.notes.append((kind, fields))


class Machine:
    """qemu, its console on a pipe. Ends by itself, or at the limit.

    One processor, and without cmpxchg16b: QEMU 7.2 now and then spoils the flags around it, and a kernel that uses it
    for every allocation panics while it starts: Debian's 6.12 did in 5 of 48 starts on two processors and 1 of 28 on
    one, and without it in none of 20 on one.
    """

    def __init__(self, image, initrd, arguments):
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio", "-accel", "tcg",
             "-cpu", "max,-cx16", "-smp", "1", "-m", str(MEGABYTES), "-kernel", image, "-initrd", initrd,
             "-append", "console=ttyS0 quiet panic=-1 -- " + " ".join(arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=dies_with_parent(signal.SIGKILL))

    def lines(self, limit_seconds):
        timer = threading.Timer(limit_seconds, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                yield line.decode(errors="replace").rstrip("\r\n")
        finally:
            timer.cancel()
            self.process.kill()
            self.process.wait()


def read_console(run, lines, log):
    """What the tests say stands at the end of a line: the kernel may have begun one of its own."""
    last = ""
    has_ended = False
    for line in lines:
        log.write(line + "\n")
        log.flush()
        _, mark, rest = line.partition("SBUMP-KERNEL-")
        if not mark:
            last = line.strip() or last
            continue
        kind, _, text = rest.partition(" ")
        try:
            fields = json.loads(text)
        except ValueError:
            run.why_broken = "not understood: " + line[:200]
            return
        run.take(kind, fields)
        has_ended = has_ended or kind == "END"
        if kind == "RESULT":
            print("       %-9s %-44s %6.1f s" % (fields["outcome"], fields["check"], fields["seconds"]), flush=True)
    if not has_ended:
        run.why_broken = "the machine ended before its tests did; the last it said: " + last[-200:]
    elif not run.checks:
        run.why_broken = "no check ran"


def try_kernel(name, initrd, options):
    run = Run(name)
    suite, expected = KERNELS[name]
    begin = time.monotonic()
    try:
        kernel = debian_kernel.fetch(suite, os.path.join(options.cache, suite))
    except debian_kernel.Unavailable as error:
        run.why_skipped = str(error)
        return run
    print("       %s %s" % (kernel.package, kernel.version), flush=True)
    with open(os.path.join(options.logs, "kernel-%s.log" % name), "w", encoding="utf-8") as log:
        machine = Machine(kernel.image, initrd, [expected] + sum((["-k", word] for word in options.k), []))
        read_console(run, machine.lines(options.minutes * 60), log)
    run.seconds = time.monotonic() - begin
    return run


def print_table(runs):
    """Kernel by check."""
    names = sorted({name for run in runs for name in run.checks})
    width = max([len(name) for name in names] + [10])

    def print_row(first, cells):
        print(("%-*s" % (width, first) + "".join("  %-26s" % cell for cell in cells)).rstrip())

    print()
    print_row("check", [run.release or run.kernel for run in runs])
    for name in names:
        print_row(name, [run.checks[name]["outcome"] if name in run.checks else "-" for run in runs])
    print()
    for run in runs:
        for one in run.checks.values():
            if one["outcome"] != "ok":
                last = "\n".join("    " + line for line in one["text"].strip().splitlines()[-5:])
                print("%s on %s: %s\n%s" % (one["outcome"].upper(), run.release, one["check"], last))
        if run.why_skipped:
            print("skipped: kernel %s: %s" % (run.kernel, run.why_skipped))
        elif run.why_broken:
            print("FAILED: kernel %s: %s" % (run.kernel, run.why_broken))


def markdown(runs):
    """The README's table."""
    lines = ["| kernel | sbump | checks | with CPython |", "|---|---|---|---|"]
    for run in runs:
        expected = KERNELS[run.kernel][1] if run.is_good and not run.why_skipped else "did not do what it should"
        good = sum(one["outcome"] == "ok" for one in run.checks.values())
        count = "%d of %d passed" % (good, len(run.checks)) if run.checks else "not tried: " + run.why_skipped
        pythons = ", ".join(support_table.titles(run.checks))
        lines.append("| %s | %s | %s | %s |" % (run.release or run.kernel, expected, count, pythons))
    return "\n".join(lines) + "\n"


def root_of(python):
    """The root that the interpreter is launched in, or None where it is this machine's."""
    root = os.path.realpath(python.elf).removesuffix("/usr/bin/python3.%d" % python.version[1])
    return root if root and os.path.isdir(root) else None


def chosen_pythons(named):
    """(path, root), the one that runs the tests first: what is named, else one for each way of arming, and 3.14."""
    if not os.path.exists(OWN_PYTHON):
        sys.exit("%s runs the tests in the machine, and is not here (Debian 12 has it)" % OWN_PYTHON)
    found = {one.path: one for one in interpreters.find() if one.supported}
    by_mechanism = {}
    for path, one in found.items():
        by_mechanism.setdefault(max(one.version[1], 10), path)
    chosen = named or [path for minor, path in sorted(by_mechanism.items()) if minor != 11]
    return [(OWN_PYTHON, None)] + [(path, root_of(found[path])) for path in chosen if path != OWN_PYTHON]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/kernels/run", description=__doc__)
    parser.add_argument("--kernel", action="append", choices=list(KERNELS), help="may be repeated; all by default")
    parser.add_argument("--python", action="append", metavar="PATH",
                        help="targets beside Debian's 3.11; by default one for each way of arming")
    parser.add_argument("-k", action="append", default=[], metavar="WORD", help="only checks with it in their names")
    parser.add_argument("--cache", default="/var/tmp/sbump-kernels", help="where kernels are kept (%(default)s)")
    parser.add_argument("--logs", default="/var/tmp/sbump-kernels", metavar="DIR",
                        help="where kernel-VERSION.log goes (%(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="the README's table")
    parser.add_argument("--minutes", type=int, default=30, help="at most so long for a kernel (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="all results")
    return parser.parse_args()


def main():
    options = parse_arguments()
    os.makedirs(options.logs, exist_ok=True)
    work = tempfile.mkdtemp(prefix="sbump-kernels-", dir="/var/tmp")
    try:
        initrd = os.path.join(work, "initrd")
        guest_image.build(initrd, work, os.environ["SBUMPD"], os.environ["SBUMPCTL"],
                          chosen_pythons(options.python))
        runs = []
        for name in options.kernel or KERNELS:
            print("Kernel %s of Debian's %s: sbump %s there" % ((name,) + KERNELS[name]), flush=True)
            runs.append(try_kernel(name, initrd, options))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print_table(runs)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps([dataclasses.asdict(run) for run in runs], indent=1))
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(runs))
    if not all(run.is_good for run in runs):
        return FAILED
    return 0 if all(run.is_complete for run in runs) else INCOMPLETE


if __name__ == "__main__":
    sys.exit(main())
