#!/usr/bin/python3
"""Linux 6.1 refuses a loop that is closed by a plain instruction which runs on into the loop's first one (check_cfg in
kernel/bpf/verifier.c: such an edge is no jump): "back-edge from insn N to M". How the compiler lays out a loop is chance, and
tests/kernels/run, which would tell, is in no CI and loads no program of the graph."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

COMPILED = pathlib.Path(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "bpf")
JUMP = re.compile(r"goto ([+-]\d+)")


def programs(path):
    """Of an object: the functions' instructions, by number."""
    text = subprocess.run(["llvm-objdump-14", "-d", "--no-show-raw-insn", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    found, current = {}, None
    for line in text.splitlines():
        label = re.match(r"[0-9a-f]+ <(\w+)>:", line)
        instruction = re.match(r"\s+(\d+):\s+(.*)", line)
        if label and not label[1].startswith("LBB"):
            current = found.setdefault(label[1], {})
        elif instruction:
            current[int(instruction[1])] = instruction[2]
    return found


def edges(instructions):
    """Of each instruction where it leads to, and whether the verifier lets a loop be closed there. In its order."""
    numbers = sorted(instructions)
    following = dict(zip(numbers, numbers[1:]))
    found = {}
    for number, text in instructions.items():
        jump = JUMP.search(text)
        target = jump and number + 1 + int(jump[1])
        if text.startswith("exit"):
            found[number] = []
        elif text.startswith("goto"):
            found[number] = [(target, True)]
        elif jump:
            found[number] = [(following[number], True), (target, True)]
        else:
            found[number] = [(following[number], False)]
    return found


def refused(instructions):
    """The back-edges that it refuses, by the same depth-first walk."""
    leads_to, first = edges(instructions), min(instructions)
    found, seen, path = [], {first}, [(first, 0)]
    while path:
        number, tried = path.pop()
        if tried == len(leads_to[number]):
            continue
        path.append((number, tried + 1))
        target, may_close_loop = leads_to[number][tried]
        if target not in seen:
            seen.add(target)
            path.append((target, 0))
        elif not may_close_loop and any(target == one for one, _ in path):
            found.append("%d: %s -> %d: %s" % (number, instructions[number], target, instructions[target]))
    return found


class LoopsTest(unittest.TestCase):
    def test_what_is_refused(self):
        # An exit; a loop that a jump closes; one that an addition closes, which was entered by a jump.
        self.assertEqual(refused({0: "exit"}), [])
        self.assertEqual(refused({0: "r1 = 0", 1: "r1 += 1", 2: "if r1 < 5 goto -2 <LBB0_1>", 3: "exit"}), [])
        self.assertEqual(len(refused({0: "goto +1 <LBB0_2>", 1: "r1 += 1", 2: "if r1 > 5 goto +1 <LBB0_3>", 3: "goto -3 <LBB0_1>",
                                      4: "exit"})), 1)

    def test_all_programs(self):
        for name in ("frame_entry", "process_events"):
            found = programs(COMPILED / (name + ".bpf.o"))
            self.assertTrue(found)
            for program, instructions in found.items():
                self.assertEqual(refused(instructions), [], program)


if __name__ == "__main__":
    sys.exit(unittest.main())
