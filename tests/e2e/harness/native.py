"""The bases of the tests of functions outside Python."""
import os
import shutil
import tempfile

from harness import program
from harness.case import Case

LOCAL_WORK = "(anonymous namespace)::local_work(long)"  # of engine.cc


def rows(update):
    return {row["qualname"]: row for row in update["targets"]}


class NativeCase(Case):
    def assert_nothing_left(self, target, **options):
        # The program cannot say which of its code objects are armed: it has none.
        super().assert_nothing_left(getattr(target, "pid", target) if isinstance(target, program.Program) else target,
                                    **options)


class ProgramCase(NativeCase):
    """A process without Python."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.built = tempfile.mkdtemp(prefix="sbump-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.built)
        cls.library = program.build(cls.built)

    def setUp(self):
        super().setUp()
        self.engine = self.start_engine()

    def tearDown(self):
        if self.engine.alive():
            self.assert_ends_well(self.engine)
        super().tearDown()

    def start_engine(self):
        return self.start_program(os.path.join(self.built, "engine"))

    def start_program(self, *command):
        started = program.Program(*command)
        self.addCleanup(started.kill)
        return started

    def best(self, engine, name, count):
        """Nanoseconds of a call, as the quickest of ten times `count` calls: this machine does other things too."""
        return min(engine.ask("call", name, count) for _ in range(10)) / count

    def finish(self, session, code=0):
        last = session.finish()
        self.assertEqual(session.code, code, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.engine)
        self.assertEqual(last["times"]["stops"], 0)
        return rows(last)
