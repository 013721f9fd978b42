"""`sbumpctl graph`: what a model calls, and which tensor goes where; torch.fx's own graph is the truth."""
import json
import os
import shutil
import subprocess
import threading
import xml.etree.ElementTree

from harness import traces
from harness.case import each_interpreter, each_with_torch, main
from harness.graph import edges_of, nodes_of, plain, truth
from harness.models import ModelCase

UNSUPPORTED, BAD_TARGETS, NO_MATCH = 5, 3, 7


class GraphCase(ModelCase):
    def start(self, python):
        target = self.start_target(python, "graph_model.py")
        target.own_text = traces.changed_text(target.pid)
        return target

    def capture(self, target, call, *arguments, command=("graph",), code=0):
        """What is told of what `call` does."""
        begun = self.daemon.log.count("session_active")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            self.daemon.ctl(*command, "--pid", target.pid, *arguments)))
        thread.start()
        self.eventually(lambda: self.daemon.log.count("session_active") > begun or answers, 20, "an attach")
        call()
        thread.join(60)
        self.assertEqual(answers[0].code, code, answers[0])
        self.assert_nothing_left(target)
        return answers[0]

    def graph(self, target, call, *arguments):
        answer = self.capture(target, call, "--format", "json", *arguments)
        self.assertEqual(answer.out.count("\n"), 1)
        return json.loads(answer.out)


class TruthTest(GraphCase):
    @each_with_torch
    def test_the_graph_is_that_of_torch_fx(self, python):
        target = self.start(python)
        nodes, edges = truth(target)
        graph = self.graph(target, lambda: target.ask("forward", 40), "--forwards", 40)
        self.assertEqual(nodes_of(graph), [node[:4] for node in nodes])
        self.assertEqual(edges_of(graph), edges)
        self.assertEqual(graph["forwards"], 40)
        self.assertGreaterEqual(graph["identical"], 38)
        # But for Python's own operators, which torch calls otherwise.
        self.assertEqual([node["name"] for node in graph["nodes"]], [node[4].replace("truediv", "div") for node in nodes])
        self.assert_ends_well(target)

    @each_with_torch
    def test_operators_within_torch_s_own_modules(self, python):
        target = self.start(python)
        nodes, edges = truth(target, False)
        graph = self.graph(target, lambda: target.ask("forward", 20), "--forwards", 20, "--no-leaf")
        self.assertEqual(nodes_of(graph), [node[:4] for node in nodes])
        self.assertEqual(edges_of(graph), edges)
        functions = [plain(node) for node in graph["nodes"] if node["op"] == "call_function"]
        self.assertIn(["call_function", "linear", "top.layers.1.attn.q_proj", "Linear"], functions)
        self.assertIn(["call_function", "layer_norm", "top.layers.0.norm", "LayerNorm"], functions)
        self.assertEqual([node for node in graph["nodes"] if node["op"] == "call_module"], [])
        weights = [node["target"] for node in graph["nodes"] if node["op"] == "get_attr"]
        self.assertIn("layers.2.mlp.0.weight", weights)
        graph = self.graph(target, lambda: target.ask("forward", 5), "--forwards", 5, "--no-leaf", "--scope-style", "dmx")
        self.assertIn("model__layers.1__layers.1.attn__layers.1.attn.q_proj",
                      {node["scope"]["module_path"] for node in graph["nodes"]})
        self.assert_ends_well(target)

    @each_with_torch
    def test_blocks_as_leaves(self, python):
        target = self.start(python)
        graph = self.graph(target, lambda: target.ask("forward", 5), "--forwards", 5, "--leaf", "Block", "--scope-style", "dmx")
        calls = [node["target"] for node in graph["nodes"] if node["op"] == "call_module"]
        self.assertEqual(calls, ["embed", "layers.0", "layers.1", "layers.2", "head"])
        [scope] = [node["scope"] for node in graph["nodes"] if node["target"] == "layers.1"]
        self.assertEqual(scope, {"module_path": "model__layers.1", "module_type": "Block"})
        self.assert_ends_well(target)

    @each_with_torch
    def test_children_of_a_path_as_leaves(self, python):
        target = self.start(python)
        nodes, edges = truth(target, True, "layers.1")
        graph = self.graph(target, lambda: target.ask("forward", 20), "--forwards", 20, "--until", "layers.1")
        self.assertEqual(nodes_of(graph), [node[:4] for node in nodes])
        self.assertEqual(edges_of(graph), edges)
        calls = [node["target"] for node in graph["nodes"] if node["op"] == "call_module"]
        self.assertIn("layers.1.attn", calls)
        self.assertIn("layers.0.attn.q_proj", calls)
        answer = self.daemon.ctl("graph", "--pid", target.pid, "--until", "layers.7")
        self.assert_refused(answer, NO_MATCH, target.pid, "layers.7", "no such module")
        self.assert_ends_well(target)

    @each_with_torch
    def test_what_depends_on_the_data(self, python):
        """torch.fx refuses that. An operator that raises is left out, and those after it are not."""
        target = self.start(python)
        target.ask("make", "branches")
        graph = self.graph(target, lambda: target.ask("branch", [-1] * 7 + [1] * 3), "--forwards", 10)
        self.assertEqual((graph["forwards"], graph["variant_forwards"], graph["variants"]), (10, 7, 2))
        names = [node["name"] for node in graph["nodes"]]
        self.assertIn("common", names)
        self.assertNotIn("rare", names)
        self.assertLess(names.index("gt"), names.index("relu"))
        self.assertIn({"from": "relu", "to": "common", "confidence": 1}, graph["edges"])
        self.assert_ends_well(target)

    @each_with_torch
    def test_deep_stacks_and_threads(self, python):
        target = self.start(python)
        graph = self.graph(target, lambda: target.ask("in_threads", 4, 10), "--forwards", 40)
        self.assertEqual(edges_of(graph), truth(target)[1])
        self.assertGreaterEqual(graph["identical"], 36)
        target.ask("make", "recursive")
        graph = self.graph(target, lambda: target.ask("recurse", 5), "--forwards", 5)
        self.assertEqual([node["name"] for node in graph["nodes"]],
                         ["x", "fc", "sigmoid", "add"] + ["add_%d" % i for i in range(1, 100)] + ["output"])
        self.assertEqual(len(graph["edges"]), 103)
        self.assert_ends_well(target)


