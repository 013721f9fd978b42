"""Programs whose truth is known by construction. Each module has draw(chance), which gives a Case.

Waits and burns are drawn as shares of a unit. Of what is called hidden the slack is HIDDEN_SLACK at least, more than
the largest dose (Case.top_percent); what is called additive stays on the path when SHARES of a unit are taken away.
"""
import importlib

NAMES = ("serial", "slack", "tied", "producer_consumer", "convoy", "gil", "async_steps", "async_paradox", "async_cpu",
         "async_external", "async_lock", "pool", "loader", "batcher")


def of_seed(seed):
    return NAMES[seed % len(NAMES)]


def draw(name, chance):
    return importlib.import_module("families." + name).draw(chance)
