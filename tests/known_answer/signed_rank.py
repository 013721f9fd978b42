"""The middle of some values, and an interval for it, by ranks: one that stalled counts as one."""
import functools


def middle(values):
    """(Hodges and Lehmann's estimate, low, high): Wilcoxon's 95 % interval; None, None where there are fewer than
    six."""
    averages = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    half = len(averages) // 2
    estimate = (averages[half] + averages[-half - 1]) / 2
    outside = _outside(len(values))
    if outside is None:
        return estimate, None, None
    return estimate, averages[outside], averages[-outside - 1]


def _outside(count, tail=0.025):
    """How many averages lie below an interval that leaves at most that out on a side."""
    total, summed = 2 ** count, 0
    for rank_sum, ways in enumerate(_ways(count)):
        summed += ways
        if summed > tail * total:
            return rank_sum - 1 if rank_sum else None
    return None


@functools.lru_cache(maxsize=None)
def _ways(count):
    """In how many ways some of 1 to `count` have each sum."""
    ways = [1]
    for rank in range(1, count + 1):
        more = ways + [0] * rank
        for rank_sum, old in enumerate(ways):
            more[rank_sum + rank] += old
        ways = more
    return tuple(ways)
