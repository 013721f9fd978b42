"""Other users of the machine: what they run, and what they may reach."""
import os
import shutil
import stat

from harness import daemon as daemons

# No user of this machine has them, and none needs to.
ALICE, BOB, GROUP = 61001, 61002, 61100


def as_user(uid, *groups):
    """Put before a command."""
    extra = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(uid), *extra]


def open_to_users(directory):
    """Everybody may reach what is in there; the client is copied in, from where they may not look."""
    os.chmod(directory, 0o755)
    client = shutil.copy(daemons.SBUMPCTL, directory + "/sbumpctl")
    os.chmod(client, 0o755)
    return client


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)
