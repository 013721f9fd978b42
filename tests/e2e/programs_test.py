"""What the kernel makes of the BPF programs."""
from harness import bpf_programs, traces
from harness.case import Case, each_mechanism, main

# `add %gs:ADDRESS, %r9`: the JIT's address of a stack that all threads on a processor share (arch/x86/net/bpf_jit_comp.c,
# emit_priv_frame_ptr(), 6.13 and later).
STACK_OF_PROCESSOR = b"\x65\x4c\x03\x0c\x25"


class ProgramsTest(Case):
    @each_mechanism
    def test_each_thread_has_its_own_stack(self, python):
        """A thread can be in a delay, in a hold or preempted while another one runs the same program there."""
        target = self.start_target(python, "native.py")
        session = self.attach(target, "--target", "*/native.py:step", "--native", "libc.so.6:getpid", "--mode", "sleep",
                              "--delay", "1ms", "-C")
        programs = bpf_programs.held_by([self.daemon.pid, *traces.children(self.daemon.pid)])
        names = {name for name, _ in programs}
        self.assertLessEqual({"sb_hit", "sb_native_hit", "sb_dealloc", "sb_fork"}, names)
        self.assertEqual([name for name, code in programs if not any(code)], [], "not readable")
        self.assertEqual([name for name, code in programs if STACK_OF_PROCESSOR in code], [])
        self.assert_clean_proof(session.finish())
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
