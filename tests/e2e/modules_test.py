"""The live module tree of a model: what `modules` tells is what the process itself says, on every interpreter."""
import json
import signal
import time

from harness import interpreters
from harness.case import each_interpreter, each_mechanism, main, on_any_interpreter
from harness.child import Child
from harness.daemon import SBUMPCTL, clean_environment
from harness.models import ModelCase, told

BAD_ARGUMENTS, NO_PROCESS, UNSUPPORTED, NO_MATCH, UNREACHABLE, LIMIT, PRECONDITION = 2, 4, 5, 7, 9, 12, 13
MOST_WATCHES = 6

# Of stub_torch.
LAYOUTS = ("1.13", "2.13")


class TreeTest(ModelCase):
    @each_interpreter
    def test_the_tree_is_the_process_s_own(self, python):
        if python.free_threaded:
            target = self.model(python, "2.13")
            answer = self.daemon.ctl("modules", "--pid", target.pid)
            self.assert_refused(answer, UNSUPPORTED, target.pid, "free-threaded")
            return self.assert_ends_well(target)
        for layout in LAYOUTS:
            with self.subTest(layout=layout):
                target = self.model(python, layout)
                reply = self.modules(target)
                self.assert_told_truly(target, reply)
                self.assertEqual((reply["models"], int(reply["stopped_ns"])), (1, 0))
                self.assertEqual(reply["ties"], [{"names": ["top.embed.weight", "top.lm_head.weight"],
                                                  "same_tensor": True}])
                self.assertEqual(sum("one module has two names: top.layers." in warning
                                     for warning in reply["warnings"]), 3, reply["warnings"])
                self.assertEqual(target.ask("forward", "main"), [2, 5, 11])
                self.assert_nothing_left(target)
                self.assert_ends_well(target)

    @each_mechanism
    def test_of_a_process_that_works_all_the_time(self, python):
        target = self.model(python)
        if not python.free_threaded:
            target.ask("forward_for_ever")
            for _ in range(20):
                reply = self.modules(target)
                self.assertEqual((len(reply["modules"]), int(reply["stopped_ns"])), (40, 0))
        self.assert_nothing_left(target)


