"""The dose that the target's own clock sees, and the flags that shape it.

Margins are wide: tests/bench judges accuracy.
"""
import time

from harness.case import Case, each_interpreter, each_with_jit, main

MS = 1_000_000


def median(times):
    return sorted(times)[len(times) // 2]


class DoseTest(Case):
    def assert_session(self, session, target):
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)
        return {row["qualname"]: row for row in last["targets"]}

    @each_interpreter
    def test_target_sees_the_dose(self, python):
        self.try_dose(python)

    @each_with_jit
    def test_target_sees_the_dose_under_the_jit(self, python):
        """The loop that calls it was compiled before the attach."""
        self.try_dose(python, env={"PYTHON_JIT": "1"})

    def try_dose(self, python, **options):
        target = self.start_target(python, "steady.py", **options)
        target.ask("timed", 20_000)
        target.ask("each", 20_000)
        plain = median(target.ask("each", 500))
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "200us")
        slowed = median(target.ask("each", 300)) - plain
        self.assertGreater(slowed, 195_000)
        self.assertLess(slowed, 230_000)
        row = self.assert_session(session, target)["step"]
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"]), (300, 300, 300 * 200_000))
        self.assertGreaterEqual(row["injected_delay_ns"], 300 * 199_000)

    @each_interpreter
    def test_full_speed_after_the_end(self, python):
        target = self.start_target(python, "steady.py")
        # So often that a machine which is at something else for 10 ms is not all that is seen.
        before = min(target.ask("timed", 20_000) for _ in range(100))
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10us")
        self.assertGreater(target.ask("timed", 1000), 10 * MS)
        self.assert_clean_proof(session.finish())
        after = min(target.ask("timed", 20_000) for _ in range(100))
        # A probe alone would make it 8 times slower.
        self.assertLess(after, 2 * before)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_every(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "1ms", "--every", "10")
        times = target.ask("each", 200)
        self.assertGreaterEqual(sum(one > 0.9 * MS for one in times), 20)
        self.assertLess(sum(one > 0.9 * MS for one in times), 30)  # some room for a busy machine
        row = self.assert_session(session, target)["step"]
        self.assertEqual((row["calls"], row["delayed_calls"]), (200, 20))

    def test_start_and_duration(self):
        """Counted at once, slowed from --start on, over after --duration."""
        target = self.start_target(script="steady.py")
        session = self.start_attach(target, "--target", "*steady.py:step", "--delay", "2ms", "--start", "800ms",
                                    "--duration", "700ms", "--interval", "50ms")
        session.wait_active()
        begin = time.monotonic()
        self.assertLess(target.ask("timed", 20), 40 * MS)
        self.assertLess(time.monotonic() - begin, 0.7, "this machine is too slow for the test")
        time.sleep(max(0, begin + 0.9 - time.monotonic()))
        self.assertGreater(target.ask("timed", 20), 40 * MS)
        last = session.wait_end()
        self.assertAlmostEqual(time.monotonic() - begin, 1.5 + 0.2, delta=0.5)
        self.assertEqual((session.code, last["end"]["reason"]), (0, "duration over"))
        [row] = last["targets"]
        self.assertEqual((row["calls"], row["delayed_calls"]), (40, 20))
        self.assertLess(target.ask("timed", 20), 40 * MS)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_speed_bump_environment(self):
        """Its variables stand in for the flags that are absent; a flag wins."""
        target = self.start_target(script="steady.py")
        targets = self.write("t.txt", "# a comment\n\n  *steady.py : step  \n")
        env = {"SPEED_BUMP_TARGETS": targets, "SPEED_BUMP_DELAY_NS": "1000000", "SPEED_BUMP_FREQUENCY": "5",
               "SPEED_BUMP_START_MS": "0", "SPEED_BUMP_DURATION_MS": "1200"}
        session = self.start_attach(target, env=env)
        session.wait_active()
        target.ask("call", "step", 100)
        last = session.wait_end()
        [row] = last["targets"]
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"]), (100, 20, 20 * MS))
        self.assertEqual(last["end"]["reason"], "duration over")

        session = self.attach(target, "--every", "50", "--delay", "2ms", "--duration", "1m", env=env)
        target.ask("call", "step", 100)
        row = self.assert_session(session, target)["step"]
        self.assertEqual((row["delayed_calls"], row["requested_delay_ns"]), (2, 4 * MS))

    def test_bad_speed_bump_environment(self):
        target = self.start_target(script="steady.py")
        answer = self.daemon.ctl("attach", "--pid", target.pid, "--target", "*:step",
                                 env={"SPEED_BUMP_DELAY_NS": "1e3"})
        self.assert_refused(answer, 2, "SPEED_BUMP_DELAY_NS", "1e3")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_overrides_and_exclude(self):
        target = self.start_target(script="steady.py")
        targets = self.write("t.txt", "*steady.py:step @delay=1ms @every=4\n*steady.py:*\n")
        session = self.attach(target, "--targets", targets, "--exclude", "*:progress", "--exclude", "*:call", "--delay",
                              "300us")
        target.ask("call", "step", 40)
        target.ask("call", "aside", 30)
        target.ask("progress")
        rows = self.assert_session(session, target)
        self.assertEqual([rows["step"][name] for name in ("calls", "delayed_calls", "requested_delay_ns")],
                         [40, 10, 10 * MS])
        self.assertEqual([rows["aside"][name] for name in ("calls", "delayed_calls", "requested_delay_ns")],
                         [30, 30, 9 * MS])
        self.assertFalse({"progress", "call"} & set(rows))

    def test_longest_dose(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "10ms")
        times = target.ask("each", 20)
        self.assertGreater(min(times), 9.9 * MS)
        self.assertLess(median(times), 13 * MS)
        self.assert_session(session, target)

    def test_smallest_dose_is_raised_with_a_warning(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--delay", "100ns")
        target.ask("call", "step", 100)
        answer = self.daemon.ctl("update", session.id, "--delay", "50ns")
        self.assertRegex(answer.err, "warning: .*50 ?ns")
        updates = session.updates
        row = self.assert_session(session, target)["step"]
        self.assertEqual((row["calls"], row["delayed_calls"]), (100, 100))
        warnings = " ".join(sum((update["warnings"] for update in updates), []))
        self.assertRegex(warnings, "100 ?ns")
        self.assertGreaterEqual(updates[-1]["delay_ns"], updates[-1]["trap_cost_ns"])


if __name__ == "__main__":
    main()
