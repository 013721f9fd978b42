"""A model as a schedule: its nodes as slapo names them, and files that say what is done at each."""
import json
import os

from harness.case import each_mechanism, main
from harness.family import FamilyCase
from harness.models import MS, ModelCase, rows
from harness.session import Session

BAD_ARGUMENTS, BAD_TARGETS, NO_PROCESS, UNSUPPORTED, NO_MATCH, PRECONDITION = 2, 3, 4, 5, 7, 13
LINEARS_OF_LAYER_1 = {"top.layers.1.attn.q_proj", "top.layers.1.attn.k_proj", "top.layers.1.attn.out_proj"}


class ScheduleCase(ModelCase):
    def ask(self, target, *arguments):
        answer = self.daemon.ctl("schedule", *arguments, "--pid", target.pid, "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual(answer.out.count("\n"), 1)
        return json.loads(answer.out)["nodes"]

    def write(self, text, name="schedule.yaml"):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def apply(self, target, text, *arguments):
        session = Session(self.daemon, "apply", self.write("version: 1\nschedule:\n" + text), "--pid", target.pid, *arguments,
                          command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        return session


class NodesTest(ScheduleCase):
    @each_mechanism
    def test_nodes_are_those_that_slapo_makes(self, python):
        target = self.model(python)
        for prefix in ("top", "", "a.b"):
            if not python.free_threaded:
                told = [(node["path"], node["parent"], node["name"]) for node in self.ask(target, "list", "--prefix", prefix)]
                self.assertEqual(told, [tuple(one) for one in target.ask("schedules", prefix)])
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_find(self):
        target = self.model()
        found = self.ask(target, "find", "(q|k)_proj$")
        self.assertEqual([(node["parent"], node["name"]) for node in found],
                         [("top.layers.%d.attn" % layer, name) for layer in range(3) for name in ("q_proj", "k_proj")])
        self.assertEqual([node["path"] for node in self.ask(target, "find", r"layers\.[01]$")], ["top.layers.0", "top.layers.1"])
        answer = self.daemon.ctl("schedule", "find", "proj", "--pid", target.pid)  # from the name's begin on
        self.assert_refused(answer, NO_MATCH, "no node")
        self.assert_ends_well(target)

    def test_a_model_without_a_name(self):
        """As slapo's named_schedules() names it unless it is told otherwise."""
        target = self.model()
        self.assertEqual([node["path"] for node in self.ask(target, "find", r"layers\.[01]$", "--prefix", "")],
                         ["layers.0", "layers.1"])
        self.assertEqual([node["path"] for node in self.ask(target, "list", "layers.2", "--prefix", "", "--until", "layers.2")],
                         ["layers.2", *("layers.2." + name for name in ("attn", "norm", "act", "drop", "skip"))])
        top = [node["path"] for node in self.ask(target, "list", "--prefix", "", "--until", "")]
        self.assertEqual(top, ["", "embed", "layers.0", "layers.1", "layers.2", "vision", "lm_head"])
        self.assert_ends_well(target)

    def test_another_tree(self):
        """Whose objects hold others in lists and dicts."""
        target = self.start_target(None, "models.py", "2.13")
        target.ask("make_things")
        tree = ("--root", "__main__.Thing", "--prefix", "root")
        self.assertEqual([(node["parent"], node["name"]) for node in self.ask(target, "list", *tree)],
                         [("", "root"), ("root", "first"), ("root.first", "first"), ("root", "rest.1"), ("root", "by_name.x")])
        self.assertEqual([node["path"] for node in self.ask(target, "find", r"rest\.1", *tree)], ["root.rest.1"])
        self.assertEqual([node["path"] for node in self.ask(target, "list", "--until", "root", *tree)],
                         ["root", "root.first", "root.rest.1", "root.by_name.x"])
        self.assert_ends_well(target)

    def test_a_part_of_the_tree(self):
        target = self.model()
        of_layer = [node["path"] for node in self.ask(target, "list") if (node["path"] + ".").startswith("top.layers.1.")]
        self.assertGreater(len(of_layer), 3)
        for path in ("layers.1", "top.layers.1"):
            self.assertEqual([node["path"] for node in self.ask(target, "list", path)], of_layer)
        self.assertEqual([node["path"] for node in self.ask(target, "list", "layers.1", "--until", "layers.1")],
                         [path for path in of_layer if path.count(".") < 4])
        found = self.ask(target, "find", "(q|k)_proj$", "--until", "layers.0", "--until", "top.layers.1")
        self.assertEqual([node["path"] for node in found], ["top.layers.2.attn.q_proj", "top.layers.2.attn.k_proj"])
        self.assert_ends_well(target)

    def test_primitives(self):
        answer = self.daemon.ctl("schedule", "primitives", "--format", "json")
        told = json.loads(answer.out)
        self.assertEqual({one["name"] for one in told["primitives"]},
                         {"delay", "skip", "span", "count", "shapes", "tag", "until", "sample"})
        # All of slapo's list_primitives().
        self.assertEqual({one["name"] for one in told["not_offered"]},
                         {"annotate", "checkpoint", "fuse", "decompose", "cut_pipeline_stage", "replace", "replace_all", "shard",
                          "sync", "fork_rng"})
        self.assertIn("rewrites the program", self.daemon.ctl("schedule", "primitives").out)


class ApplyTest(ScheduleCase, FamilyCase):
    def test_each_primitive(self):
        target = self.model()
        path = os.path.join(self.scratch, "spans.jsonl")
        session = self.apply(target, """
  - {module: top.layers.1.attn.q_proj, delay: 1ms, sample: 2, tag: hot}
  - {module: 're:top\\.layers\\.1\\.', count: true, tag: layer}
  - {module: top.lm_head, tag: head}
  - {module: top.lm_head, tag: later}
  - {module: 'type:Linear', span: true}
  - {module: top.layers.0.drop, span: true}
  - {module: top.layers.2.*, skip: true}
""", "--spans", path)
        target.ask("forwards", "main", 10)
        last = self.finish(session, target)
        found = {name: row for name, row in rows(last).items() if row["calls"]}
        self.assertEqual((found["top.layers.1.attn.q_proj"]["delayed_calls"],
                          found["top.layers.1.attn.q_proj"]["requested_delay_ns"]), (5, 5 * MS))
        self.assertEqual({name for name in found if name.startswith("top.layers.2")}, set())
        self.assertEqual({row["calls"] for row in found.values()}, {10})
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        self.assertEqual({span["path"] for span in spans}, LINEARS_OF_LAYER_1 | {"top.lm_head", "top.layers.0.drop"} |
                         {name.replace("layers.1", "layers.0") for name in LINEARS_OF_LAYER_1})
        self.assertEqual(len(spans), 10 * 8)
        self.assertIn("tag hot: 1 modules, 10 calls, 5 delayed", session.errors)
        self.assertIn("tag layer: 7 modules, 70 calls, 0 delayed", session.errors)
        # Of entries with the same pattern, too.
        self.assertIn("tag head: 1 modules, 10 calls, 0 delayed", session.errors)
        self.assertIn("tag later: 0 modules, 0 calls", session.errors)
        self.assert_ends_well(target)

    def test_until(self):
        target = self.model()
        session = self.apply(target, "  - {module: top*, count: true}\n  - {module: top, until: true}\n")
        target.ask("forwards", "main", 2)
        called = {name for name, row in rows(self.finish(session, target)).items() if row["calls"]}
        self.assertEqual(called, {"top", "top.embed", "top.lm_head", "top.layers.0", "top.layers.1", "top.layers.2"})
        self.assert_ends_well(target)

    def test_what_is_listed_can_be_applied(self):
        target = self.model()
        session = self.attach(target, "--module", "top.layers.0.act @delay=20us @every=4", "--module", "top.embed")
        listed = {node["path"]: node["does"] for node in self.ask(target, "list") if node["does"]}
        self.assertEqual(listed, {"top.layers.0.act": {"delay": "20us", "sample": "4"}, "top.embed": {"count": "true"}})
        text = self.daemon.ctl("schedule", "list", "--pid", target.pid, "--format", "yaml").out
        session.finish()
        session = Session(self.daemon, "apply", self.write(text), "--pid", target.pid, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        target.ask("forwards", "main", 8)
        found = rows(self.finish(session, target))
        self.assertEqual({name: (row["calls"], row["delayed_calls"]) for name, row in found.items()},
                         {"top.layers.0.act": (8, 2), "top.embed": (8, 0)})
        self.assert_ends_well(target)

    def test_spans_that_are_listed_can_be_applied_as_json(self):
        target = self.model()
        session = self.apply(target, "  - {module: 'type:Linear', span: true, delay: 10us}\n  - {module: top, count: true}\n")
        answer = self.daemon.ctl("schedule", "list", "--pid", target.pid, "--format", "json")
        saved = json.loads(answer.out)["schedule"]
        session.finish()
        self.assertEqual(saved["schedule"][0], {"module": "top", "count": True})
        self.assertIn({"module": "top.layers.1.attn.q_proj", "delay": "10us", "span": True}, saved["schedule"])
        path = os.path.join(self.scratch, "spans.jsonl")
        session = Session(self.daemon, "apply", self.write(json.dumps(saved), "schedule.json"), "--pid", target.pid, "--spans",
                          path, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        target.ask("forwards", "main", 3)
        found = {path: (row["calls"], row["delayed_calls"]) for path, row in rows(self.finish(session, target)).items()}
        self.assertEqual((found.pop("top"), set(found.values()), len(found)), ((3, 0), {(3, 3)}, 10))
        with open(path, encoding="utf-8") as file:
            spans = [json.loads(line) for line in file]
        self.assertEqual(({span["type"] for span in spans}, len(spans)), ({"Linear"}, 30))
        self.assert_ends_well(target)

    def test_until_is_looked_up_at_once(self):
        """Where there is no model yet, other schedules wait for one."""
        target = self.start_target(None, "models.py", "2.13")
        count = "version: 1\nschedule:\n  - {module: top*, count: true}\n"
        answer = self.daemon.ctl("schedule", "apply", self.write(count + "  - {module: top, until: true}\n"), "--pid", target.pid)
        self.assert_refused(answer, PRECONDITION, "until: its module is looked up now")
        session = Session(self.daemon, "apply", self.write(count), "--pid", target.pid, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        target.ask("make", "main")
        self.wait_targets(session, 40)
        self.finish(session, target)
        self.assert_ends_well(target)

    def saved(self, target, *arguments):
        """The entries that a list saves, and what it says."""
        answer = self.daemon.ctl("schedule", "list", "--pid", target.pid, "--format", "yaml", *arguments)
        self.assertEqual(answer.code, 0, answer)
        return [line.partition("module: ")[2].strip('"') for line in answer.out.splitlines() if "module: " in line], answer

    def test_what_is_done_at_what_is_no_node_is_listed(self):
        target = self.model()
        session = self.attach(target, "--module", "top.layers", "--module", "top.layers.0.act @delay=20us")
        self.assertEqual(self.saved(target)[0], ["top.layers", "top.layers.0.act"])
        self.assertIn("top.layers", [node["path"] for node in self.ask(target, "list") if node["does"]])
        session.finish()
        self.assert_ends_well(target)

    def test_what_is_done_in_another_tree_is_said(self):
        target = self.model()
        session = self.attach(target, "--module-prefix", "", "--module", "re:$", "--module", "embed")
        entries, answer = self.saved(target)
        self.assertEqual(entries, [])
        self.assertIn('2 modules that this tree does not have', answer.err)
        self.assertIn('"", embed', answer.err)
        entries, answer = self.saved(target, "--prefix", "")
        self.assertEqual((entries, answer.err), (["re:$", "embed"], ""))
        session.finish()
        session = Session(self.daemon, "apply", self.write(answer.out), "--pid", target.pid, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        self.assertEqual(target.ask("forward", "main"), [2, 5, 11])
        found = rows(self.finish(session, target))
        self.assertEqual({name: row["calls"] for name, row in found.items()}, {"": 1, "embed": 1})
        self.assert_ends_well(target)

    def test_delays_by_sleep_can_be_saved(self):
        target = self.model()
        session = self.attach(target, "--mode", "sleep", "--module", "top.embed @delay=50ms")
        text = self.saved(target)[1].out
        session.finish()
        session = Session(self.daemon, "apply", self.write(text), "--pid", target.pid, command="schedule")
        self.addCleanup(session.kill)
        session.wait_active()
        target.ask("forwards", "main", 2)
        last = self.finish(session, target)
        self.assertEqual((last["mode"], rows(last)["top.embed"]["requested_delay_ns"]), ("SLEEP", 100 * MS))
        self.assert_ends_well(target)

    def test_of_several_processes(self):
        target = self.model()
        child = target.ask("fork")
        session = self.attach(target, "-C", "--module", "top.embed @delay=20us")
        self.wait_members(session, [target.pid, child])
        target.ask("forwards", "main", 3)
        target.ask("forward_in_fork", 10)

        def calls_in(pid):
            nodes = json.loads(self.daemon.ctl("schedule", "list", "--pid", pid, "--format", "json").out)["nodes"]
            return {node["path"]: (node["does"], node["calls"]) for node in nodes if node["does"]}
        for pid, calls in ((target.pid, 3), (child, 11)):
            self.eventually(lambda: calls_in(pid) == {"top.embed": ({"delay": "20us"}, calls)}, 5, "what is done in %d" % pid)
        session.finish()
        self.assertEqual(target.ask("end_forks"), [0])
        self.assert_ends_well(target)

    def test_a_process_without_torch(self):
        target = self.start_target(script="steady.py")
        for arguments in (("list",), ("find", "a"), ("find", "--pattern", "exp")):
            answer = self.daemon.ctl("schedule", *arguments, "--pid", target.pid)
            self.assert_refused(answer, UNSUPPORTED, target.pid, "has not imported torch")
        session = self.apply(target, "  - {module: top, count: true}\n")  # waits for what comes
        self.assertIn("has not imported torch", json.dumps(session.updates[-1]["patterns"]))
        session.finish()
        target.ask("finish")
        self.assert_ends_well(target)

    def test_bad_arguments(self):
        target = self.model()
        good = self.write("version: 1\nschedule: [{module: top, count: true}]\n")
        for code, word, arguments in ((BAD_ARGUMENTS, "--pid", ("list",)), (BAD_ARGUMENTS, "regular expression", ("find",)),
                                      (BAD_ARGUMENTS, "file", ("apply",)), (NO_MATCH, "no node x", ("list", "x")),
                                      (NO_MATCH, "no node x", ("find", "a", "--until", "x")),
                                      (BAD_ARGUMENTS, "takes no", ("primitives", "x")),
                                      (BAD_ARGUMENTS, "--until", ("apply", good, "--until", "top")),
                                      (BAD_ARGUMENTS, "in the file", ("apply", good, "--prefix", "model")),
                                      (BAD_ARGUMENTS, "in the file", ("apply", good, "--root", "app.Stage")),
                                      (BAD_ARGUMENTS, "--within-leaves", ("apply", good, "--within-leaves")),
                                      (BAD_ARGUMENTS, "--within-leaves", ("find", "--pattern", "exp", "--within-leaves")),
                                      (BAD_ARGUMENTS, "apply", ("list", "--keep")), (BAD_ARGUMENTS, "", ("shard",)),
                                      (BAD_ARGUMENTS, "list", ("find", "x", "--format", "yaml")),
                                      (BAD_ARGUMENTS, "span", ("apply", good, "--spans", "x.json")),
                                      (BAD_ARGUMENTS, ".jsonl", ("apply", good, "--spans", "x")),
                                      (BAD_TARGETS, "/nowhere", ("apply", "/nowhere")), (BAD_TARGETS, "re:(", ("find", "("))):
            pid = () if word == "--pid" else ("--pid", target.pid)
            with self.subTest(arguments=arguments):
                self.assert_refused(self.daemon.ctl("schedule", *arguments, *pid), code, word)
        answer = self.daemon.ctl("schedule", "apply", self.write("version: 1\nschedule: [{module: top, shard: 2}]\n"), "--pid",
                                 target.pid)
        self.assert_refused(answer, BAD_TARGETS, "schedule.yaml:2: ")
        self.assert_refused(self.daemon.ctl("schedule", "list", "--pid", 2 ** 22 - 1), NO_PROCESS, "")
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