class SelectionTest(ModelCase):
    def setUp(self):
        super().setUp()
        self.target = self.model(interpreters.any_supported(), "2.13")

    def tearDown(self):
        self.assert_ends_well(self.target)

    def test_patterns(self):
        q_projs = ["top.layers.%d.attn.q_proj" % number for number in range(3)]
        self.assertEqual(self.paths(self.target, "--module", "top.layers.*.q_proj"), q_projs)
        self.assertEqual(self.paths(self.target, "--module", r"re:top\.layers\.[01]\.attn\.q_proj$"), q_projs[:2])
        self.assertEqual(self.paths(self.target, "--module", r"re:top\.layers\.1\..*attn$"), ["top.layers.1.attn"])
        # As re.match() does: from the begin, and to any end.
        self.assertEqual(self.paths(self.target, "--module", r"re:layers"), [])
        self.assertEqual(len(self.paths(self.target, "--module", "re:top.layers.1")), 9)
        self.assertEqual(self.paths(self.target, "--module", "type:Embedding", "--module", "top.lm_head"),
                         ["top.embed", "top.lm_head"])
        # A class takes those derived from it, also by its full name.
        self.assertEqual(self.paths(self.target, "--module", "type:Upsample"), ["top.vision.5", "top.vision.6"])
        self.assertEqual(self.paths(self.target, "--module", "type:torch.nn.modules.conv.*"),
                         ["top.vision.0", "top.vision.7"])

    def modules(self, target, *arguments):
        answer = self.daemon.ctl("modules", "--pid", target.pid, "--format", "json", *arguments)
        self.assertIn(answer.code, (0, NO_MATCH), answer)
        reply = json.loads(answer.out)
        self.assertEqual(answer.code, 0 if reply["modules"] else NO_MATCH, answer)
        return reply

    def test_ints_that_no_double_holds(self):
        [attn] = self.modules(self.target, "--module", "top.layers.0.attn")["modules"]
        self.assertEqual(attn["exact_params"], {"longest": "9223372036854775807", "uneven": "(-1, [9007199254740993])"})
        self.assertNotIn("big", attn["static_params"])  # beyond 63 bits
        answer = self.daemon.ctl("modules", "--pid", self.target.pid, "--module", "top.layers.0.attn")
        self.assertIn("longest=9223372036854775807, ", answer.out)
        self.assertIn("uneven=(-1, [9007199254740993])", answer.out)

    def test_a_class_within_a_class(self):
        self.target.ask("make_inner")
        [inner] = self.modules(self.target, "--module", "top.inner")["modules"]
        self.assertEqual((inner["type"], inner["type_module"], inner["qualified_type"]),
                         ("Inner", "__main__", "__main__.make_inner.<locals>.Outer.Inner"))

    def test_skipped_types(self):
        def skipped(*arguments):
            return {module["type"] for module in self.modules(self.target, *arguments)["modules"] if module["skipped"]}
        self.assertEqual(skipped(), {"Dropout", "Identity"})
        self.assertEqual(skipped("--skip-type", "ReLU"), {"Dropout", "Identity", "ReLU"})
        self.assertEqual(skipped("--no-skip", "--skip-type", "torch.nn.modules.conv._ConvNd"),
                         {"Conv2d", "ConvTranspose2d"})

    def test_prefixes(self):
        self.assertEqual(self.paths(self.target, "--prefix", "Model")[:2], ["Model", "Model.embed"])
        self.assertEqual(self.paths(self.target, "--prefix", "")[:2], ["", "embed"])

    def test_a_tree_for_people(self):
        answer = self.daemon.ctl("modules", self.target.pid)
        self.assertEqual(answer.code, 0, answer)
        lines = answer.out.splitlines()
        self.assertRegex(lines[0], "MODULE +TYPE +PARAMETERS +SETTINGS")
        self.assertRegex(answer.out, r"\n    0 +Block")
        self.assertRegex(answer.out, r"\n        out_proj +Linear +weight \[8, 8\], bias \[8\] +in_features=8")
        self.assertIn("(skipped)", answer.out)
        self.assertIn("40 of 40 modules in 1 model of pid %d" % self.target.pid, answer.out)
        self.assertIn("one tensor: top.embed.weight top.lm_head.weight", answer.out)

    def test_bad_arguments(self):
        for arguments, word in ((["--module", "re:("], "re:("), (["--module", ""], "empty"), (["--module", "type:"], "type"),
                                (["--root", "Model"], "package.module.Class"), (["--format", "table"], "tree"),
                                (["--module", "re:(?=a)"], "regular expression")):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.daemon.ctl("modules", "--pid", self.target.pid, *arguments), BAD_ARGUMENTS, word)
        self.assert_refused(self.daemon.ctl("modules"), BAD_ARGUMENTS, "--pid")

    def test_the_largest_of_several_models_is_the_first(self):
        self.target.ask("make", "small", 4, 1)
        self.target.ask("make", "large", 4, 5)
        reply = self.modules(self.target)
        self.assertEqual(reply["models"], 3)
        by_model = {}
        for module in reply["modules"]:
            by_model.setdefault(module["path"].split(".")[0], []).append(module)
        self.assertEqual(list(by_model), ["top", "top#2", "top#3"])
        for prefix, name in (("top", "large"), ("top#2", "main"), ("top#3", "small")):
            self.assert_told_truly(self.target, {"modules": by_model[prefix]}, name, prefix)

    def test_a_module_that_two_models_hold(self):
        """It is of the first; the second has what is its own."""
        self.target.ask("wrap", "main", "tail", "embed")
        reply = self.modules(self.target)
        *of_main, tail = reply["modules"]
        self.assertEqual((tail["path"], tail["type"], tail["aliases"]), ("top#2", "Sequential", []))
        [embed] = [module for module in of_main if module["path"] == "top.embed"]
        self.assertEqual(embed["aliases"], ["top#2.0"])
        self.assertIn("one module has two names: top.embed and top#2.0", reply["warnings"])
        embed["aliases"] = []
        self.assert_told_truly(self.target, {"modules": of_main})

    def test_another_tree(self):
        self.target.ask("make_things")
        reply = self.modules(self.target, "--root", "__main__.Thing", "--prefix", "root")
        by_path = {module["path"]: module for module in reply["modules"]}
        self.assertEqual({path: module["static_params"]["number"] for path, module in by_path.items()},
                         {"root": 3, "root.first": 2, "root.first.first": 1, "root.rest.1": 5, "root.by_name.x": 6})
        self.assertEqual(by_path["root.first.first"]["aliases"], ["root.rest.0"])
        self.target.ask("make_circle")
        both = self.modules(self.target, "--root", "__main__.Thing", "--prefix", "root")
        self.assertEqual([module["path"] for module in both["modules"]], list(by_path))
        self.assertIn("2 instances are not shown: held in a circle", " ".join(both["warnings"]))


