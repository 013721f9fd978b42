"""The graph of a model of the real torch, as `sbumpctl graph` tells it, beside torch.fx's; and what a capture costs."""
import json
import threading

from rows import Row, median
import sessions  # before the harness: it says where that is
from harness import graph
from harness.target import Target

FORWARDS = 400


def graph_column(daemon, python):
    """Its heading, and its rows."""
    target = Target(python, "graph_model.py")
    try:
        heading = "CPython %s, torch %s" % (python.name, target.ask("version"))
        nodes, edges = graph.truth(target)
        alone = target.ask("timed", FORWARDS)
        begun, answers = daemon.log.count("session_active"), []
        thread = threading.Thread(target=lambda: answers.append(
            daemon.ctl("graph", "--pid", target.pid, "--forwards", FORWARDS, "--format", "json")))
        thread.start()
        while daemon.log.count("session_active") == begun and thread.is_alive():
            target.ask("timed", 1)
        during = target.ask("timed", FORWARDS // 2)
        while thread.is_alive():
            target.ask("timed", 10)
        told = json.loads(answers[0].out)
        unlike = sum(a != b[:4] for a, b in zip(graph.nodes_of(told), nodes)) + abs(len(nodes) - len(told["nodes"]))
        unlike += len({tuple(edge) for edge in graph.edges_of(told)} ^ {tuple(edge) for edge in edges})
        target.end()
    finally:
        target.kill()
    share = told["identical"] / told["forwards"]
    return heading, [
        Row("forwards that made exactly the graph that is told", "%d of %d" % (told["identical"], told["forwards"]),
            "at least 95 %", share >= 0.95),
        Row("its nodes and edges that are not torch.fx's", str(unlike), "0", unlike == 0,
            "of %d nodes and %d edges" % (len(nodes), len(edges))),
        Row("a forward while it is captured", "%.1f ms instead of %.1f" % (median(during) / 1e6, median(alone) / 1e6))]
