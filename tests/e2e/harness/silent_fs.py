"""A FUSE file system with one file (by any name), whose content never comes: whoever reads a page of it waits.

The kernel's protocol (include/uapi/linux/fuse.h), as far as one file needs it. The end of the test ends it, and with it
every wait.
"""
import contextlib
import ctypes
import errno
import os
import struct
import subprocess
import threading

DEVICE = "/dev/fuse"
SIZE = 1 << 20
ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, BATCH_FORGET = (
    1, 2, 3, 14, 15, 18, 25, 26, 27, 29, 34, 42)
_libc = ctypes.CDLL(None, use_errno=True)


def is_possible():
    return os.access(DEVICE, os.R_OK | os.W_OK)


class SilentFs:
    def __init__(self, directory):
        self.directory = directory
        self.reads = 0  # that wait for ever
        self._ended = False
        os.makedirs(directory, exist_ok=True)
        self._device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self._device
        if _libc.mount(b"silent", directory.encode(), b"fuse.silent", 6, options) != 0:  # nosuid, nodev
            raise OSError(ctypes.get_errno(), "mount " + directory)
        threading.Thread(target=self._serve, daemon=True).start()

    def end(self):
        """May be called more than once."""
        if self._ended:
            return
        self._ended = True
        subprocess.run(["umount", "-f", "-l", self.directory], check=False)
        with contextlib.suppress(OSError):
            os.close(self._device)

    def _serve(self):
        with contextlib.suppress(OSError):  # it has ended
            while True:
                request = os.read(self._device, 1 << 18)
                _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                self._answer(opcode, unique, node)

    def _answer(self, opcode, unique, node):
        if opcode in (FORGET, BATCH_FORGET):
            return
        if opcode == READ:
            self.reads += 1
        elif opcode == INIT:
            self._reply(unique, struct.pack("<IIIIHHIIHHI", 7, 31, 1 << 17, 0, 16, 12, 1 << 17, 1, 32, 0, 0) + bytes(28))
        elif opcode == LOOKUP:
            self._reply(unique, struct.pack("<QQQQII", FILE, 1, 3600, 3600, 0, 0) + _attributes(FILE))
        elif opcode == GETATTR:
            self._reply(unique, struct.pack("<QII", 3600, 0, 0) + _attributes(node))
        elif opcode in (OPEN, OPENDIR):
            self._reply(unique, struct.pack("<QII", 1, 0, 0))
        elif opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
            self._reply(unique, b"")
        else:
            self._reply(unique, b"", errno.ENOSYS)

    def _reply(self, unique, body, error=0):
        os.write(self._device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)


def _attributes(node):
    mode, size = (0o40755, 0) if node == ROOT else (0o100755, SIZE)
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
