"""Functions outside Python in a process that runs Python, beside its Python targets."""
from harness.case import each_mechanism, main
from harness.native import NativeCase, rows

MS = 1_000_000
PRECONDITION = 13


class BesidePythonTest(NativeCase):
    @each_mechanism
    def test_both_in_one_session(self, python):
        target = self.start_target(python, "native.py")
        answer = target.ask("pids", 10)
        session = self.attach(target, "--target", "*/native.py:step @delay=100us", "--native",
                              "libc.so.6:getpid @delay=300us", "--native", "libc.so.6:write", "--delay", "0")
        self.assertEqual(target.ask("pids", 400), answer)
        self.assertEqual(target.ask("writes", 50), sum(range(1, 51)))
        # Its answers to us are writes too: one for each.
        answers = 2
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        found = rows(last)
        self.assertEqual((found["getpid"]["calls"], found["getpid"]["delayed_calls"]), (400, 400))
        self.assertGreaterEqual(found["getpid"]["injected_delay_ns"], 400 * 299_000)
        self.assertEqual((found["step"]["calls"], found["step"]["delayed_calls"]), (50, 50))
        self.assertEqual(found["write"]["calls"], 50 + answers)
        self.assertEqual(found["write"]["delayed_calls"], 0)
        self.assertEqual({pattern["status"] for pattern in last["patterns"]}, {"MATCHED"})
        self.assert_exact(last)
        self.assert_clean_proof(last)
        self.assertIn("of 2 native functions", last["end"]["detach_proof"]["detail"])
        self.assert_nothing_left(target)
        self.assertEqual(target.ask("pids", 10), answer)
        self.assert_ends_well(target)

    def test_libssl_of_debians_python(self):
        """Not loaded yet when the session begins; its functions are exported by version."""
        target = self.start_target(self.python, "native.py")
        session = self.attach(target, "--native", "*/libssl.so*:SSL_CTX_new", "--delay", "1ms", "--interval", "50ms")
        target.ask("contexts", 1)
        session.wait_for(lambda update: update["patterns"] and update["patterns"][0]["targets"] == 1, 5)
        target.ask("contexts", 30)
        row = rows(session.finish())["SSL_CTX_new"]
        self.assertEqual((row["calls"], row["delayed_calls"]), (30, 30))
        self.assertRegex(row["filename"], r"/libssl\.so\.\d")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_launches_of_a_gpus_runtime(self):
        """AMD's, as Debian has it: the function that every kernel is launched with. No GPU is there to run them."""
        target = self.start_target(self.python, "native.py")
        launch = ("launches", "libamdhip64.so.5", "hipLaunchKernel")
        answers, ns_before = target.ask(*launch, 100)
        session = self.attach(target, "--target", "*/native.py:launches", "--native",
                              "*/libamdhip64.so.*:hipLaunchKernel @delay=2ms", "--delay", "0")
        self.assertEqual(target.ask(*launch, 1)[0], answers)
        slowed_answers, ns = target.ask(*launch, 50)
        self.assertEqual(slowed_answers, answers)
        self.assertGreater(ns, ns_before / 2 + 1.99 * MS)
        found = rows(session.finish())
        self.assertEqual((found["hipLaunchKernel"]["calls"], found["hipLaunchKernel"]["delayed_calls"]), (51, 51))
        self.assertEqual(found["launches"]["calls"], 2)
        self.assert_nothing_left(target)
        answers_after, ns_after = target.ask(*launch, 100)
        self.assertEqual(answers_after, answers)
        self.assertLess(ns_after, MS)
        self.assert_ends_well(target)

    def test_update_of_both(self):
        target = self.start_target(script="native.py")
        session = self.attach(target, "--target", "*/native.py:step", "--native", "libc.so.6:getpid")
        target.ask("pids", 10)
        target.ask("writes", 10)
        updated = self.daemon.ctl("update", session.id, "--target", "*/native.py:pids", "--native", "libc.so.6:write")
        self.assertEqual(updated.code, 0, updated)
        target.ask("pids", 10)
        target.ask("writes", 10)
        last = session.finish()
        calls = {row["qualname"]: row["calls"] for row in last["targets"]}
        answers = calls.pop("write") - 10
        self.assertEqual(calls, {"step": 10, "pids": 1, "getpid": 10})
        self.assertIn(answers, (2, 3))  # the answer before the update may still have been on its way
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_native_alone_leaves_python_alone(self):
        """No stop, no look at the interpreter: any process will do."""
        target = self.start_target(script="native.py")
        session = self.attach(target, "--native", "libc.so.6:getpid")
        target.ask("pids", 25)
        last = session.finish()
        self.assertEqual((rows(last)["getpid"]["calls"], last["times"]["stops"]), (25, 0))
        self.assertEqual(last["process"]["python_version"], "")
        refused = self.attach(target, "--native", "libc.so.6:getpid")
        answer = self.daemon.ctl("update", refused.id, "--target", "*:step")
        self.assert_refused(answer, PRECONDITION, "native functions only")
        self.assert_clean_proof(refused.finish())
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
