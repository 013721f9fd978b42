"""What the records say in all: pure functions of them."""
import collections
import dataclasses
import math
import statistics

from case import NULL
import interval

NEAR = 0.03  # of a criticality that is known
LEVEL = 0.05


@dataclasses.dataclass
class Result:
    """One function of one draw."""
    family: str
    name: str
    kind: str
    truth: dict
    measured: dict
    saved: float      # what is taken away, in parts of a unit; 0 of what nothing is taken from
    predicted: tuple  # what taking time away would gain, in parts of a unit, with its interval; None: none is
    real: tuple       # what that gained
    own: tuple        # its criticality by delays of the program's own, with its interval; None: those were not tried

    @property
    def criticality(self):
        return self.measured["criticality"], self.measured.get("ci_low"), self.measured.get("ci_high")

    @property
    def real_criticality(self):
        """Of what is taken away, what was gained."""
        return self.real[0] / self.saved if self.saved else 0

    @property
    def error(self):
        return self.predicted[0] - self.real[0]

    @property
    def difference(self):
        """Predicted less real, with its interval; None where one of them has none."""
        if None in self.predicted or None in self.real:
            return None
        return interval.difference(self.predicted, self.real)

    @property
    def less_own(self):
        """Its criticality less that of the program's own delays, with its interval; None where one of them has none."""
        if self.own is None or None in self.own or None in self.criticality:
            return None
        return interval.difference(self.criticality, self.own)


def results(records):
    return [_result(record, function) for record in records if "error" not in record for function in record["functions"]
            if function["measured"] and function["measured"]["verdict"] != "INVALID"]


def _result(record, function):
    measured, real = function["measured"], function.get("real")
    saved = measured["hits_per_unit"] * function["removed_ns"] / record["unit_ns"]
    criticality = [measured.get(key) for key in ("criticality", "ci_low", "ci_high")]
    predicted = [None if value is None else value * saved for value in criticality]
    return Result(record["family"], function["name"], function["kind"], function["truth"], measured, saved,
                  tuple(predicted) if real else None, (real["gain"], real["low"], real["high"]) if real else None,
                  _own(function.get("own_delay"), measured["hits_per_unit"], record["unit_ns"]))


def _own(delay, calls, unit_ns):
    if not delay:
        return None
    injected = calls * delay["delay_ns"] / unit_ns
    return tuple(None if delay[key] is None else delay[key] / injected for key in ("cost", "low", "high"))


def of_kind(found, *kinds):
    return [one for one in found if one.kind in kinds]


def failed(records):
    """Draws that gave no answer, and functions that none was given about: [(seed, what)]."""
    return [(record["seed"], record["error"]) for record in records if "error" in record] + [
        (record["seed"], "%s: %s" % (function["name"], (function["measured"] or {"why": "not tested"})["why"]))
        for record in records for function in record.get("functions", ())
        if not function["measured"] or function["measured"]["verdict"] == "INVALID"]


# ---- How far off ----

@dataclasses.dataclass
class Errors:
    count: int
    bias: float
    rmse: float
    worst: float


def errors(values):
    """None of none."""
    if not values:
        return None
    return Errors(len(values), statistics.fmean(values), math.sqrt(statistics.fmean(value * value for value in values)),
                  max(values, key=abs))


def of_predictions(found):
    return errors([one.error for one in found if one.real])


def of_criticality(found):
    return errors([one.criticality[0] - one.truth["criticality"] for one in known(found)])


def of_own_delays(found):
    """Criticality less that of the program's own delays."""
    return errors([one.criticality[0] - one.own[0] for one in found if one.own])


def known(found):
    return [one for one in found if one.truth["criticality"] is not None]


# ---- How often ----

@dataclasses.dataclass
class Share:
    hits: int
    runs: int

    @property
    def value(self):
        return self.hits / self.runs

    @property
    def interval(self):
        return interval.share(self.hits, self.runs)

    def may_be(self, nominal):
        low, high = self.interval
        return low <= nominal <= high


def share(truths):
    truths = list(truths)
    return Share(sum(truths), len(truths))


def near(found):
    return share(abs(one.criticality[0] - one.truth["criticality"]) <= NEAR for one in known(found))


def certainly_far(found):
    """The whole interval is farther off than that."""
    with_interval = [one for one in known(found) if None not in one.criticality]
    return share(one.criticality[1] > one.truth["criticality"] + NEAR or one.criticality[2] < one.truth["criticality"] - NEAR
                 for one in with_interval)


def covers_criticality(found):
    """Whether the interval holds the criticality that is known."""
    with_interval = [one for one in known(found) if None not in one.criticality]
    return share(one.criticality[1] <= one.truth["criticality"] <= one.criticality[2] for one in with_interval)


def covers_gain(found):
    """Whether what was predicted and what was gained are the same within their intervals."""
    return share(low <= 0 <= high for _, low, high in (one.difference for one in found if one.real and one.difference))


def covers_own_delay(found):
    """Whether criticality is that of the program's own delays within their intervals."""
    return share(low <= 0 <= high for _, low, high in (one.less_own for one in found if one.less_own))


def at_most_violated(found):
    """More was gained than predicted, beyond the intervals of both."""
    return share(high < 0 for _, _, high in (one.difference for one in found if one.real and one.difference))


def wrong_signs(found):
    """Of those where both are certain to be something."""
    certain = [one for one in found if one.real and one.difference and _sign(one.predicted) and _sign(one.real)]
    return share(_sign(one.predicted) != _sign(one.real) for one in certain)


def _sign(value):
    _, low, high = value
    return 1 if low > 0 else -1 if high < 0 else 0


def false_positives(found):
    """Of functions that nothing can be due to."""
    return share(one.measured["p"] < LEVEL for one in of_kind(found, NULL))


def verdicts(found):
    """{expected: how often each was given}"""
    counts = collections.defaultdict(collections.Counter)
    for one in found:
        if one.truth["verdict"]:
            counts[one.truth["verdict"]][one.measured["verdict"]] += 1
    return dict(counts)


def right_verdicts(found):
    """Of those that were not left undecided, and how often that was: (right, undecided)."""
    expected = [one for one in found if one.truth["verdict"]]
    decided = [one for one in expected if one.measured["verdict"] != "UNDECIDED"]
    return (share(one.measured["verdict"] == one.truth["verdict"] for one in decided),
            Share(len(expected) - len(decided), len(expected)))


