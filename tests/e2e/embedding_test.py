"""Interpreters inside programs that are no Python: linked in, loaded later, several at once."""
from harness import embedding, interpreters, traces
from harness.case import Case, each_with_library, main
from harness.session import calls_by_name

UNSUPPORTED = 5


class EmbeddingTest(Case):
    def start_embedded(self, *arguments, **options):
        target = embedding.Embedded(*arguments, **options)
        self.addCleanup(target.kill)
        return target

    def start_loaded(self, python, script="calls.py"):
        return self.start_embedded(embedding.build(self.scratch), script, [(python.library, python.prefix)],
                                   prefix=python.among)

    def assert_counts_are_exact(self, target, python):
        answer = target.ask("run", 100, 8)
        target.ask("take_counts")
        session = self.attach(target, "--target", "*/calls.py:*")
        self.assertEqual(target.ask("run", 100, 8), answer)
        own = target.ask("take_counts")
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assertEqual(tuple(map(int, last["process"]["python_version"].split("."))), tuple(target.hello["version"]))
        self.assertEqual(target.hello["version"][:2], list(python.version[:2]))
        calls = calls_by_name(last, target.file)
        self.assertEqual({name: calls.get(name, 0) for name in own}, own)
        self.assert_exact(last)
        self.assertEqual(target.ask("run", 100, 8), answer)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_with_library
    def test_linked_with_libpython(self, python):
        program = embedding.build(self.scratch, linked_with=python)
        self.assert_counts_are_exact(self.start_embedded(program, "calls.py", env={"PYTHONHOME": python.prefix},
                                                         prefix=python.among), python)

    @each_with_library
    def test_libpython_that_is_loaded_later(self, python):
        self.assert_counts_are_exact(self.start_loaded(python), python)

    @each_with_library
    def test_dose(self, python):
        target = self.start_loaded(python, "steady.py")
        plain = sorted(target.ask("each", 300))[150]
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "200us")
        slowed = sorted(target.ask("each", 300))[150] - plain
        self.assertGreater(slowed, 195_000)
        self.assertLess(slowed, 240_000)
        last = session.finish()
        self.assertEqual([(row["calls"], row["delayed_calls"]) for row in last["targets"]], [(300, 300)])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


def libraries_of_this_machine():
    return [python for python in interpreters.supported() if python.library and not python.root]


def beside_the_newest_library(method):
    """The newest but one: the newest is in the same process."""
    method.pythons = lambda: libraries_of_this_machine()[-2:-1]
    return method


class SeveralTest(Case):
    def start_both(self, first, second, second_home):
        target = embedding.Embedded(embedding.build(self.scratch), "calls.py",
                                    [(first.library, first.prefix), (second.library, second_home)])
        self.addCleanup(target.kill)
        return target

    @beside_the_newest_library
    def test_two_that_run_are_refused(self, python):
        newest = libraries_of_this_machine()[-1]
        target = self.start_both(python, newest, newest.prefix)
        for command in ("attach", "match"):
            answer = self.daemon.ctl(command, "--pid", target.pid, "--target", "*:*")
            self.assert_refused(answer, UNSUPPORTED, target.pid, python.library, newest.library, "--native")
        self.assertEqual(traces.changed_text(target.pid), [])
        self.assertEqual(self.daemon.journals(), [])
        self.assert_ends_well(target)

    @beside_the_newest_library
    def test_one_that_was_never_started_is_passed_over_aloud(self, python):
        newest = libraries_of_this_machine()[-1]
        target = self.start_both(python, newest, embedding.NOT_STARTED)
        answer = target.ask("run", 20, 2)
        target.ask("take_counts")
        session = self.attach(target, "--target", "*/calls.py:*")
        self.assertEqual(target.ask("run", 20, 2), answer)
        own = target.ask("take_counts")
        last = session.finish()
        calls = calls_by_name(last, target.file)
        self.assertEqual({name: calls.get(name, 0) for name in own}, own)
        warnings = " ".join(sum((update.get("warnings", []) for update in session.updates), []))
        self.assertIn(newest.library, warnings)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