class WatchTest(ModelCase):
    def test_what_appears_and_vanishes_is_told(self):
        target = self.model(interpreters.any_supported(), "2.13", 8, 2)
        target.ask("drop", "main")
        watch = self.watch(target, "--format", "json")
        self.assertEqual(self.next_of(watch)["modules"], [])
        target.ask("make", "main", 8, 2)
        appeared = self.next_of(watch)["appeared"]
        self.assert_told_truly(target, {"modules": appeared}, "main")
        target.ask("set_training", False)
        changed = self.next_of(watch)["changed"]
        self.assertEqual({(module["path"], module["training"]) for module in changed},
                         {(module["path"], False) for module in appeared})
        target.ask("drop", "main")
        self.assertEqual([module["path"] for module in self.next_of(watch)["vanished"]],
                         [module["path"] for module in appeared])
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(), 0, watch.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_a_larger_model_that_comes_later_takes_no_name(self):
        target = self.model(interpreters.any_supported(), "2.13", 8, 2)
        watch = self.watch(target, "--format", "json")
        small = self.next_of(watch)["modules"]
        target.ask("make", "larger", 8, 7)
        change = self.next_of(watch)
        self.assertEqual((change["vanished"], change["changed"]), ([], []))
        self.assert_told_truly(target, {"modules": change["appeared"]}, "larger", "top#2")
        target.ask("drop", "larger")
        change = self.next_of(watch)
        self.assertEqual({module["path"].split(".")[0] for module in change["vanished"]}, {"top#2"})
        self.assertEqual(change["changed"], [])
        self.assert_told_truly(target, {"modules": small}, "main")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(), 0, watch.errors)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_until_the_process_ends(self):
        target = self.model(interpreters.any_supported())
        watch = self.watch(target)
        watch.output.wait_for(40, 10)
        self.assert_ends_well(target)
        self.assertEqual(watch.wait(), 4, watch.errors)

    def test_so_many_at_once(self):
        target = self.model(interpreters.any_supported())
        watches = [self.watch(target) for _ in range(MOST_WATCHES)]
        for watch in watches:
            watch.output.wait_for(40, 10)
        one_more = ("modules", "--pid", target.pid, "--watch")
        self.assert_refused(self.daemon.ctl(*one_more), LIMIT, "%d clients" % MOST_WATCHES)
        self.assertEqual(self.daemon.ctl("modules", "--pid", target.pid).code, 0)
        watches[0].send_signal(signal.SIGINT)
        self.assertEqual(watches[0].wait(), 0, watches[0].errors)
        again = self.watch(target)
        again.output.wait_for(40, 10)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    def test_until_the_daemon_ends(self):
        target = self.model(interpreters.any_supported())
        daemon = self.start_daemon()
        watch = self.watch(target, "--interval", "1h", daemon=daemon)
        watch.output.wait_for(40, 10)
        begin = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.log)
        self.assertLess(time.monotonic() - begin, 2, "waited for the watch")
        self.assertEqual(watch.wait(), UNREACHABLE, watch.errors)
        self.assertIn("shutting down", watch.errors)
        self.assert_ends_well(target)

    def test_bad_arguments(self):
        target = self.model(interpreters.any_supported())
        for wrong, word in ((("--interval", "1s"), "--watch"), (("--watch", "--interval", "1ms"), "50ms")):
            self.assert_refused(self.daemon.ctl("modules", "--pid", target.pid, *wrong), BAD_ARGUMENTS, word)

    def watch(self, target, *arguments, daemon=None):
        arguments = arguments if "--interval" in arguments else ("--interval", "100ms", *arguments)
        child = Child([SBUMPCTL, "--endpoint", (daemon or self.daemon).endpoint, "modules", "--pid", str(target.pid),
                       "--watch", *arguments], env=clean_environment())
        self.addCleanup(child.kill)
        child.told = 0
        return child

    def next_of(self, child):
        child.told += 1
        return json.loads(child.output.wait_for(child.told - 1, 10))


