"""Delays per module instance: the layers of a model run the same code, and one of them is slowed."""
import json
import os

from harness.case import each_interpreter, each_mechanism, main
from harness.family import FamilyCase
from harness.models import MS, Q_PROJ, ModelCase, rows

BAD_TARGETS, UNSUPPORTED, NO_MATCH, PRECONDITION, ENDED_EARLY = 3, 5, 7, 13, 15


class InstanceTest(ModelCase):
    @each_interpreter
    def test_one_layer_of_three_is_slowed(self, python):
        target = self.model(python)
        if python.free_threaded:
            session = self.start_attach(target, "--module", Q_PROJ)
            session.child.wait(20)
            self.assertEqual(session.code, UNSUPPORTED, session.errors)
            self.assertIn("free-threaded", session.errors)
        else:
            self.check_one_slow_layer(target)
        self.assert_ends_well(target)


class FamilyTest(ModelCase, FamilyCase):
    @each_mechanism
    def test_a_model_and_its_copy_in_a_forked_process(self, python):
        """One that was there, and one that is forked meanwhile: each has the model, at the same addresses."""
        target = self.model(python)
        pids = [target.ask("fork")]
        session = self.attach(target, "-C", "--module", "top", "--module", Q_PROJ + " @delay=2ms")
        self.wait_members(session, [target.pid, *pids])
        self.assertEqual(target.ask("forward_in_fork", 10), [2, 5, 11])
        pids.append(target.ask("fork"))
        self.wait_members(session, pids)
        self.assertEqual(target.ask("forward_in_fork", 20), [2, 5, 11])
        target.ask("forwards", "main", 30)
        last = session.finish()
        self.assertEqual({(row["pid"], row["qualname"].rpartition(".")[2]): row["calls"] for row in last["targets"]},
                         {(pid, name): calls for pid, calls in ((pids[0], 11), (pids[1], 21), (target.pid, 30))
                          for name in ("top", "q_proj")})
        for row in last["targets"]:
            self.assertEqual(row["requested_delay_ns"], 2 * MS * row["calls"] if "q_proj" in row["qualname"] else 0)
        self.assert_clean_proof(last)
        self.assert_all_clean(target, pids)
        self.assertEqual(target.ask("forward_in_fork", 5), [2, 5, 11])
        self.assertEqual(target.ask("end_forks"), [0, 0])
        self.assert_ends_well(target)


