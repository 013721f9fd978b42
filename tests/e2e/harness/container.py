"""Processes that live elsewhere: below a root of their own, in namespaces of their own.

The root is an overlay in memory above this machine's root, or above another system's, with files that only it has. It
is mounted in a mount namespace of its processes, so nothing of it is left when they have ended.
"""
import json
import os
import shlex
import shutil
import subprocess
import tempfile

from harness.target import TARGETS

RUNC = "/usr/sbin/runc"
APP = "/opt/app"  # in there: the targets, and an interpreter of its own

MAKE_ROOT = """set -e
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
cp -a "$2/." "$1/upper"
mount -t overlay overlay -o "lowerdir=$3,upperdir=$1/upper,workdir=$1/work" "$1/root"
root=$1/root
shift 3
"""
ENTER_ROOT = """set -e
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
cd "$1"
shift
pivot_root . .
"$1" -c "import ctypes; assert ctypes.CDLL(None).umount2(b'.', 2) == 0"  # a small system has no umount
exec "$@"
"""


class Place:
    """Where a program of a container is, as that sees it."""

    def __init__(self, path):
        self.path = path


class Image:
    """What a container's root has beside the files of the system that it is of: the interpreter's."""

    def __init__(self, directory, interpreter):
        self.system = interpreter.root or "/"
        self.directory = tempfile.mkdtemp(dir=directory)
        os.chmod(self.directory, 0o755)
        self.app = self.directory + "/files" + APP
        shutil.copytree(TARGETS, self.app)
        if interpreter.root:
            self.python = Place(interpreter.file[len(interpreter.root):])
        else:
            shutil.copy(os.path.realpath(interpreter.path), self.app + "/its-own-python")
            self.python = Place(APP + "/its-own-python")

    def script(self, name):
        return "%s/%s" % (APP, name)

    def below_root(self, then):
        """The beginning of a command. Makes the root, and runs a line of the shell, in which it is $root."""
        layers = tempfile.mkdtemp(dir=self.directory)
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", MAKE_ROOT + then, "sh", layers,
                self.directory + "/files", self.system]

    def with_own_pids(self):
        """Put before a command: it becomes process 1 of a pid namespace, below the root."""
        return self.below_root("exec unshare --pid --fork --kill-child --mount /bin/sh -c %s sh \"$root\" \"$@\"" %
                               shlex.quote(ENTER_ROOT))


class Runc:
    """A container of an image, by runc. Its process speaks over the pipes of `runc run`."""

    def __init__(self, image, name, *command):
        self.image, self.name = image, name
        self.bundle = tempfile.mkdtemp(dir=image.directory)
        self.state = tempfile.mkdtemp(dir=image.directory)
        subprocess.run([RUNC, "spec", "--bundle", self.bundle], check=True)
        with open(self.bundle + "/config.json") as file:
            config = json.load(file)
        config["process"].update(terminal=False, args=list(command), rlimits=[])
        config["root"] = {"path": "root", "readonly": False}
        # runc cannot mount these on every machine, and nothing here needs them.
        config["mounts"] = [one for one in config["mounts"] if one["type"] not in ("sysfs", "cgroup")]
        with open(self.bundle + "/config.json", "w") as file:
            json.dump(config, file)

    def command(self):
        os.mkdir(self.bundle + "/root")
        run = "mount --bind \"$root\" %s/root && exec %s --root %s run --bundle %s %s" % (
            self.bundle, RUNC, self.state, self.bundle, self.name)
        return self.image.below_root(run)

    def clean_up(self):
        subprocess.run([RUNC, "--root", self.state, "delete", "--force", self.name], stderr=subprocess.DEVNULL)