class ChangeTest(ModelCase):
    def test_a_model_that_was_deleted_is_gone_and_one_at_its_place_is_itself(self):
        target = self.model(interpreters.any_supported(), "2.13", 8, 2)
        for width in (8, 16, 8):
            target.ask("drop", "main")
            answer = self.daemon.ctl("modules", "--pid", target.pid)
            self.assert_refused(answer, PRECONDITION, target.pid, "no instance of torch.nn.modules.module.Module")
            target.ask("make", "main", width, 2)
            self.assert_told_truly(target, self.modules(target))
        target.ask("set_training", False)
        self.assert_told_truly(target, self.modules(target))
        self.assert_ends_well(target)

    @on_any_interpreter
    def test_a_model_that_changes_all_the_time(self):
        target = self.model(self.python, "2.13")
        target.ask("mutate")
        for stop in [[]] * 5 + [["--max-stop", "1s"]] * 10:
            answer = self.daemon.ctl("modules", "--pid", target.pid, "--format", "json", *stop)
            if not stop and answer.code != 0:
                self.assert_refused(answer, PRECONDITION, "changed each time", "--max-stop")
                continue
            if stop:
                listed = self.daemon.ctl("schedule", "list", "--pid", target.pid, *stop)
                self.assertEqual(listed.code, 0, listed)
            self.assertEqual(answer.code, 0, answer)
            reply = json.loads(answer.out)
            if not stop and "the modules changed while they were read: this is one moment of them" in reply["warnings"]:
                continue
            still = [told(module) for module in reply["modules"] if module["path"].startswith("top.vision")]
            truth = [module for module in target.ask("truth") if module["path"].startswith("top.vision")]
            self.assertEqual(still, truth, reply["warnings"])
        self.assertGreater(target.ask("settle"), 1000)
        self.assert_told_truly(target, self.modules(target))
        self.assert_ends_well(target)

    def test_a_child_that_is_no_module(self):
        target = self.model(interpreters.any_supported(), "2.13")
        target.ask("lie")
        answer = self.daemon.ctl("modules", "--pid", target.pid)
        self.assert_refused(answer, PRECONDITION, target.pid, "the child fake of a Block is no module")
        target.ask("stop_lying")
        self.assert_told_truly(target, self.modules(target))
        self.assert_ends_well(target)

    def test_a_process_without_torch(self):
        target = self.start_target(script="steady.py")
        answer = self.daemon.ctl("modules", "--pid", target.pid)
        self.assert_refused(answer, UNSUPPORTED, target.pid, "has not imported torch", "--root")
        answer = self.daemon.ctl("modules", "--pid", target.pid, "--root", "json.decoder.NoSuchClass")
        self.assert_refused(answer, UNSUPPORTED, target.pid, "json.decoder.NoSuchClass")
        answer = self.daemon.ctl("modules", "--pid", target.pid, "--root", "json.loads")
        self.assert_refused(answer, BAD_ARGUMENTS, target.pid, "is no class")
        target.ask("finish")
        self.assert_ends_well(target)

    def test_a_process_that_is_no_python(self):
        shell = Child(["/bin/sleep", "100"])
        self.addCleanup(shell.kill)
        self.assert_refused(self.daemon.ctl("modules", "--pid", shell.pid), UNSUPPORTED, shell.pid)
        self.assert_refused(self.daemon.ctl("modules", "--pid", 2 ** 22 + 1), NO_PROCESS, 2 ** 22 + 1)


if __name__ == "__main__":
    main()
