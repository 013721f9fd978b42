"""Intervals of shares, and of differences of what has an interval each."""
import math

TAIL = 0.005  # on each side of 99 %


def share(hits, runs):
    """The binomial 99 % interval of Clopper and Pearson."""
    low = 0 if hits == 0 else _solve(lambda p: _at_least(hits, runs, p) - TAIL)
    high = 1 if hits == runs else _solve(lambda p: TAIL - _at_least(runs - hits, runs, 1 - p))
    return low, high


def _at_least(hits, runs, p):
    """The probability of so many hits or more."""
    return math.fsum(math.comb(runs, k) * p ** k * (1 - p) ** (runs - k) for k in range(hits, runs + 1))


def _solve(rises):
    """Where it is 0 between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if rises(middle) > 0 else (middle, high)
    return (low + high) / 2


def difference(first, second):
    """first - second, each (value, low, high): both intervals squared and added, each on the side that counts."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    return a - b, a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)
