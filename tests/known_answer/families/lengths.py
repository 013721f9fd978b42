"""What the families draw from."""

UNIT_S = (0.008, 0.012)  # what wakes a thread up is some 0.05 ms late each time
SHARES = (0.05, 0.2)  # of a unit, that are really taken away
SHADOW = 0.3       # a wait in which null() is hidden
HIDDEN_SLACK = 0.27


def unit(chance):
    return round(chance.uniform(*UNIT_S), 6)


def share(chance, low=SHARES[0], high=SHARES[1]):
    return round(chance.uniform(low, high), 3)


def seconds(unit_s, **shares):
    return {name: share_of_it * unit_s for name, share_of_it in shares.items()}
