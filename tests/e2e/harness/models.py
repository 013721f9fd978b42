"""What tests of models share: a process that runs models.py, and its own word on its modules."""
import ast
import json

from harness import traces
from harness.case import Case


MS = 1_000_000
Q_PROJ = r"re:top\.layers\.1\.attn\.q_proj$"


def rows(update):
    return {row["qualname"]: row for row in update["targets"]}


def dims_of(tensors):
    return {name: [int(dim) for dim in tensor["dims"]] for name, tensor in tensors.items()}


def settings_of(module):
    """Exact where a double is not, and in the words of JSON, which has no tuples."""
    exact = {name: ast.literal_eval(text) for name, text in module["exact_params"].items()}
    return dict(module["static_params"], **json.loads(json.dumps(exact)))


def told(module):
    """The module in the words of models.py."""
    return {"path": module["path"], "type": module["type"], "training": module.get("training"),
            "qualified_type": module["qualified_type"], "type_module": module["type_module"],
            "parameters": dims_of(module["parameters"]), "buffers": dims_of(module["buffers"]),
            "static_params_text": module["static_params_text"], "static_params": settings_of(module),
            "aliases": module["aliases"]}


class ModelCase(Case):
    def model(self, python=None, kind="2.13", *arguments):
        target = self.start_target(python, "models.py", kind)
        target.ask("make", "main", *arguments)
        # Libraries that torch loads (UCX) put jumps of their own into libc.
        target.own_text = traces.changed_text(target.pid) if kind == "torch" else []
        return target

    def modules(self, target, *arguments):
        answer = self.daemon.ctl("modules", "--pid", target.pid, "--format", "json", *arguments)
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual(answer.out.count("\n"), 1, answer)
        return json.loads(answer.out)

    def paths(self, target, *arguments):
        return [module["path"] for module in self.modules(target, *arguments)["modules"]]

    def wait_targets(self, session, count):
        """Of the first pattern, from now on."""
        known = len(session.updates)
        self.eventually(lambda: any(update["patterns"] and update["patterns"][0]["targets"] == count
                                    for update in session.updates[known:]), 10, "a change of the targets")

    def finish(self, session, target, code=0):
        last = session.finish()
        self.assertEqual(session.code, code, session.errors)
        self.assert_clean_proof(last)
        self.assert_nothing_left(target)
        self.assertEqual(target.ask("forward", "main"), [2, 5, 11])
        return last

    def check_one_slow_layer(self, target):
        """Of three that run the same code. What else runs here may move any of them; a delay would do it each time."""
        before = target.ask("forwards", "main", 100)
        session = self.attach(target, "--module", Q_PROJ, "--delay", "2ms")
        times = [target.ask("forwards", "main", 50) for _ in range(3)]
        moved = [min(now) - then for now, then in zip(zip(*times), before)]
        self.assertGreater(moved[1], 1.9 * MS)
        self.assertLess(moved[1], 2.6 * MS)
        self.assertLess(max(moved[0], moved[2]), 0.2 * MS)
        last = self.finish(session, target)
        row = rows(last)["top.layers.1.attn.q_proj"]
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"]), (150, 150, 300 * MS))
        self.assertEqual((row["filename"], row["module_type"], row["pid"], row["threads_seen"]),
                         ("", "torch.nn.modules.linear.Linear", target.pid, 1))
        [pattern] = last["patterns"]
        self.assertEqual((pattern["pattern"], pattern["status"], pattern["targets"]), (Q_PROJ, "MATCHED", 1))
        self.assertEqual(last["times"]["stops"], 0)
        self.assertFalse(last["inexact"], last)
        self.assertLess(target.ask("forwards", "main", 50)[1], before[1] + 0.5 * MS)

    def assert_told_truly(self, target, reply, name="main", prefix="top"):
        truth = target.ask("truth", name, prefix)
        self.assertEqual([module["path"] for module in reply["modules"]], [module["path"] for module in truth])
        for module, true in zip(reply["modules"], truth):
            self.assertEqual(told(module), true)
        for module in reply["modules"]:
            for tensor in (*module["parameters"].values(), *module["buffers"].values()):
                self.assertTrue(tensor["known"], module)
                self.assertEqual(tensor["device"], "cpu")
            order = sorted(module["parameters"], key=lambda one: module["parameters"][one]["index"])
            self.assertEqual(order, list(truth[reply["modules"].index(module)]["parameters"]))
