"""The base of the tests of functions outside Python."""
from harness import program
from harness.case import Case


def rows(update):
    return {row["qualname"]: row for row in update["targets"]}


class NativeCase(Case):
    def assert_nothing_left(self, target, **options):
        # The program cannot say which of its code objects are armed: it has none.
        super().assert_nothing_left(getattr(target, "pid", target) if isinstance(target, program.Program) else target,
                                    **options)
