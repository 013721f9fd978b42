"""The daemon as systemd runs it, with the names that harness.daemon.Daemon has."""
import os
import subprocess

from harness.daemon import Served

NAME = "sbumpd.service"
DROP_INS = "/run/systemd/system/%s.d" % NAME


def systemctl(*arguments):
    ended = subprocess.run(["systemctl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90)
    if ended.returncode != 0:
        raise AssertionError("systemctl %s: %s\n%s" % (" ".join(arguments), ended.stdout.decode(), journal()))
    return ended.stdout.decode()


def journal(since=None):
    """The daemon's log."""
    ended = subprocess.run(["journalctl", "--no-pager", "-o", "cat", "-u", NAME, *(["--since", since] if since else [])],
                           stdout=subprocess.PIPE, timeout=30)
    return ended.stdout.decode(errors="replace")[-8000:]


class Unit(Served):
    endpoint = "unix:/run/sbumpd/sbumpd.sock"
    state_dir = "/run/sbumpd"

    def start(self):
        """Returns when the daemon has said that it is ready: Type=notify."""
        # Counts restarts from 0 again. (A unit that has not run is not known by that.)
        subprocess.run(["systemctl", "reset-failed", NAME], stderr=subprocess.DEVNULL, timeout=90)
        systemctl("start", NAME)
        self.note_own_kernel_objects()

    def stop(self):
        systemctl("stop", NAME)

    def value(self, name):
        return systemctl("show", "--value", "-p", name, NAME).strip()

    @property
    def pid(self):
        return int(self.value("MainPID"))

    def runs(self):
        return self.pid != 0

    @property
    def log(self):
        return journal()

    def drop_in(self, text):
        """Lines of [Service] that hold until the next boot; all of them are taken away by `no_drop_ins`."""
        os.makedirs(DROP_INS, exist_ok=True)
        with open("%s/%d.conf" % (DROP_INS, len(os.listdir(DROP_INS))), "w") as file:
            file.write("[Service]\n" + text)
        systemctl("daemon-reload")

    def no_drop_ins(self):
        if os.path.isdir(DROP_INS):
            for name in os.listdir(DROP_INS):
                os.unlink(os.path.join(DROP_INS, name))
            os.rmdir(DROP_INS)
            systemctl("daemon-reload")
