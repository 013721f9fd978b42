"""The other half of a draw: time is really taken away, or the program holds its own calls up, and it says itself what
that gains or costs. No probe is near.

Each block has all arms in random order and then once more in reverse, so that a drift has no part in their differences.
"""
import statistics

import signed_rank

BASE = None  # the arm in which nothing is changed


def orders(arms, blocks, chance):
    for _ in range(blocks):
        order = chance.sample(arms, len(arms))
        yield order + order[::-1]


def gains(blocks):
    """Of blocks [(arm, time per unit or None)]: (time per unit, {arm: (gain in parts of a unit, low, high)})."""
    whole = [_means(block) for block in blocks if all(pace for _, pace in block)]
    if not whole:
        raise AssertionError("the program did no work in any block of windows")
    base = statistics.median(block[BASE] for block in whole)
    return base, {arm: signed_rank.middle([(block[BASE] - block[arm]) / base for block in whole])
                  for arm in whole[0] if arm is not BASE}


def cost(gain):
    value, low, high = gain
    return -value, None if high is None else -high, None if low is None else -low


def _means(block):
    return {arm: statistics.fmean(pace for other, pace in block if other == arm) for arm, _ in block}