class CountTest(ModelCase):
    def test_every_call_of_every_module_is_counted(self):
        target = self.model()
        session = self.attach(target, "--module", "top*")
        target.ask("forwards", "main", 40)
        last = self.finish(session, target)
        called = {path: row["calls"] for path, row in rows(last).items()}
        containers = {"top.layers", "top.vision"} | {"top.vision.%d" % number for number in range(8)}
        # The last forward is after the end.
        self.assertEqual(called, {path: 0 if path in containers else 40 for path in called})
        self.assertEqual(len(called), 40)
        self.assert_ends_well(target)

    def test_doses_of_their_own_and_the_first_pattern_owns_a_module(self):
        target = self.model()
        session = self.attach(target, "--module", "top.layers.0.attn.q_proj @delay=300us @every=2", "--module",
                              "type:Linear", "--delay", "50us")
        target.ask("forwards", "main", 20)
        last = self.finish(session, target)
        found = rows(last)
        self.assertEqual((found["top.layers.0.attn.q_proj"]["delayed_calls"],
                          found["top.layers.0.attn.q_proj"]["requested_delay_ns"]), (10, 10 * 300_000))
        self.assertEqual(found["top.lm_head"]["requested_delay_ns"], 20 * 50_000)
        self.assertEqual([(pattern["targets"], pattern["calls"]) for pattern in last["patterns"]], [(1, 20), (10, 180)])  # of the rows that each owns
        self.assert_ends_well(target)

    def test_a_module_that_two_models_hold(self):
        target = self.model()
        target.ask("wrap", "main", "tail", "embed")
        session = self.attach(target, "--module", "top.embed @delay=2ms", "--module", "top#2", "--module", "top#2.0")
        target.ask("forward", "main")
        self.assertEqual([target.ask("forward", "tail") for _ in range(2)], 2 * [[2, 5, 8]])
        last = self.finish(session, target)
        self.assertEqual({path: (row["calls"], row["delayed_calls"]) for path, row in rows(last).items()},
                         {"top.embed": (3, 3), "top#2": (2, 0)})
        self.assertEqual([pattern["targets"] for pattern in last["patterns"]], [1, 1, 0])
        self.assertIn("top#2.0 is another name of top.embed", json.dumps(last["patterns"][2]))
        self.assert_ends_well(target)

    def test_modules_that_are_subtracted(self):
        target = self.model()
        session = self.attach(target, "--module", "top*", "--module-exclude", "type:Linear", "--module-exclude",
                              r"re:top\.layers\.[01]")
        target.ask("forwards", "main", 3)
        answer = self.daemon.ctl("update", session.id, "--module", "top*", "--module-exclude", "top.*")
        self.assertEqual(answer.code, 0, answer)
        target.ask("forwards", "main", 4)
        found = rows(self.finish(session, target))
        self.assertEqual({path: row["calls"] for path, row in found.items() if row["calls"]},
                         {"top": 7, "top.embed": 3, "top.layers.2": 3, "top.layers.2.act": 3, "top.layers.2.attn": 3,
                          "top.layers.2.drop": 3, "top.layers.2.norm": 3, "top.layers.2.skip": 3})
        self.assert_ends_well(target)

    def test_a_subtraction_from_nothing(self):
        target = self.model()
        answer = self.daemon.ctl("attach", "--pid", target.pid, "--target", "*:step", "--module-exclude", "top")
        self.assert_refused(answer, BAD_TARGETS, "--module-exclude subtracts from --module")
        self.assert_ends_well(target)

    @each_mechanism
    def test_beside_python_and_native_functions(self, python):
        target = self.model(python)
        session = self.attach(target, "--module", Q_PROJ, "--target", "*/models.py:forwards", "--native",
                              "libc.so.6:getppid", "--delay", "100us")
        target.ask("forwards", "main", 10)
        found = rows(self.finish(session, target))
        self.assertEqual((found["top.layers.1.attn.q_proj"]["calls"], found["forwards"]["calls"],
                          found["getppid"]["calls"]), (10, 1, 0))
        self.assert_ends_well(target)

    def test_what_is_no_module_is_not_counted_and_costs_little(self):
        target = self.model()
        session = self.attach(target, "--module", "top.layers.1.*", "--delay", "1ms")
        ns = min((target.ask("call_each", 20000) for _ in range(3)), key=lambda each: each["object"])
        last = self.finish(session, target)
        without = target.ask("call_each", 20000)
        self.assertLess(ns["object"], without["object"] + 10_000)
        self.assertLess(ns["function"], 3 * without["function"])
        self.assertEqual(sum(row["calls"] for row in last["targets"]), 0)
        self.assert_ends_well(target)

    def test_one_whose_place_another_object_had_for_a_while(self):
        target = self.model()
        session = self.attach(target, "--module", "top.layers.0.skip", "--interval", "50ms")
        self.assertEqual(target.ask("swap_type"), 5)

        def is_counted(update):
            target.ask("forward", "main")
            return any(row["calls"] for row in update["targets"])
        last = session.wait_for(is_counted)
        self.assertEqual(sum(one["count"] for one in last["skipped"]), 1)
        session.finish()
        self.assert_ends_well(target)

    def test_another_tree(self):
        target = self.start_target(None, "models.py", "2.13")
        target.ask("make_things")
        session = self.attach(target, "--module-root", "__main__.Thing", "--module-prefix", "root", "--module", "root*")
        target.ask("call_things", 7)
        last = session.finish()
        self.assert_clean_proof(last)
        self.assertEqual({path: row["calls"] for path, row in rows(last).items()},
                         {"root": 7, "root.first": 0, "root.first.first": 7, "root.rest.1": 0, "root.by_name.x": 0})
        self.assert_ends_well(target)

    def test_a_tree_that_gives_way_to_a_circle(self):
        """Which of two that hold each other is the root cannot be told: that is said, and not that there are none."""
        target = self.start_target(None, "models.py", "2.13")
        target.ask("make_things")
        session = self.attach(target, "--module-root", "__main__.Thing", "--module", "top*", "--interval", "100ms")
        target.ask("call_things", 7)
        target.ask("drop_things")
        target.ask("make_circle")
        self.eventually(lambda: "2 instances, but all of them are held by others" in
                        " ".join(session.updates[-1]["warnings"]), 15, "a word on the circle")
        self.wait_targets(session, 0)
        last = session.finish()
        self.assert_clean_proof(last)
        self.assertEqual(rows(last)["top"]["calls"], 7)
        self.assert_ends_well(target)


