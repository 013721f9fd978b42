"""The root of the emulated machine: programs of this machine with the libraries they need, as an initramfs."""
import json
import os
import pathlib
import shutil
import subprocess

REPO = pathlib.Path(__file__).resolve().parent.parent.parent

# Of an interpreter's library: what no test needs, and most of its size.
LEFT_OUT = ("test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo", "site-packages", "dist-packages",
            "distutils", "config-3*", "*.opt-[12].pyc")
ASK = ("import json, sys, sysconfig; "
       "print(json.dumps([sys.executable, sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')]))")


def _libraries(path):
    """The shared libraries that a program or library needs, as paths; none for what is not dynamic."""
    answer = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    words = [word for line in answer.stdout.splitlines() for word in line.split()]
    return [word for word in words if word.startswith("/")]


class Image:
    def __init__(self, directory):
        self.root = pathlib.Path(directory)
        for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):  # Debian's merged /usr
            (self.root / name).symlink_to("usr/" + name)

    def add_file(self, path, as_path=None):
        to = self.root / str(as_path or path).lstrip("/")
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)

    def add_program(self, path, as_path=None):
        self.add_file(path, as_path)
        for library in _libraries(path):
            self.add_file(library)

    def add_tree(self, path, as_path=None, ignore=None):
        to = self.root / str(as_path or path).lstrip("/")
        shutil.copytree(path, to, ignore=ignore, symlinks=True, dirs_exist_ok=True)
        for library in to.rglob("*.so"):
            for needed in _libraries(library):
                self.add_file(needed)

    def add_launched_python(self, launcher, root):
        """One in a root of its own (tests/lib/debian_roots.sh), of which only `usr` is wanted. Returns as add_python."""
        self.add_program("/usr/bin/mount")
        self.add_file(launcher)
        usr = os.path.join(root, "usr")
        shutil.copytree(usr, str(self.root) + usr, ignore=shutil.ignore_patterns(*LEFT_OUT, "share", "include"), symlinks=True)
        for link in pathlib.Path(root).iterdir():
            if link.is_symlink():
                (self.root / str(link).lstrip("/")).symlink_to(os.readlink(link))
        return launcher

    def add_binds(self, root):
        """What a launcher binds there: the directories of this machine, as put_launcher() of tests/lib/debian_roots.sh has it."""
        own = ("etc", "usr", "var")
        names = [entry.name for entry in self.root.iterdir()
                 if entry.is_dir() and not entry.is_symlink() and entry.name not in own]
        (self.root / (root + ".fstab").lstrip("/")).write_text(
            "".join("/%s %s/%s none rbind,nofail,X-mount.mkdir\n" % (name, root, name) for name in names))

    def add_python(self, path):
        """Returns the path that it has there too."""
        answer = subprocess.run([path, "-I", "-S", "-c", ASK], stdout=subprocess.PIPE, check=True, timeout=60)
        executable, *libraries = json.loads(answer.stdout)
        self.add_program(executable)
        for library in sorted(set(libraries)):
            self.add_tree(library, ignore=shutil.ignore_patterns(*LEFT_OUT))
        return executable

    def add_tests(self):
        for name in ("tests/e2e", "tests/lib", "tests/kernels"):
            self.add_tree(REPO / name, "/sbump/" + name, shutil.ignore_patterns("__pycache__"))

    def add_init(self, path):
        self.add_program("/usr/bin/busybox")
        (self.root / "usr/bin/sh").symlink_to("busybox")
        self.add_file(path, "/init")

    def write(self, path):
        """Not compressed: an emulated processor would be long about it."""
        with open(path, "wb") as file:
            names = subprocess.Popen(["find", ".", "-mindepth", "1", "-print0"], cwd=self.root, stdout=subprocess.PIPE)
            subprocess.run(["cpio", "--quiet", "--null", "--create", "--format=newc", "--owner=0:0"], cwd=self.root,
                           stdin=names.stdout, stdout=file, check=True)
            names.stdout.close()
            if names.wait() != 0:
                raise OSError("find %s failed" % self.root)


def build(path, work, sbumpd, sbumpctl, pythons):
    """Writes the initramfs to `path`. `pythons`: (path, the root that it launches one in, or None); the first runs the tests."""
    image = Image(os.path.join(work, "root"))
    image.add_init(REPO / "tests/kernels/guest/init")
    image.add_program(sbumpd, "/sbump/sbumpd")
    image.add_program(sbumpctl, "/sbump/sbumpctl")
    for program in ("readelf", "unshare"):
        image.add_program("/usr/bin/" + program)
    paths = [image.add_launched_python(python, root) if root else image.add_python(python) for python, root in pythons]
    image.add_tests()
    for _, root in pythons:
        if root:
            image.add_binds(root)
    (image.root / "sbump/pythons").write_text(":".join(paths))
    image.write(path)
