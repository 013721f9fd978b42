"""Where calls of objects with a __call__ in Python begin (slot_tp_call): an offset in the interpreter's file."""
import ctypes


class Callable:
    def __call__(self):
        pass


TP_CALL = 128  # Include/cpython/object.h, PyTypeObject
address = ctypes.c_uint64.from_address(id(Callable) + TP_CALL).value
with open("/proc/self/maps") as maps:
    for line in maps:
        words = line.split()
        begin, end = (int(one, 16) for one in words[0].split("-"))
        if begin <= address < end:
            print(address - begin + int(words[2], 16))