class UpdateTest(ModelCase):
    def test_a_dose_and_targets_are_changed(self):
        target = self.model()
        session = self.attach(target, "--module", Q_PROJ)
        answer = self.daemon.ctl("update", session.id, "--delay", "1ms", "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        self.assertGreater(target.ask("forwards", "main", 20)[1], 0.95 * MS)
        answer = self.daemon.ctl("update", session.id, "--module", "top.layers.2.act")
        self.assertEqual(answer.code, 0, answer)
        spent = target.ask("forwards", "main", 20)
        self.assertGreater(spent[2], 0.95 * MS)
        self.assertLess(spent[1], 0.5 * MS)
        answer = self.daemon.ctl("update", session.id, "--module", "top.nothing")
        self.assertEqual(answer.code, NO_MATCH, answer)
        self.assertIn("none of the 40 modules has such a path", answer.err)
        answer = self.daemon.ctl("update", session.id, "--module", "*", "--module-root", "__main__.Thing")
        self.assert_refused(answer, PRECONDITION, "torch.nn.modules.module.Module")
        last = self.finish(session, target)
        self.assertEqual({path: row["calls"] for path, row in rows(last).items()},
                         {"top.layers.1.attn.q_proj": 20, "top.layers.2.act": 20})
        self.assert_ends_well(target)

    def test_a_session_without_modules_takes_none(self):
        target = self.model()
        session = self.attach(target, "--target", "*/models.py:forwards")
        answer = self.daemon.ctl("update", session.id, "--module", "top")
        self.assert_refused(answer, PRECONDITION, "begun without modules")
        session.finish()
        self.assert_ends_well(target)


class ChangeTest(ModelCase):
    def test_a_model_that_comes_later(self):
        target = self.start_target(None, "models.py", "2.13")
        session = self.attach(target, "--module", Q_PROJ, "--interval", "100ms")
        [pattern] = session.wait_active()["patterns"]
        self.assertEqual(pattern["status"], "NO_MATCH")
        self.assertIn("there is no module yet", pattern["near_misses"][0]["reason"])
        target.ask("make", "main")
        self.wait_targets(session, 1)
        target.ask("forwards", "main", 5)
        last = self.finish(session, target)
        self.assertEqual(rows(last)["top.layers.1.attn.q_proj"]["calls"], 5)
        self.assert_ends_well(target)

    def test_torch_that_is_imported_later(self):
        target = self.start_target(None, "models.py", "later")
        session = self.attach(target, "--module", Q_PROJ, "--interval", "100ms")
        [pattern] = session.wait_active()["patterns"]
        self.assertIn("has not imported torch", pattern["near_misses"][0]["reason"])
        target.ask("import_torch", "1.13")
        target.ask("make", "main")
        self.wait_targets(session, 1)
        target.ask("forwards", "main", 5)
        last = self.finish(session, target)
        self.assertEqual(rows(last)["top.layers.1.attn.q_proj"]["calls"], 5)
        self.assert_ends_well(target)

    def test_a_model_that_is_replaced(self):
        target = self.model()
        session = self.attach(target, "--module", Q_PROJ, "--interval", "100ms")
        target.ask("forwards", "main", 5)
        target.ask("drop", "main")
        self.wait_targets(session, 0)
        target.ask("make", "main", 16, 2)
        self.wait_targets(session, 1)
        target.ask("forwards", "main", 7)
        last = self.finish(session, target)
        self.assertEqual(rows(last)["top.layers.1.attn.q_proj"]["calls"], 12)
        self.assert_ends_well(target)

    def test_another_object_at_the_address_of_one_that_is_gone(self):
        """Of another class: not one of its calls is told of the former. It has other shapes, which tell."""
        target = self.model()
        target.ask("put", "first", "First")
        path = os.path.join(self.scratch, "spans.jsonl")
        session = self.attach(target, "--module", "top.first", "--module", "top.second @delay=1ms", "--interval", "100ms",
                              "--spans", path)
        target.ask("call_part", "first", 5, 3)
        target.ask("replace", "first", "second", "Second")
        target.ask("call_part", "second", 5, 7, 7)
        self.eventually(lambda: target.ask("call_part", "second", 1, 7, 7) or self.most_calls(session, "top.second") > 0, 10,
                        "its calls")
        before = self.most_calls(session, "top.second")
        target.ask("call_part", "second", 20, 7, 7)
        last = rows(self.finish(session, target))
        self.assertEqual((last["top.first"]["calls"], last["top.first"]["delayed_calls"]), (5, 0))
        self.assertGreaterEqual(last["top.second"]["calls"], before + 20)
        self.assertEqual(last["top.second"]["delayed_calls"], last["top.second"]["calls"])
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        self.assertEqual([span["type"] for span in spans], ["First"] * 5 + ["Second"] * last["top.second"]["calls"])
        self.assertEqual({(span["path"], str(span["inputs"])) for span in spans},
                         {("top.first", "[[3]]"), ("top.second", "[[7, 7]]")})
        self.assert_ends_well(target)

    def test_another_class_at_the_path_of_one_that_is_gone(self):
        target = self.model()
        target.ask("put", "part", "First")
        session = self.attach(target, "--module", "top.part", "--module", "type:Second", "--interval", "100ms")
        target.ask("call_part", "part", 5)
        target.ask("replace", "part", "part", "Second")

        def types():
            return [row["module_type"].rpartition(".")[2] for row in session.updates[-1]["targets"]]
        self.assertEqual(types(), ["First"])
        self.eventually(lambda: target.ask("call_part", "part", 1) or types() == ["Second"], 10, "its class")
        last = self.finish(session, target)
        self.assertEqual([(pattern["targets"], pattern["status"]) for pattern in last["patterns"]], 2 * [(1, "MATCHED")])
        self.assert_ends_well(target)

    def test_one_of_the_same_class_at_the_address_of_one_that_is_gone(self):
        """Until it is noticed it is counted for the former."""
        target = self.model()
        target.ask("put", "first", "First")
        session = self.attach(target, "--module", "top.first", "--module", "top.second", "--interval", "100ms")
        target.ask("call_part", "first", 5)
        target.ask("replace", "first", "second", "First")
        self.eventually(lambda: target.ask("call_part", "second", 1) or self.most_calls(session, "top.second") > 0, 10,
                        "its calls")
        first, second = (self.most_calls(session, path) for path in ("top.first", "top.second"))
        target.ask("call_part", "second", 20)
        last = rows(self.finish(session, target))
        self.assertGreaterEqual(last["top.second"]["calls"], second + 20)
        self.assertEqual(last["top.first"]["calls"], first)
        self.assert_ends_well(target)

    def test_a_larger_model_that_comes_later_takes_no_name(self):
        target = self.model()
        session = self.attach(target, "--module", r"re:top.*\.layers\.1\.attn\.q_proj$", "--interval", "100ms")
        target.ask("forwards", "main", 5)
        target.ask("make", "larger", 8, 7)
        self.wait_targets(session, 2)
        target.ask("forwards", "main", 6)
        target.ask("forwards", "larger", 7)
        first, second = "top.layers.1.attn.q_proj", "top#2.layers.1.attn.q_proj"
        session.wait_for(lambda update: rows(update).get(second, {"calls": 0})["calls"] == 7)
        answer = self.daemon.ctl("update", session.id, "--module", first, "--delay", "1ms")
        self.assertEqual(answer.code, 0, answer)
        target.ask("forwards", "main", 1)
        target.ask("drop", "main")
        self.eventually(lambda: target.ask("forwards", "larger", 1) and self.most_calls(session, first) > 12, 10,
                        "the first place for the model that is left")
        target.ask("make", "main")
        last = self.finish(session, target)
        self.assertGreater(rows(last)[first]["delayed_calls"], 1)
        self.assertEqual((rows(last)[second]["calls"], rows(last)[second]["delayed_calls"]), (7, 0))
        self.assert_ends_well(target)

    def most_calls(self, session, path):
        return max(rows(update).get(path, {"calls": 0})["calls"] for update in list(session.updates))

    def test_a_model_that_is_put_into_another(self):
        """Its modules have other paths then: what is slowed no more is told, and is no pattern that matched nothing."""
        target = self.model()
        session = self.attach(target, "--module", Q_PROJ, "--interval", "100ms")
        target.ask("forwards", "main", 5)
        target.ask("wrap", "main", "wrapped")
        self.wait_targets(session, 0)
        target.ask("forwards", "main", 5)
        last = self.finish(session, target)
        [pattern] = last["patterns"]
        self.assertEqual((pattern["status"], pattern["calls"]), ("GONE", 5))
        self.assertIn("has another path by now", " ".join(last["warnings"]))
        self.assertEqual(rows(last)["top.layers.1.attn.q_proj"]["calls"], 5)
        self.assert_ends_well(target)

    def test_a_daemon_that_is_killed(self):
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        target = self.model()
        session = self.attach(target, "--module", "top*", "--delay", "1ms", daemon=daemon)
        target.send("forwards", "main", 20)
        session.wait_calls(10)
        daemon.kill()
        target.answer()
        daemon = self.start_daemon(state_dir=state_dir)
        self.assertLess(max(target.ask("forwards", "main", 20)), 0.5 * MS)
        self.eventually(lambda: daemon.journals() == [], 10, "the clean-up")
        self.assert_nothing_left(target, daemon, after_kill=True)
        self.assert_ends_well(target)


class LimitsTest(ModelCase):
    def test_a_session_that_weighs_too_much_ends(self):
        target = self.model()
        session = self.attach(target, "--module", "top*", "--delay", "1ms", "--max-duty", "5%", "--interval", "100ms")
        target.send("forwards", "main", 200)
        last = session.wait_end()
        self.assertEqual(session.code, ENDED_EARLY, session.errors)
        self.assertRegex(last["end"]["reason"], "^guardrail: at least .* of the time was injected")
        self.assert_clean_proof(last)
        target.answer()
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


class RefusalTest(ModelCase):
    def test_bad_targets(self):
        target = self.model()
        for text, word in (("re:(", "regular expression"), ("", "empty"), ("top @delay=20ms", "10ms"),
                           ("top @every=0", "every")):
            with self.subTest(text=text):
                answer = self.daemon.ctl("attach", "--pid", target.pid, "--module", text)
                self.assert_refused(answer, BAD_TARGETS, "--module", word)
        self.assert_ends_well(target)

    def test_what_is_not_called_by_the_interpreter(self):
        target = self.model()
        answer = self.daemon.ctl("attach", "--pid", target.pid, "--module", "*", "--module-root", "protocol.NoSuch",
                                 "--duration", "1s")
        self.assertEqual(answer.code, NO_MATCH, answer)
        self.assertIn("has not imported protocol.NoSuch", answer.err + answer.out)
        answer = self.daemon.ctl("attach", "--pid", target.pid, "--module", "*", "--module-root", "threading.Thread")
        self.assert_refused(answer, UNSUPPORTED, target.pid, "threading.Thread", "it has no __call__")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
