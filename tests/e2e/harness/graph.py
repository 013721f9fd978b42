"""`sbumpctl graph` beside torch.fx's word on the same model (targets/graph_model.py)."""
# in place, fx's later nodes name the tensor by the node that made it first: what is read is what add_ left there.
IN_PLACE = "add_"


def plain(node):
    """A node in the words of graph_model.py."""
    target = node["target"].split(".")[1] if node["op"] == "call_function" else node["target"]
    return [node["op"], target, node["scope"]["module_path"], node["scope"]["module_type"]]


def nodes_of(graph):
    return [plain(node) for node in graph["nodes"]]


def edges_of(graph):
    """By place."""
    place = {node["name"]: i for i, node in enumerate(graph["nodes"])}
    assert len(place) == len(graph["nodes"]), "two nodes of one name"
    return sorted([place[edge["from"]], place[edge["to"]]] for edge in graph["edges"])


def truth(target, *arguments):
    """Nodes, with their names at the end, and edges."""
    nodes, edges = target.ask("graph", *arguments)
    [changed] = [i for i, node in enumerate(nodes) if node[1] == IN_PLACE]
    [[before, _]] = [edge for edge in edges if edge[1] == changed]
    return nodes, sorted([changed, to] if source == before and to > changed else [source, to] for source, to in edges)
