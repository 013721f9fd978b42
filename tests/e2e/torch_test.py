"""Debian's PyTorch. The stub's tests (modules_test, module_delay_test) are the wide ones; these are on the real thing."""
from harness.case import each_with_torch, main
from harness.models import rows
from harness.spans import SPANS_OF_FORWARD, SpansCase


class RealTorchTest(SpansCase):
    @each_with_torch
    def test_the_tree_is_the_process_s_own(self, python):
        target = self.model(python, "torch")
        reply = self.modules(target)
        self.assert_told_truly(target, reply)
        self.assertEqual(reply["ties"], [{"names": ["top.embed.weight", "top.lm_head.weight"], "same_tensor": True}])
        self.assertEqual({tensor["dtype"] for module in reply["modules"] for tensor in module["parameters"].values()},
                         {"float32"})
        target.ask("make_views")
        reply = self.modules(target)
        self.assert_told_truly(target, reply)
        self.assertIn({"names": ["top.view", "top.embed.weight", "top.lm_head.weight"], "same_tensor": False}, reply["ties"])
        [short] = [module for module in reply["modules"] if module["path"] == "top.short"]
        self.assertEqual((short["parameters"]["weight"]["dtype"], short["buffers"]["steps"]["dtype"]), ("float16", "int64"))
        self.assertGreater(target.ask("make_each_dtype"), 10)
        told = {module["path"]: {name: [tensor["dtype"], tensor["device"]] for kind in ("parameters", "buffers")
                                 for name, tensor in module[kind].items()} for module in self.modules(target)["modules"]}
        true = target.ask("tensors")
        self.assertEqual({path: {name: one for name, one in tensors.items() if one != true[path][name]}
                          for path, tensors in told.items() if tensors != true[path]}, {})
        self.assertEqual(told, true)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)

    @each_with_torch
    def test_one_layer_of_three_is_slowed(self, python):
        target = self.model(python, "torch")
        self.check_one_slow_layer(target)
        self.assert_ends_well(target)

    @each_with_torch
    def test_losses_and_gradients_are_the_same_to_the_bit(self, python):
        target = self.model(python, "torch")
        alone = target.ask("train", 7, 20)
        session = self.attach(target, "--module", "top*", "--delay", "20us", "--target", "*/transformer.py:*")
        self.assertEqual(target.ask("train", 7, 20), alone)
        last = self.finish(session, target)
        self.assertGreater(sum(row["delayed_calls"] for row in last["targets"]), 500)
        self.assertNotEqual(target.ask("train", 8, 20), alone)
        self.assert_ends_well(target)

    @each_with_torch
    def test_spans_are_those_of_an_in_process_tracer(self, python):
        target = self.odd_model(python, "torch")
        target.ask("make_each_type")
        self.assert_told_truly(target, self.modules(target))
        expected = target.ask("oracle")
        told = self.text_of(target, lambda: target.ask("odd_calls"), style="pythooks")
        self.assertEqual(told.splitlines(), expected)
        self.check_hooks(target)
        self.assert_ends_well(target)

    @each_with_torch
    def test_spans_of_each_type_by_its_own_forward(self, python):
        target = self.model(python, "torch")
        target.ask("make_each_type")
        alone = target.ask("call_each_type")
        expected = target.ask("oracle", "call_each_type")
        results = []
        told = self.text_of(target, lambda: results.append(target.ask("call_each_type")), style="pythooks")
        self.assertEqual(told.splitlines(), expected)
        self.assertEqual(results, [alone])
        self.assert_ends_well(target)

    @each_with_torch
    def test_losses_and_gradients_are_the_same_while_each_call_is_told(self, python):
        target = self.model(python, "torch")
        alone = target.ask("train", 7, 20)
        spans = self.start_spans(target)
        self.assertEqual(target.ask("train", 7, 20), alone)
        self.assertEqual(spans.stop().count('"path":"top",'), 20)
        self.assert_ends_well(target)

    @each_with_torch
    def test_threads(self, python):
        target = self.odd_model(python, "torch")
        self.check_threads(target)
        self.assert_ends_well(target)

    @each_with_torch
    def test_two_models(self, python):
        """Of one size: which is the first goes by their addresses."""
        target = self.model(python, "torch")
        target.ask("make", "other")
        q_projs = [prefix + ".layers.1.attn.q_proj" for prefix in ("top", "top#2")]
        session = self.attach(target, "--module", q_projs[0], "--module", q_projs[1] + " @delay=2ms")
        for name, count in [("main", 30), ("other", 40)]:
            target.ask("forwards", name, count)
        last = self.finish(session, target)
        found = rows(last)
        self.assertIn([found[path]["calls"] for path in q_projs], ([30, 40], [40, 30]))
        self.assertEqual([found[path]["delayed_calls"] for path in q_projs], [0, found[q_projs[1]]["calls"]])
        self.assert_ends_well(target)

    @each_with_torch
    def test_hooks_of_its_own(self, python):
        target = self.model(python, "torch")
        target.ask("add_hooks")
        alone = target.ask("train", 7, 5)
        self.assertEqual(target.ask("take_hook_calls"), ["before", "after"] * 5)
        spans = self.start_spans(target, "--delay", "20us")
        self.assertEqual(target.ask("train", 7, 5), alone)
        self.assertEqual(spans.stop().count('"path":"top.layers.1",'), 5)
        self.assertEqual(target.ask("take_hook_calls"), ["before", "after"] * 5)
        self.check_replaced_inputs(target)
        self.assert_ends_well(target)

    @each_with_torch
    def test_batches_of_forked_workers(self, python):
        target = self.model(python, "torch")
        alone = target.ask("load", 2, 8)
        spans = self.start_spans(target)
        self.assertEqual(target.ask("load", 2, 8), alone)
        self.assertEqual(spans.stop().count("\n"), 8 * SPANS_OF_FORWARD)
        self.assert_ends_well(target)

    @each_with_torch
    def test_a_compiled_model_is_a_span_without_its_layers(self, python):
        """What it compiles it does not call as modules; where torch gives up on a part, that part it does."""
        reasons = {}
        for backend in ("eager", "aot_eager", "inductor"):
            target = self.model(python, "torch")
            why = target.ask("compile_main", backend)
            if why is None:
                self.check_compiled(target)
            else:
                reasons[backend] = why
            self.assert_ends_well(target)
        if reasons.get("eager") == "this torch has no torch.compile":
            self.skipTest(reasons["eager"])
        print("torch.compile did not work with: %s" % (reasons or "none"))
        self.assertLessEqual(set(reasons), {"inductor"})

    def check_compiled(self, target):
        alone, results = target.ask("outputs", "main"), []
        spans = self.spans_of(target, lambda: results.append(target.ask("outputs", "main")), "--delay", "50us")
        self.assertEqual(results, [alone])
        self.assertIn("OptimizedModule", {span["type"] for span in spans if span["depth"] == 0})
        self.assertFalse([span["path"] for span in spans if span["path"].endswith("_proj")])

    @each_with_torch
    def test_scripted_modules_are_said_to_be_opaque(self, python):
        target = self.model(python, "torch")
        target.ask("script", "traced")
        reply = self.modules(target)
        opaque = [module for module in reply["modules"] if module["note"]]
        self.assertIn("TorchScript", opaque[0]["note"])
        self.assertEqual([module["path"] for module in reply["modules"]].count("top"), 1)
        alone, results = target.ask("call_script", "traced"), []
        spans = self.spans_of(target, lambda: results.append(target.ask("call_script", "traced")), "--delay", "50us")
        self.assertEqual(results, [alone])
        self.assertEqual([(span["type"], span["depth"]) for span in spans], [("TopLevelTracedModule", 0)])
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
