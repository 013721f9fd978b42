"""BPF programs as the kernel has compiled them (libbpf)."""
import ctypes
import os
import pathlib
import re
import struct

INFO_BYTES = 256
# Of struct bpf_prog_info (include/uapi/linux/bpf.h): jited_prog_len, jited_prog_insns, name.
LENGTH, CODE, NAME = (16, "I"), (24, "Q"), slice(64, 80)


def held_by(pids):
    """[(name, machine code)] of the programs that these processes have descriptors of, or of links to."""
    library = ctypes.CDLL("libbpf.so.1", use_errno=True)
    found = []
    for number in sorted(set().union(*map(_numbers, pids))):
        fd = library.bpf_prog_get_fd_by_id(number)
        if fd >= 0:  # else it is gone meanwhile
            found.append(_read(library, fd))
            os.close(fd)
    return found


def _numbers(pid):
    texts = [path.read_text() for path in pathlib.Path("/proc/%d/fdinfo" % pid).iterdir()]
    return {int(number) for text in texts for number in re.findall(r"^prog_id:\s*(\d+)$", text, re.M)}


def _ask(library, fd, length, code):
    info, size = ctypes.create_string_buffer(INFO_BYTES), ctypes.c_uint32(INFO_BYTES)
    struct.pack_into(LENGTH[1], info, LENGTH[0], length)
    struct.pack_into(CODE[1], info, CODE[0], code)
    if library.bpf_obj_get_info_by_fd(fd, info, ctypes.byref(size)) != 0:
        raise OSError(ctypes.get_errno(), "bpf_obj_get_info_by_fd")
    return info.raw


def _read(library, fd):
    info = _ask(library, fd, 0, 0)
    length, = struct.unpack_from(LENGTH[1], info, LENGTH[0])
    code = ctypes.create_string_buffer(length)
    _ask(library, fd, length, ctypes.addressof(code))
    return info[NAME].split(b"\0")[0].decode(), code.raw
