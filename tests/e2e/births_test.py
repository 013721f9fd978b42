"""Code that comes into being, and goes, while a session is on."""
import os
import signal
import time

from harness import interpreters
from harness.case import Case, each_interpreter, each_mechanism, main
from harness.session import calls_by_name

MODULE = """
seen = []

class Shape{i}:
    def __init__(self, side):
        seen.append("Shape{i}.__init__")
        self.side = side

    def area(self):
        seen.append("Shape{i}.area")
        return self.side ** 2

def helper(x):
    seen.append("helper")
    return x + {i}

def items(n):
    seen.append("items")
    yield from range(n)

def run():
    seen.append("run")
    return sum(helper(x) for x in items(5)) + Shape{i}(3).area()
"""


class BirthsTest(Case):
    def finish(self, session, target):
        last = super().finish(session, target)
        self.assert_exact(last)
        return last

    @each_interpreter
    def test_born_later_counts_from_the_first_call(self, python):
        """Once, a few times, past 3.11's warm-up of 8 and past 3.8's of 1024."""
        target = self.start_target(python, "births.py")
        answers = {n: target.ask("born", "control.py", n) for n in (1, 7, 20, 3000)}
        session = self.attach(target, "--target", "born_*.py:*")
        own = {}
        for n, expected in answers.items():
            name = "born_%d.py" % n
            answer, own[name] = target.ask("born", name, n)
            self.assertEqual([answer, own[name]], expected)
        last = self.finish(session, target)
        for name, counts in own.items():
            calls = calls_by_name(last, name)
            self.assertEqual({one: calls.get(one, 0) for one in counts}, counts, name)
            self.assertEqual(calls["<module>"], 1)

    def test_more_names_than_the_programs_can_know(self):
        """The daemon is asked for each code object then. An update to few, and back, too."""
        others = ["nowhere.py:f%d" % i for i in range(17_000)]
        many = self.write("many", "\n".join(["born_*.py:plain", *others]))
        target = self.start_target(script="births.py")
        session = self.attach(target, "--paths-only", "--targets", many)
        own = {}
        for number, patterns in enumerate((["--target", "born_*.py:plain"], ["--paths-only", "--targets", many], [])):
            name = "born_%d.py" % number
            own[name] = target.ask("born", name, 100)[1]["plain"]
            if patterns:
                answer = self.daemon.ctl("update", session.id, *patterns)
                self.assertEqual(answer.code, 0, answer)
        last = self.finish(session, target)
        self.assertEqual({name: calls_by_name(last, name)["plain"] for name in own}, own)

    @each_interpreter
    def test_born_later_is_delayed_from_the_first_call(self, python):
        target = self.start_target(python, "births.py")
        session = self.attach(target, "--target", "born_*.py:plain", "--delay", "1ms")
        _, own = target.ask("born", "born_a.py", 30)
        last = self.finish(session, target)
        [row] = last["targets"]
        self.assertEqual((row["calls"], own["plain"]), (30, 30))
        missed = sum(one["count"] for one in last["skipped"] if "undelayed" in one["reason"])
        self.assertGreaterEqual(row["delayed_calls"] + missed, 30)  # a hold that came too late is said
        self.assertGreaterEqual(row["delayed_calls"], 29)

    @each_mechanism
    def test_answers_that_come_too_late_are_owned_up_to(self, python):
        """A daemon that is slow, or waits for its disk: nobody waits for it for long, and no call is lost unsaid."""
        self.answer_too_late(python)

    @each_mechanism
    def test_answers_that_were_begun_in_time_and_end_too_late(self, python):
        """Nobody asks for the module's names first: the function itself is what the daemon is at."""
        self.answer_too_late(python, "--paths-only")

    def test_answers_before_all_is_written(self):
        """A journal that takes longer than a held thread is written for, and less than it waits."""
        skipped = self.answer_too_late(interpreters.any_supported(), "--paths-only", slow=("pwrite64", "delay_enter=30ms"))
        self.assertIn("the daemon answered too late: a first call went on undelayed", [one["reason"] for one in skipped])

    def answer_too_late(self, python, *arguments, slow=("pread64", "delay_enter=60ms")):
        daemon = self.start_daemon()
        target = self.start_target(python, "births.py")
        expected, _ = target.ask("born", "other.py", 1500)
        session = self.attach(target, *arguments, "--target", "born_*.py:plain", daemon=daemon)
        tracer = self.inject(daemon, *slow)
        begin = time.monotonic()
        answer, own = target.ask("born", "born_a.py", 1500)
        self.assertEqual((answer, own["plain"]), (expected, 1500))
        self.assertLess(time.monotonic() - begin, 2)
        tracer.process.terminate()
        tracer.wait(10)
        last = session.finish()
        calls = calls_by_name(last).get("plain", 0)
        self.assertGreater(last["times"]["hold_timeouts"], 0)
        self.assertLessEqual(calls, 1500)
        missed = last["missed_calls"] + sum(row["missed_calls"] for row in last["targets"])
        if calls < 1500:  # all counted, and one told as missed: its count was written as its thread was given up
            self.assertGreater(missed, 0)
        self.assertEqual(last["inexact"], missed != 0)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)
        return last["skipped"]

    @each_mechanism
    def test_a_stopped_daemon_is_not_waited_for(self, python):
        target = self.start_target(python, "births.py")
        begin = time.monotonic()
        expected = [target.ask("born", "control_%d.py" % i, 20) for i in range(50)]
        alone = time.monotonic() - begin
        daemon = self.start_daemon()
        session = self.attach(target, "--target", "born_*.py:*", daemon=daemon)
        with daemon.standing_still():
            begin = time.monotonic()
            self.assertEqual([target.ask("born", "born_%d.py" % i, 20) for i in range(50)], expected)
            beside = time.monotonic() - begin
        last = session.finish()
        self.assertLess(beside, 10 * alone + 1)  # 500 code objects at 50 ms each would be 25 s
        self.assertTrue(last["inexact"])
        self.assertGreater(last["times"]["hold_timeouts"], 0)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)

    @each_mechanism
    def test_expressions_are_not_waited_for(self, python):
        """Their code is named as a module's is, of which the daemon wants to know. (Before 3.11 it is looked at where
        a pattern takes its file: it tells the qualnames of what it encloses.)"""
        for target_pattern in ("app.engine:step", "*/engine.py:step", "*:step")[:3 if python.version[1] > 10 else 2]:
            target = self.start_target(python, "births.py")
            session = self.attach(target, "--target", target_pattern)
            self.assertEqual(target.ask("evaluate", 500), 1000)
            self.assertLess(int(session.finish()["times"]["holds"]), 20, target_pattern)
            self.assert_ends_well(target)

    def test_what_it_was_late_for_is_looked_at_by_and_by(self):
        """6,000 code objects, by a daemon for which each read takes some 0.2 ms: half a minute in all. No stop is for
        that long, and the session can be ended meanwhile."""
        daemon = self.start_daemon(state_dir=self.scratch + "/slow")
        target = self.start_target(script="births.py")
        session = self.attach(target, "--target", "*:kept_*", "--max-stop", "100ms", daemon=daemon)
        daemon.child.send_signal(signal.SIGSTOP)
        self.assertEqual(target.ask("keep", 6000), 6000)
        self.inject(daemon, "pread64", "delay_enter=100")
        daemon.child.send_signal(signal.SIGCONT)
        self.eventually(lambda: int(session.updates[-1]["times"]["stops"]) > 3, 20, "repairs")
        session.child.send_signal(signal.SIGINT)
        self.eventually(lambda: session.child.process.poll() is not None, 10, "the session's end")
        last = session.updates[-1]
        self.assertLess(int(last["times"]["longest_stop_ns"]), 800_000_000)
        self.assertGreater(len(last["targets"]), 32)
        self.assertTrue(last["inexact"])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target, daemon)
        self.assert_ends_well(target)

    @each_interpreter
    def test_churn_of_code_objects(self, python):
        """Addresses are used again all the time, by code that matches and code that does not."""
        target = self.start_target(python, "births.py")
        expected = target.ask("answer", 1000)
        session = self.attach(target, "--target", "churned.py:passing", "--target", "*births.py:churn*")
        calls = target.ask("churn", 1.0, 3)
        self.assertEqual(target.ask("answer", 1000), expected)
        last = self.finish(session, target)
        counted = calls_by_name(last)
        self.assertEqual(counted["passing"], calls)
        self.assertEqual(counted["churn.<locals>.work"], 3)
        self.assertEqual(counted["churn.<locals>.work.<locals>.closure"], calls // 3)
        self.assertEqual(sum(row["missed_calls"] for row in last["targets"]), 0)

    @each_mechanism
    def test_patterns_that_match_nothing_are_explained_while_code_comes_and_goes(self, python):
        target = self.start_target(python, "births.py")
        session = self.attach(target, "--target", "churned.py:passing", "--target", "no_such.py:*", "--interval", "100ms")
        target.send("churn", 3, 3)
        session.wait_calls(1)  # until then the pattern that it is about matches nothing either
        for i in range(12):
            answer = self.daemon.ctl("update", session.id, "--target", "churned.py:passing", "--target", "no_such_%d.py:*" % i)
            self.assertEqual(answer.code, 0, answer)
            time.sleep(0.15)  # a tick of the daemon, and more
        calls = target.answer()
        # Explained while it came and went, by copies of names that were still there.
        self.assertTrue(any(one["near_misses"] for update in session.updates if update["state"] == "ACTIVE"
                            for one in update["patterns"] if one["pattern"].startswith("no_such")))
        last = session.finish()
        self.assertLessEqual(calls_by_name(last)["passing"], calls)
        [unmatched] = [one for one in last["patterns"] if one["status"] == "NO_MATCH"]
        self.assertTrue(unmatched["near_misses"], last["patterns"])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_imports_of_hundreds_of_modules_with_everything_armed(self, python):
        target = self.start_target(python, "births.py")
        directory = os.path.join(self.scratch, "modules")
        os.mkdir(directory)
        names = ["born_module_%d" % i for i in range(300)]
        for i, name in enumerate(names):
            self.write("modules/%s.py" % name, MODULE.format(i=i))
        session = self.attach(target, "--target", "*:*")
        answer, own = target.ask("import_all", directory, names)
        last = self.finish(session, target)
        self.assertEqual(answer, sum(10 + 5 * i + 9 for i in range(300)))
        for file, counts in own.items():
            calls = calls_by_name(last, file)
            self.assertEqual({one: calls.get(one, 0) for one in counts}, counts, file)
            self.assertEqual(calls["<module>"], 1, file)
        rows = [row for row in last["targets"] if row["filename"] in own]
        self.assertTrue(all(row["module_names"] for row in rows if row["qualname"] == "run"))

    @each_interpreter
    def test_dotted_names_of_modules_imported_later(self, python):
        target = self.start_target(python, "births.py")
        os.makedirs(os.path.join(self.scratch, "modules/package"))
        self.write("modules/package/__init__.py", "")
        self.write("modules/package/part.py", MODULE.format(i=7))
        session = self.attach(target, "--target", "package.part:Shape7.*")
        target.ask("import_all", os.path.join(self.scratch, "modules"), ["package.part"])
        last = self.finish(session, target)
        self.assertEqual(calls_by_name(last), {"Shape7.__init__": 1, "Shape7.area": 1})

    @each_interpreter
    def test_names_that_are_not_ascii(self, python):
        """Latin-1, the BMP and beyond it, in files, modules and functions."""
        target = self.start_target(python, "births.py")
        source = ("seen = []\ndef größe():\n    seen.append('größe')\n    return 1\n"
                  "class Ж:\n    def метод(self):\n        seen.append('Ж.метод')\n        return 2\n"
                  "def 𝐱𐐀():\n    seen.append('x𐐀')\n    return 3\n"
                  "def run():\n    seen.append('run')\n    return größe() + Ж().метод() + 𝐱𐐀()\n")
        names = ["größe_m", "модуль", "m𐐀"]
        for name in names:
            self.write(name + ".py", source)
        session = self.attach(target, "--target", "модуль:*", "--target", "*größe*:[!<]*", "--target", "*𐐀.py:Ж.*")
        answer, own = target.ask("import_all", self.scratch, names)
        self.assertEqual(answer, 18)
        last = self.finish(session, target)
        for name, expected in (("größe_m", {"größe": 1, "Ж.метод": 1, "x𐐀": 1, "run": 1, "Ж": 1}),
                               ("m𐐀", {"Ж.метод": 1})):
            self.assertEqual(calls_by_name(last, "%s/%s.py" % (self.scratch, name)), expected)
        calls = calls_by_name(last, "%s/модуль.py" % self.scratch)
        self.assertEqual({one: calls.get(one) for one in ("größe", "Ж.метод", "x𐐀", "run")},
                         {"größe": 1, "Ж.метод": 1, "x𐐀": 1, "run": 1})


if __name__ == "__main__":
    main()
