"""A process with a PyTorch model whose graph torch.fx can trace, and what torch.fx says of it."""
import hashlib
import math
import operator
import threading
import time

import torch
import torch.nn.functional as F
from protocol import serve
from torch import fx, nn

WIDTH, HEADS, LAYERS, VOCABULARY, LENGTH, BATCH = 16, 2, 3, 24, 6, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def split(self, x):
        return x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(WIDTH // HEADS)
        weights = F.softmax(scores + mask, dim=-1)
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


class Block(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.attn, self.norm = Attention(), norm  # one for all blocks
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.drop, self.skip = nn.Dropout(0.1), nn.Identity()

    def forward(self, x, mask):
        x = x + self.drop(self.attn(self.norm(x), mask=mask))
        return x + self.skip(self.mlp(self.norm(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.randn(1, LENGTH, WIDTH))
        norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Block(norm) for _ in range(LAYERS))
        self.register_buffer("scale", torch.full((WIDTH,), 2.0))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens, mask):
        x = self.embed(tokens) + self.position
        for layer in self.layers:
            x = layer(x, mask)
        halves = x.chunk(2, dim=-1)  # several results
        x = torch.cat([halves[1], torch.tanh(halves[0])], dim=-1)  # a list
        x = F.dropout(x, 0.1, training=False) * self.scale  # gives the tensor that it takes
        x.add_(1.0)  # in place
        return self.head(x), x


class Branches(nn.Module):
    """What torch.fx cannot trace: it depends on the data."""

    def __init__(self):
        super().__init__()
        self.rare, self.common = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        try:
            torch.matmul(x, torch.zeros(WIDTH + 1, 1))
        except RuntimeError:
            pass
        return self.rare(x) if bool(x.sum() > 0) else self.common(torch.relu(x))


class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        def down(depth):
            return torch.sigmoid(self.fc(x)) if depth == 0 else down(depth - 1) + 1
        return down(100)


torch.manual_seed(3)
torch.set_num_threads(1)
models = {"main": Model().eval()}
MAKERS = {"branches": Branches, "recursive": Recursive}
BEGIN = {name: tensor.clone() for name, tensor in models["main"].state_dict().items()}
MASK = torch.zeros(LENGTH, LENGTH)


def make(name):
    models.clear()
    models[name] = MAKERS[name]().eval()


def forward(times, seed=0):
    """Returns figures of what came out. The tokens are the caller's own, whatever other threads draw meanwhile."""
    generator = torch.Generator().manual_seed(seed)
    total = 0.0
    with torch.no_grad():
        for _ in range(times):
            tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH), generator=generator)
            total += float(models["main"](tokens, mask=MASK)[0].sum())
    return total


def timed(times):
    """Nanoseconds of each forward."""
    tokens, spent = torch.zeros(BATCH, LENGTH, dtype=torch.long), []
    with torch.no_grad():
        for _ in range(times):
            begin = time.perf_counter_ns()
            models["main"](tokens, mask=MASK)
            spent.append(time.perf_counter_ns() - begin)
    return spent


def forward_for_ever():
    def run():
        while True:
            forward(1)
            time.sleep(0.02)
    threading.Thread(target=run, daemon=True).start()


def in_threads(count, times):
    threads = [threading.Thread(target=forward, args=(times, i)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def branch(signs):
    with torch.no_grad():
        for sign in signs:
            models["branches"](torch.full((1, WIDTH), float(sign)))


def recurse(times):
    with torch.no_grad():
        for _ in range(times):
            models["recursive"](torch.ones(1, WIDTH))


def train(steps):
    """Losses, and what is left of the gradients and weights, to the last bit."""
    torch.manual_seed(5)
    model = models["main"].train()
    model.load_state_dict(BEGIN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        logits, x = model(torch.randint(0, VOCABULARY, (BATCH, LENGTH)), mask=MASK)
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), torch.zeros(BATCH * LENGTH, dtype=torch.long)) + x.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()).hex())
    seen = hashlib.sha256()
    for parameter in model.parameters():
        for one in (parameter, parameter.grad):
            seen.update(one.detach().contiguous().numpy().tobytes())
    return [losses, seen.hexdigest()]


class ScopedTracer(fx.Tracer):
    """The module within which each node was made."""

    def __init__(self):
        super().__init__()
        self.scopes, self.names, self.stack = [], {}, []

    def call_module(self, m, forward, args, kwargs):
        self.stack.append(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.stack.pop()

    def trace(self, root):
        self.names = {module: "top" + ("." + name if name else "") for name, module in root.named_modules()}
        self.stack = [root]
        return super().trace(root)

    def create_node(self, *arguments, **keywords):
        node = super().create_node(*arguments, **keywords)
        self.scopes.append((node, self.names[self.stack[-1]], type(self.stack[-1]).__name__))
        return node


NAMES = {"truediv": "div"}  # as torch's own operators are called


def operation(node):
    if node.op == "call_module" or node.op == "get_attr":
        return node.op, node.target
    if node.op == "call_method":
        return "call_function", node.target
    if node.op == "call_function":
        return node.op, NAMES.get(node.target.__name__, node.target.__name__)
    return node.op, node.target


def graph(leaves=True, until=None):
    """[[op, target, module_path, module_type, name]], [[from, to]] by place; without getitem, which calls no operator."""
    tracer = ScopedTracer()
    torchs_own = tracer.is_leaf_module
    if not leaves:
        tracer.is_leaf_module = lambda module, path: False
    if until is not None:
        tracer.is_leaf_module = lambda module, path: torchs_own(module, path) or path.rpartition(".")[0] == until
    traced = tracer.trace(models["main"])
    scopes = {node: scope for node, *scope in tracer.scopes}
    nodes = [node for node in traced.nodes if node.target is not operator.getitem]
    place = {node: i for i, node in enumerate(nodes)}

    def sources(node):
        for source in node.all_input_nodes:
            if source in place:
                yield source
            else:
                yield from sources(source)
    edges = {(place[source], place[node]) for node in nodes for source in sources(node)}
    return [[list(operation(node)) + scopes[node] + [node.name] for node in nodes], sorted(map(list, edges))]


serve({"make": make, "forward": forward, "forward_for_ever": forward_for_ever, "in_threads": in_threads, "branch": branch,
       "recurse": recurse, "timed": timed, "version": lambda: torch.__version__.split("+")[0], "train": train, "graph": graph})