class UseTest(GraphCase):
    @each_with_torch
    def test_chains_of_nodes(self, python):
        target = self.start(python)
        find = ("schedule", "find")
        answer = self.capture(target, lambda: target.ask("forward", 20), "--pattern", "matmul > div > add > softmax",
                              "--format", "json", command=find)
        self.assertEqual([[node["parent"] for node in chain] for chain in json.loads(answer.out)["subgraphs"]],
                         [["top.layers.%d.attn" % i] * 4 for i in range(3)])
        answer = self.capture(target, lambda: target.ask("forward", 20), "--pattern", 'linear > gelu > module("layers.*mlp.2")',
                              "--format", "json", command=find)
        self.assertEqual([chain[0]["target"] for chain in json.loads(answer.out)["subgraphs"]],
                         ["layers.%d.mlp.0" % i for i in range(3)])
        self.capture(target, lambda: target.ask("forward", 20), "--pattern", "softmax > softmax", command=find, code=NO_MATCH)
        self.assert_refused(self.daemon.ctl(*find, "--pid", target.pid, "--pattern", "a > > b"), BAD_TARGETS, "pattern")
        self.assert_ends_well(target)

    @each_with_torch
    def test_graphviz_draws_it(self, python):
        target = self.start(python)
        path = os.path.join(self.scratch, "graph.dot")
        self.capture(target, lambda: target.ask("forward", 5), "--forwards", 5, "-o", path)
        drawn = subprocess.run([shutil.which("dot"), "-Tsvg", path], capture_output=True, check=True)
        self.assertEqual(drawn.stderr, b"")
        svg = xml.etree.ElementTree.fromstring(drawn.stdout)
        classes = [element.get("class") for element in svg.iter("{http://www.w3.org/2000/svg}g")]
        nodes, edges = truth(target)
        self.assertEqual((classes.count("node"), classes.count("edge")), (len(nodes), len(edges)))
        self.assertGreater(classes.count("cluster"), 6)
        self.assert_ends_well(target)

    @each_with_torch
    def test_losses_and_gradients_are_the_same_to_the_bit(self, python):
        target = self.start(python)
        alone = target.ask("train", 12)
        figures = []
        self.capture(target, lambda: figures.extend(target.ask("train", 12)), "--forwards", 10)
        self.assertEqual(figures, alone)
        self.assert_ends_well(target)


class FaultTest(GraphCase):
    @each_with_torch
    def test_a_daemon_that_is_killed(self, python):
        """With some 6,000 breakpoints in the process."""
        state_dir = os.path.join(self.scratch, "state-%s" % python.name)
        self.daemon = self.start_daemon(state_dir=state_dir)
        target = self.start(python)
        alone = target.ask("forward", 5)
        target.ask("forward_for_ever")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            self.daemon.ctl("graph", "--pid", target.pid, "--forwards", 1000)))
        thread.start()
        self.eventually(lambda: self.daemon.log.count("session_active") or answers, 20, "an attach")
        self.assertEqual(answers, [])
        self.assertGreater(len(traces.changed_text(target.pid)), 5000)
        self.daemon.kill()
        thread.join(30)
        self.assertNotEqual(answers[0].code, 0)
        self.eventually(lambda: traces.changed_text(target.pid) == target.own_text, 10, "the kernel to take the probes")
        restarted = self.start_daemon(state_dir=state_dir)
        self.eventually(lambda: restarted.journals() == [], 20, "what the journal says to be looked at")
        self.assertEqual(target.ask("forward", 5), alone)

    @each_interpreter
    def test_a_process_without_torch_s_operators(self, python):
        target = self.model(python)
        answer = self.daemon.ctl("graph", "--pid", target.pid)
        self.assert_refused(answer, UNSUPPORTED, "free-threaded" if python.free_threaded else "libtorch_cpu.so")
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
