"""The names, values and exit codes that others script against."""
import json
import os
import re
import signal
import time

from harness import interpreters, traces
from harness.case import Case, each_interpreter, main
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment, run_client
from harness.session import with_numbers

# Field names of the contract, with the types that protobuf's JSON gives them.
TARGET_FIELDS = {"pattern": str, "filename": str, "qualname": str, "first_line": int, "calls": str,
                 "delayed_calls": str, "requested_delay_ns": str, "injected_delay_ns": str, "missed_calls": str,
                 "pid": int}
STRATEGIES = {8: "armed: co_opcache_flag", 9: "armed: co_opcache_flag", 10: "armed: co_opcache_flag",
              11: "armed: RESUME", 12: "armed: INSTRUMENTED_RESUME", 13: "armed: INSTRUMENTED_RESUME",
              14: "armed: INSTRUMENTED_RESUME", 15: "armed: INSTRUMENTED_RESUME"}


class ContractTest(Case):
    def assert_fields(self, message, fields):
        self.assertEqual({name: type(message.get(name)) for name in fields}, fields)

    @each_interpreter
    def test_attach_json(self, python):
        target = self.start_target(python, "steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--target", "*:no_such_function",
                              "--target", "*steady.py:aside", "--interval", "50ms")
        self.assertTrue(traces.changed_text(target.pid), "no probe to be seen: the search for traces is blind")
        target.ask("call", "step", 3000)
        self.assertIn("%s:step" % target.file, target.ask("armed_code"))
        session.wait_calls(3000)
        self.assertEqual(target.ask("call", "step", 7), 7)
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)

        messages = session.child.messages()
        states = [message["state"] for message in messages]
        self.assertEqual(states, sorted(states, key=["ATTACHING", "ACTIVE", "ENDED"].index))
        self.assertEqual(states.count("ENDED"), 1)
        self.assertIn("ACTIVE", states)
        for message in messages:
            self.assert_fields(message, {"session_id": str, "state": str, "process": dict, "targets": list,
                                         "patterns": list})
            self.assertEqual(message["session_id"], session.id)
            self.assertEqual(message["process"]["pid"], target.pid)
            self.assertEqual("end" in message, message["state"] == "ENDED")
            for row in message["targets"]:
                self.assert_fields(row, TARGET_FIELDS)
                self.assertEqual(row["pid"], target.pid)
        active = messages[states.index("ACTIVE")]["process"]
        self.assertEqual(os.path.realpath("/proc/%d/exe" % target.pid), active["exe"])
        self.assertEqual(active["python_version"], ".".join(map(str, python.version)))
        self.assertEqual(active["strategy"], STRATEGIES[python.version[1]])

        raw = messages[-1]
        self.assert_fields(raw["end"], {"reason": str, "detach_proof": dict})
        self.assert_fields(raw["end"]["detach_proof"],
                           {"links_left": int, "fields_left": int, "text_bytes_changed": int})
        rows = {row["qualname"]: row for row in last["targets"]}
        self.assertEqual(sorted(rows), ["aside", "step"])
        self.assertEqual((rows["step"]["calls"], rows["step"]["filename"]), (3007, target.file))
        self.assertEqual(rows["step"]["first_line"], 14)
        self.assertEqual(rows["aside"]["calls"], 0)
        self.assertEqual({one["pattern"]: one["status"] for one in last["patterns"]},
                         {"*steady.py:step": "MATCHED", "*:no_such_function": "NO_MATCH",
                          "*steady.py:aside": "NO_CALLS"})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_interval_updates_carry_changed_rows_and_the_last_all(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:*", "--interval", "50ms")
        names = {row["qualname"] for row in session.updates[-1]["targets"]}
        self.assertLessEqual({"step", "aside", "timed"}, names)
        seen = len(session.updates)
        target.ask("call", "step", 100)
        update = session.wait_for(lambda one: any(row["qualname"] == "step" and row["calls"] == 100
                                                  for row in one["targets"]))
        self.assertNotIn("timed", {row["qualname"] for row in update["targets"]})
        self.eventually(lambda: len(session.updates) > seen + 4, 3, "an update each 50 ms")
        last = session.finish()
        self.assertLessEqual(names, {row["qualname"] for row in last["targets"]})
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_match_slows_and_changes_nothing(self, python):
        target = self.start_target(python, "calls.py")
        answer = target.ask("run", 50, 1)
        found = self.daemon.ctl("match", "--pid", target.pid, "--target", "*/calls.py:Shape.*", "--target", "*:nothing",
                                "--exclude", "*:Shape.zero", "--max-stop", "1s", "--format", "json")
        self.assertEqual(found.code, 0, found)
        self.assertEqual(found.out.count("\n"), 1)
        reply = with_numbers(json.loads(found.out))
        self.assertEqual({row["qualname"] for row in reply["targets"]},
                         {"Shape.__init__", "Shape.area", "Shape.size", "Shape.unit", "Shape.__del__",
                          "Shape.__enter__", "Shape.__exit__"})
        self.assertEqual([one["status"] for one in reply["patterns"]], ["MATCHED", "NO_MATCH"])
        self.assertGreater(reply["stopped_ns"], 0)
        self.assertGreater(reply["code_objects_seen"], 100)
        self.assert_nothing_left(target)
        self.assertEqual(target.ask("run", 50, 1), answer)
        self.assert_ends_well(target)

    def test_match_without_a_match(self):
        target = self.start_target()
        found = self.daemon.ctl("match", "--pid", target.pid, "--target", "*/calls.py:Shape.aera", "--max-stop", "1s")
        self.assertEqual(found.code, 7, found)
        self.assertIn("Shape.area", found.out)  # the near miss
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_end_without_a_match(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*:nothing_of_that_name", "--duration", "200ms")
        last = session.wait_end()
        self.assertEqual(session.code, 7, session.errors)
        self.assertEqual((last["end"]["reason"], last["end"]["no_match"]), ("duration over", True))
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_list_watch_update_detach(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--interval", "50ms")
        listed = self.daemon.ctl("list", "--format", "json")
        self.assertEqual(listed.code, 0, listed)
        [one] = json.loads(listed.out)["sessions"]
        self.assertEqual((one["session_id"], one["state"], one["process"]["pid"], one["patterns"]),
                         (session.id, "ACTIVE", target.pid, ["*steady.py:step"]))
        self.assertIn(session.id, self.daemon.ctl("list").out)

        watch = self.start_watch(session.id)
        watch.wait_active()
        target.ask("call", "step", 10)
        watch.wait_calls(10)

        # Another dose, in force within one interval and without a new attach.
        updated = self.daemon.ctl("update", session.id, "--delay", "1ms", "--every", "2")
        self.assertEqual(updated.code, 0, updated)
        self.assertGreater(target.ask("timed", 100), 50 * 1_000_000)
        session.wait_for(lambda update: update["delay_ns"] == 1_000_000)
        # Other targets: the old ones run free, the new ones are counted.
        updated = self.daemon.ctl("update", session.id, "--target", "*steady.py:aside", "--delay", "0", "--every", "1")
        self.assertEqual(updated.code, 0, updated)
        target.ask("call", "step", 50)
        target.ask("call", "aside", 60)
        session.wait_for(lambda update: any(row["qualname"] == "aside" and row["calls"] == 60
                                            for row in update["targets"]))

        detached = self.daemon.ctl("detach", session.id, "--format", "json")
        self.assertEqual(detached.code, 0, detached)
        [one] = json.loads(detached.out)["sessions"]
        self.assertEqual((one["session_id"], one["pid"]), (session.id, target.pid))
        self.assertEqual([one["detach_proof"][name] for name in ("links_left", "fields_left", "text_bytes_changed")],
                         [0, 0, 0])
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (0, "detached"))
        calls = {row["qualname"]: row["calls"] for row in last["targets"]}
        self.assertEqual(calls["aside"], 60)
        self.assertEqual(calls.get("step", 110), 110)
        watched = watch.wait_end()
        self.assertEqual((watch.code, watched["end"]["reason"]), (0, "detached"))
        self.assertEqual(json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"], [])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_an_update_says_which_patterns_match_nothing(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step")
        updated = self.daemon.ctl("update", session.id, "--target", "*steady.py:setp")
        self.assertEqual(updated.code, 7, updated)
        self.assertIn("0 targets in force", updated.out)
        self.assertRegex(updated.err, r"\*steady\.py:setp +NO MATCH")
        self.assertIn("did you mean %s:step?" % target.file, updated.err)
        updated = self.daemon.ctl("update", session.id, "--target", "*steady.py:aside", "--target", "*steady.py:Step",
                                  "--format", "json")
        self.assertEqual(updated.code, 0, updated)
        reply = json.loads(updated.out)
        self.assertEqual(reply["targets"], "1")
        [unmatched] = reply["unmatched"]
        self.assertEqual((unmatched["pattern"], unmatched["status"]), ("*steady.py:Step", "NO_MATCH"))
        self.assertIn(target.file + ":step", [one["suggestion"] for one in unmatched["near_misses"]])
        self.assert_clean_proof(session.finish())
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_detach_by_pid_and_all(self):
        targets = [self.start_target(script="steady.py") for _ in range(3)]
        sessions = [self.attach(target, "--target", "*steady.py:step") for target in targets]
        detached = self.daemon.ctl("detach", "--pid", targets[0].pid)
        self.assertEqual(detached.code, 0, detached)
        self.assertEqual(sessions[0].wait_end()["end"]["reason"], "detached")
        detached = self.daemon.ctl("detach", "--all", "--format", "json")
        self.assertEqual(detached.code, 0, detached)
        self.assertEqual({one["pid"] for one in json.loads(detached.out)["sessions"]},
                         {target.pid for target in targets[1:]})
        for session, target in zip(sessions, targets):
            self.assert_clean_proof(session.wait_end())
            self.assertEqual(session.code, 0)
            self.assert_nothing_left(target)
            self.assert_ends_well(target)
        self.assertEqual(self.daemon.ctl("detach", "--pid", targets[0].pid).code, 11)
        self.assertEqual(self.daemon.ctl("detach", "s999").code, 11)
        self.assertEqual(self.daemon.ctl("update", "s999", "--delay", "1us").code, 11)
        self.assertEqual(self.daemon.ctl("watch", "s999").code, 11)
        self.assertEqual(self.daemon.ctl("detach", "--all").code, 0)

    def test_ctrl_c_prints_the_summary_and_the_proof(self):
        """In the table too: what a person sees."""
        target = self.start_target(script="steady.py")
        client = Child([SBUMPCTL, "--endpoint", self.daemon.endpoint, "attach", "--pid", str(target.pid), "--target",
                        "*steady.py:step", "--interval", "50ms"], env=clean_environment())
        self.addCleanup(client.kill)
        self.eventually(lambda: any(line.startswith(b"ACTIVE") for _, line in list(client.output.lines)), 10, "ACTIVE")
        target.ask("call", "step", 4321)
        client.send_signal(signal.SIGINT)
        self.assertEqual(client.wait(), 0, client.errors)
        client.output.wait_closed(5)
        text = b"".join(line for _, line in client.output.lines).decode()
        self.assertRegex(text, r"step .*steady\.py:14 .* 4,321 ")
        self.assertIn("detach proof: 0 links left, 0 fields left, 0 text bytes changed (verified", text)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_keep_and_ttl(self):
        """The session outlives its client, and ends by its ttl."""
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--keep", "--ttl", "1500ms", "--interval", "50ms")
        begin = time.monotonic()
        session.child.send_signal(signal.SIGINT)
        self.assertEqual(session.child.wait(), 0, session.errors)
        [one] = json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"]
        self.assertEqual(one["session_id"], session.id)
        watch = self.start_watch(session.id)
        watch.wait_active()
        target.ask("call", "step", 99)
        last = watch.wait_end(10)
        self.assertLess(time.monotonic() - begin, 4)
        self.assertEqual(last["end"]["reason"], "ttl over")
        self.assertEqual([row["calls"] for row in last["targets"]], [99])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_watcher_that_comes_late_sees_how_long_the_session_is_active(self):
        target = self.start_target(script="steady.py")
        begin = time.monotonic()
        session = self.attach(target, "--target", "*steady.py:step", "--interval", "50ms")
        active = time.monotonic()
        time.sleep(2)
        watch = self.start_watch(session.id)
        first = watch.wait_active()
        self.assertGreater(first["times"]["active_ns"], (time.monotonic() - active - 1) * 1e9)
        last = session.finish()
        whole_ns = (time.monotonic() - begin) * 1e9
        self.assertEqual(watch.wait_end()["times"], last["times"])
        self.assertGreaterEqual(last["times"]["active_ns"], first["times"]["active_ns"])
        self.assertLess(sum(last["times"][name] for name in ("attach_ns", "active_ns", "detach_ns")), whole_ns)
        [process] = last["processes"]
        self.assertAlmostEqual(process["times"]["active_ns"], last["times"]["active_ns"], delta=5e8)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_kept_session_outlives_a_killed_client(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step", "--keep", "--ttl", "30s")
        session.kill()
        time.sleep(0.3)
        target.ask("call", "step", 5)
        [one] = json.loads(self.daemon.ctl("list", "--format", "json").out)["sessions"]
        self.assertEqual(self.daemon.ctl("detach", one["session_id"]).code, 0)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_interpreter
    def test_doctor_on_a_process(self, python):
        target = self.start_target(python)
        answer = self.daemon.ctl("doctor", "--pid", target.pid, "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        reply = json.loads(answer.out)
        self.assertTrue(reply["usable"], reply)
        self.assertEqual(reply["process"]["python_version"], ".".join(map(str, python.version)))
        self.assertEqual(reply["process"]["strategy"], STRATEGIES[python.version[1]])
        self.assertLessEqual({"kernel", "capabilities", "process", "interpreter", "offsets", "sites", "cost"},
                             {one["topic"] for one in reply["findings"]})
        self.assertNotIn("PROBLEM", {one["level"] for one in reply["findings"]})
        self.assertIn(reply["process"]["strategy"], self.daemon.ctl("doctor", target.pid).out)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_doctor_without_a_pid(self):
        answer = self.daemon.ctl("doctor", "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        reply = json.loads(answer.out)
        self.assertTrue(reply["usable"], reply)
        self.assertLessEqual({"kernel", "capabilities"}, {one["topic"] for one in reply["findings"]})
        self.assertEqual(self.daemon.ctl("doctor").code, 0)

    def test_doctor_does_not_disturb_a_session(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, "--target", "*steady.py:step")
        answer = self.daemon.ctl("doctor", "--pid", target.pid)
        self.assertIn("session", answer.out)
        target.ask("call", "step", 12)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [12])
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_version(self):
        answer = self.daemon.ctl("version")
        self.assertEqual(answer.code, 0, answer)
        self.assertTrue(re.search(r"^sbumpctl \d", answer.out, re.M) and re.search(r"^sbumpd \d", answer.out, re.M))
        reply = json.loads(self.daemon.ctl("version", "--format", "json").out)
        self.assertEqual(reply["daemon"]["pid"], self.daemon.pid)
        self.assertEqual(self.daemon.ctl("version", "--client").out.count("\n"), 1)

    def test_endpoint_from_the_environment(self):
        self.assertEqual(run_client(None, "list", env={"SBUMP_ENDPOINT": self.daemon.endpoint}).code, 0)

    def test_sessions_one_after_the_other(self):
        """Nothing of one session is in the way of the next."""
        target = self.start_target(interpreters.supported()[-1], "steady.py")
        for calls in range(1, 6):
            session = self.attach(target, "--target", "*steady.py:step")
            target.ask("call", "step", calls)
            last = session.finish()
            self.assertEqual([row["calls"] for row in last["targets"]], [calls])
            self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
