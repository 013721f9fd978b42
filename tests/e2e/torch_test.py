"""Debian's PyTorch. The stub's tests (modules_test, module_delay_test) are the wide ones; these are on the real thing."""
from harness.case import each_with_torch, main
from harness.models import ModelCase


class RealTorchTest(ModelCase):
    @each_with_torch
    def test_the_tree_is_the_process_s_own(self, python):
        target = self.model(python, "torch")
        reply = self.modules(target)
        self.assert_told_truly(target, reply)
        self.assertEqual(reply["ties"], [{"names": ["top.embed.weight", "top.lm_head.weight"], "same_tensor": True}])
        self.assertEqual({tensor["dtype"] for module in reply["modules"] for tensor in module["parameters"].values()},
                         {"float32"})
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
    def test_scripted_modules_are_said_to_be_opaque(self, python):
        target = self.model(python, "torch")
        target.ask("script", "traced")
        reply = self.modules(target)
        opaque = [module for module in reply["modules"] if module["note"]]
        self.assertIn("TorchScript", opaque[0]["note"])
        self.assertEqual([module["path"] for module in reply["modules"]].count("top"), 1)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
