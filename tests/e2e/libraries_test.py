"""Native functions of libraries that are hard to have: very large ones, and some that come late and cannot be had."""
import os
import subprocess
import time

from harness import costs, program, traces
from harness.case import Case, main

LARGE_BYTES = 300 << 20  # of what no processor executes: libraries for GPUs are like that
MANY = 200               # functions, more than one session takes
GCC = ("/usr/bin/gcc", "-O1", "-shared", "-fPIC", "-x")


class LibrariesTest(Case):
    def setUp(self):
        super().setUp()
        program.build(self.scratch)
        self.engine = program.Program(os.path.join(self.scratch, "engine"))
        self.addCleanup(self.engine.kill)

    def build(self, name, language, source):
        path = os.path.join(self.scratch, name)
        subprocess.run([*GCC, language, "-o", path, "-"], input=source.encode(), check=True)
        return path

    def load(self, path):
        self.assertEqual(self.engine.ask("load", path), 1)

    def assert_unharmed(self):
        self.assertEqual(traces.changed_text(self.engine.pid), [])
        self.engine.ask("call", "work", 5)

    def build_large(self):
        return self.build("liblarge.so", "assembler", """
            .text
            .globl work
            .type work, @function
        work:
            .cfi_startproc
            lea 1(%%rdi), %%rax
            ret
            .cfi_endproc
            .size work, . - work
            .section .note.GNU-stack, "", @progbits
            .section .fatbin, "a", @progbits
            .zero %d
        """ % LARGE_BYTES)

    def test_a_library_that_carries_hundreds_of_megabytes(self):
        library = self.build_large()
        self.assertGreater(os.path.getsize(library), LARGE_BYTES)
        self.load(library)
        session = self.attach(self.engine, "--native", library + ":work", "--delay", "1ms")
        begin = time.monotonic()
        self.engine.ask("call", "late", 40)
        self.assertGreater(time.monotonic() - begin, 0.04)
        last = session.finish()
        self.assertEqual([(row["qualname"], row["calls"]) for row in last["targets"]], [("work", 40)])
        self.assert_clean_proof(last)
        self.assertLess(costs.peak_kb(self.daemon.pid) << 10, LARGE_BYTES)
        self.assert_unharmed()

    def test_too_many_functions_that_come_late(self):
        """Said once, and not looked for all the time."""
        functions = "".join("long many_%d(long x) { return x + %d; }\n" % (i, i) for i in range(MANY))
        library = self.build("libmany.so", "c", "long work(long x) { return x + 1; }\n" + functions)
        session = self.attach(self.engine, "--native", library + ":*", "--interval", "50ms")
        self.load(library)
        warned = session.wait_for(lambda update: update["warnings"], 5)
        self.assertRegex(warned["warnings"][0], r"mapped later cannot be had.* mean \d+ functions; the most is 128")
        before = costs.burnt_ns(self.daemon.pid)
        time.sleep(3)
        self.assertLess(costs.burnt_ns(self.daemon.pid) - before, 1_000_000_000)
        last = session.finish()
        self.assert_clean_proof(last)
        self.assertEqual(self.daemon.log.count("native_targets_found_late"), 1)
        self.assert_unharmed()


if __name__ == "__main__":
    main()
