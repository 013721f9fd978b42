"""Interpreters whose file is gone, is another one by now, or has no section headers."""
import struct

from harness import interpreters, traces
from harness.case import Case, each_that_can_be_copied, each_with_library_beside, main
from harness.copies import Copy
from harness.session import calls_by_name


def of_another_version(python):
    """A file of the same kind: a library for a library."""
    others = [one for one in interpreters.supported() if one.version[:2] != python.version[:2] and
              (one.library == one.file) == (python.library == python.file)]
    return others[0].file if others else "/bin/true"


class CopyCase(Case):
    def start_copy(self, python, before=lambda file: None, library=None):
        self.copy = Copy(python, self.scratch, library)
        before(self.copy.file)
        target = self.copy.start()
        self.addCleanup(target.kill)
        return target

    def assert_counts_are_exact(self, target, daemon=None, during=lambda: None):
        answer = target.ask("run", 60, 4)
        target.ask("take_counts")
        session = self.attach(target, "--target", "*/calls.py:*", daemon=daemon)
        self.assertEqual(target.ask("run", 60, 4), answer)
        during()
        self.assertEqual(target.ask("run", 60, 4), answer)
        own = target.ask("take_counts")
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assertEqual(last["process"]["python_version"], ".".join(map(str, target.hello["version"])))
        calls = calls_by_name(last, target.file)
        self.assertEqual({name: calls.get(name, 0) for name in own}, own)
        self.assert_exact(last)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)


class ReplacedTest(CopyCase):
    @each_that_can_be_copied
    def test_deleted(self, python):
        target = self.start_copy(python)
        self.copy.delete()
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)

    @each_that_can_be_copied
    def test_replaced_by_another_version(self, python):
        target = self.start_copy(python)
        self.copy.replace_by(of_another_version(python))
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)

    @each_that_can_be_copied
    def test_replaced_in_mid_session(self, python):
        target = self.start_copy(python)
        self.assert_counts_are_exact(target, during=lambda: self.copy.replace_by(of_another_version(python)))
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)

    @each_that_can_be_copied
    def test_the_new_file_has_no_probe(self, python):
        """One process of the old file, one of the new: only the first is attached to."""
        target = self.start_copy(python)
        self.copy.replace_by(python.file)
        other = self.copy.start()
        self.addCleanup(other.kill)
        session = self.attach(target, "--target", "*/calls.py:add")
        changed = traces.changed_text(target.pid)
        self.assertEqual({path for path, _, _ in changed}, {self.copy.mapped_file + " (deleted)"})
        self.assertEqual(traces.changed_text(other.pid), [])
        other.ask("run", 10, 1)
        self.assertEqual(calls_by_name(session.finish()), {"add": 0})
        for one in (target, other):
            self.assert_nothing_left(one)
            self.assert_ends_well(one)

    @each_with_library_beside
    def test_libpython_replaced(self, python):
        target = self.start_copy(python, library=python.library)
        self.copy.replace_by(python.file)
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)

    def recover(self, python, change):
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target = self.start_copy(python)
        answer = target.ask("run", 60, 2)
        change(self.copy)
        session = self.attach(target, "--target", "*/calls.py:*", daemon=daemon)
        target.ask("run", 60, 2)
        daemon.kill()
        session.child.wait()
        self.eventually(lambda: traces.changed_text(target.pid) == [], 2, "the probes' end")
        self.assertTrue(target.ask("armed_code"), "there was nothing to clean up")
        daemon = self.start_daemon(state_dir=state_dir)
        self.assertEqual(daemon.journals(), [], daemon.log)
        self.assert_nothing_left(target, daemon, after_kill=True)
        self.assertEqual(target.ask("run", 60, 2), answer)
        self.assert_counts_are_exact(target, daemon)
        self.assert_ends_well(target)

    @each_that_can_be_copied
    def test_deleted_and_the_daemon_killed(self, python):
        self.recover(python, lambda copy: copy.delete())

    @each_that_can_be_copied
    def test_replaced_and_the_daemon_killed(self, python):
        self.recover(python, lambda copy: copy.replace_by(of_another_version(python)))


E_SHOFF, E_SHENTSIZE = 0x28, 0x3a


def strip_section_headers(path):
    """As `strip --strip-section-headers` of newer binutils: the loader needs none of them."""
    with open(path, "r+b") as file:
        file.seek(E_SHOFF)
        file.write(struct.pack("<Q", 0))
        file.seek(E_SHENTSIZE)
        file.write(struct.pack("<HHH", 0, 0, 0))  # their size, their number, the names' one


class HeaderlessTest(CopyCase):
    @each_that_can_be_copied
    def test_no_section_headers(self, python):
        """Nor a static symbol table, which only they lead to."""
        target = self.start_copy(python, strip_section_headers)
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)

    @each_with_library_beside
    def test_no_section_headers_in_a_libpython(self, python):
        target = self.start_copy(python, strip_section_headers, library=python.library)
        self.assert_counts_are_exact(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
