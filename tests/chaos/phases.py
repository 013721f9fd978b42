"""The phases of a daemon's work, and who is killed in which of them."""

PHASES = ["attach", "walk", "bump", "arm", "hold", "hit", "disarm", "restart"]


def phases_of(version):
    """Those that a session on such an interpreter has."""
    return [phase for phase in PHASES if phase != "bump" or version >= (3, 12)]


def turns(versions):
    """The phases of each interpreter, in the order in which it gets to them. Each begins with another one, so that all
    together have been through all, even where time is short; the last with the first, for few others have the bump."""
    count = len(versions)
    begins = [(count - 1 - place) * len(PHASES) // count for place in range(count)]
    return [[phase for phase in PHASES[begin:] + PHASES[:begin] if phase in phases_of(version)]
            for begin, version in zip(begins, versions)]


def without_kill(versions, kills):
    """The phases that an interpreter of these has, and that none was killed in."""
    return [phase for phase in PHASES
            if not kills[phase] and any(phase in phases_of(version) for version in versions)]
