"""A kernel of Debian, from the mirror that this machine's apt uses, checked by apt against Debian's signature.

With lists and a cache of its own: what the machine's apt knows stays as it is.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
META = "linux-image-cloud-amd64"  # depends on the newest of the suite; half as large as linux-image-amd64


class Unavailable(Exception):
    """The mirror does not give it; why, in one line."""


@dataclasses.dataclass
class Kernel:
    package: str
    version: str
    image: str


def mirror():
    """$SBUMP_DEBIAN_MIRROR, else Debian's own as this machine has it."""
    if os.environ.get("SBUMP_DEBIAN_MIRROR"):
        return os.environ["SBUMP_DEBIAN_MIRROR"]
    answer = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI)", "Created-By: Packages",
                             "Origin: Debian", "Component: main"], stdout=subprocess.PIPE, text=True)
    for line in answer.stdout.splitlines():
        uri = line.split()[-1].rstrip("/")
        if uri.endswith("/debian"):
            return uri
    return "http://deb.debian.org/debian"


class Apt:
    def __init__(self, directory, suite):
        self.directory = pathlib.Path(directory).absolute()
        for name in ("lists/partial", "cache/archives/partial"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "sources.list").write_text(
            "deb [arch=amd64 signed-by=%s] %s %s main\n" % (KEYRING, mirror(), suite))
        (self.directory / "apt.conf").write_text("".join('%s "%s";\n' % option for option in [
            ("Dir::Etc::SourceList", self.directory / "sources.list"),
            ("Dir::Etc::SourceParts", "/dev/null"),
            ("Dir::Etc::Preferences", "/dev/null"),
            ("Dir::Etc::PreferencesParts", "/dev/null"),
            ("Dir::State::Lists", self.directory / "lists"),
            ("Dir::Cache", self.directory / "cache"),
            ("Acquire::Languages", "none"),
            ("Acquire::Retries", "2"),
            ("Acquire::http::Timeout", "30"),
            # An archived suite's Release file is valid no longer, and signed all the same.
            ("Acquire::Check-Valid-Until", "false"),
            ("APT::Sandbox::User", "root"),
        ]))

    def run(self, *command, seconds=300):
        try:
            answer = subprocess.run(
                command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=seconds, env={**os.environ, "APT_CONFIG": str(self.directory / "apt.conf")})
        except subprocess.TimeoutExpired:
            raise Unavailable("%s: no end after %d s" % (command[0], seconds)) from None
        if answer.returncode != 0:
            # The first message has the cause, the last one says that there was one.
            why = (answer.stderr.strip().splitlines() or ["no message"])[0]
            raise Unavailable("%s: %s" % (command[0], why))
        return answer.stdout


def _field(text, name):
    found = re.search("^%s: (.*)$" % name, text, re.MULTILINE)
    if not found:
        raise Unavailable("%s has no field %s" % (META, name))
    return found[1]


def fetch(suite, directory):
    """The suite's kernel, unpacked into `directory`."""
    apt = Apt(directory, suite)
    apt.run("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
    depends = _field(apt.run("apt-cache", "--no-all-versions", "show", META), "Depends")
    package = depends.split()[0]
    version = _field(apt.run("apt-cache", "--no-all-versions", "show", package), "Version")
    archive = apt.directory / ("%s_%s_amd64.deb" % (package, version))
    for old in apt.directory.glob("linux-image-*.deb"):
        if old != archive:
            old.unlink()
    apt.run("apt-get", "-qq", "download", "%s=%s" % (package, version))
    unpacked = apt.directory / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    subprocess.run(["dpkg-deb", "--extract", archive, unpacked], check=True)
    [image] = (unpacked / "boot").glob("vmlinuz-*")
    return Kernel(package, version, str(image))
