"""Three functions one after the other, each called once to three times a unit, that wait or compute."""
from case import ADDITIVE, Case, Function, null
from families import lengths


def draw(chance):
    unit_s = lengths.unit(chance)
    parts = _parts(chance)
    calls = {name: chance.randint(1, 3) for name in parts}
    return Case("serial", "serial.py", {
        "kinds": {name: chance.choice(["wait", "burn"]) for name in parts},
        "calls": calls,
        "lengths": {"shadow": lengths.SHADOW * unit_s,
                    **{name: part * unit_s / calls[name] for name, part in parts.items()}},
    }, unit_s, [_function(name, part, calls[name], unit_s, chance) for name, part in parts.items()] + [null()])


def _parts(chance):
    first, second = (lengths.share(chance, 0.15, 0.3) for _ in range(2))
    return {"a": first, "b": second, "c": 1 - lengths.SHADOW - first - second}


def _function(name, part, calls, unit_s, chance):
    gain = lengths.share(chance, high=min(lengths.SHARES[1], 0.8 * part))
    return Function(name, ADDITIVE, 1, calls, gain * unit_s / calls, gain)
