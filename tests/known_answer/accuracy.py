"""The tables of docs/accuracy.md, from the records."""
import collections
import statistics

from case import ADDITIVE, BOUND, HIDDEN, NULL
from families import NAMES
import figures

BEGIN, END = "<!-- known-answer:begin -->", "<!-- known-answer:end -->"
CHAIN = ("serial",)
MOST_RMSE, MOST_VIOLATED = 0.03, 0.05
# What intervals of draws are of since 2026-11-29: slopes of pairs of windows (daemon/estimate/block_slopes.h). Those of
# before are of least squares over all windows of a block, and have no "estimator".
ESTIMATOR = "pairs"


def markdown(records, may_sleep=(), another_machine=()):
    """`may_sleep`: those of processors that may."""
    lines = all_of(_in_order(records)) or ["No draws yet."]
    for title, others in (("Where processors may sleep:", may_sleep), ("On another machine:", another_machine)):
        if others:
            lines += ["", title, ""] + all_of(_in_order(others))
    return "\n".join(lines) + "\n"


def _in_order(records):
    return sorted(records, key=lambda record: record["seed"])


def all_of(records):
    if not records:
        return []
    found = figures.results(records)
    lines = where(records) + [""] + summary(records) + [""] + families(found) + [""] + hidden(found) + verdicts(found)
    lost = figures.failed(records)
    if lost:
        lines += ["", "Without an answer:", ""]
        lines += ["- seed %d: %s" % (seed, what.splitlines()[0]) for seed, what in lost]
    return lines


def write(path, *records):
    put_between(path, BEGIN, END, markdown(*records))


def put_between(path, begin, end, text):
    """Into what is between the marks, where the file has them; else all of it."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    before, mark, rest = old.partition(begin + "\n")
    _, last, after = rest.partition(end)
    if not last:
        before, mark, last, after = "", "", "", ""
    path.write_text(before + mark + text + last + after, encoding="utf-8")


def where(records):
    """How many draws, on what, and when: a line for each machine."""
    machines = collections.defaultdict(list)
    for record in records:
        machines[record["machine"], record["processors"]].append(record)
    return ["- %d draws, %s to %s: %s, processors %s, load %.1f when they began; CPython %s" % (
        len(some), min(one["date"] for one in some), max(one["date"] for one in some), *machine,
        statistics.median(one["load"] for one in some),
        ", ".join(sorted({one["python"] for one in some}, key=_version))) for machine, some in sorted(machines.items())]


def _version(name):
    return [int(part) if part.isdigit() else 0 for part in name.partition("_")[0].split(".")], name


# ---- Figures against their aims ----

def summary(records):
    found = figures.results(records)
    rows = [("", "n", "measured", "aim", "met", "")]
    rows += _criticality(found) + _predictions(found) + _intervals(records) + _own_delays(found) + _how_often(found)
    return _table(rows)


def _criticality(found):
    chain = [one for one in figures.of_kind(found, ADDITIVE) if one.family in CHAIN]
    return [_of_criticality("criticality of functions of a chain, less 1", chain),
            _of_criticality("criticality of hidden functions, and of `null`", figures.of_kind(found, HIDDEN, NULL))]


def _of_criticality(name, some):
    off, far = figures.of_criticality(some), figures.certainly_far(some)
    if off is None:
        return _none(name)
    return (name, off.count, "%+.3f on average" % off.bias, "within %.2f" % figures.NEAR,
            _met(abs(off.bias) <= figures.NEAR and far.hits == 0),
            "root mean square %.3f, farthest %+.3f; each by itself: %s; with all of its interval farther off: %d" % (
                off.rmse, off.worst, _share(figures.near(some)), far.hits))


def _predictions(found):
    rows = []
    for name, kind, aim in (("additive", ADDITIVE, MOST_RMSE), ("hidden", HIDDEN, None)):
        off = figures.of_predictions(figures.of_kind(found, kind))
        if off is None:
            rows.append(_none("prediction where effects are " + name))
            continue
        rows.append(("prediction where effects are " + name, off.count, "RMSE %s" % _percent(off.rmse),
                     "at most %s" % _percent(aim, 0) if aim else "", _met(off.rmse <= aim) if aim else "",
                     "of the time of a unit; bias %s, farthest %s" % (_percent(off.bias, sign=True),
                                                                      _percent(off.worst, sign=True))))
    return rows


def _how_often(found):
    exact = figures.of_kind(found, ADDITIVE, HIDDEN)
    violated = figures.at_most_violated(figures.of_kind(found, BOUND))
    signs = figures.wrong_signs(found)
    right, undecided = figures.right_verdicts(found)
    return [
        _rate("95 % interval of prediction less gain holds 0", figures.covers_gain(exact), 0.95),
        _rate("p < 0.05 of functions that nothing can be due to (A/A)", figures.false_positives(found), 0.05),
        ("\"at most\" violated where theory gives a bound only", violated.runs, _share(violated),
         "at most %s" % _percent(MOST_VIOLATED, 0), _met_by(violated, lambda: violated.value <= MOST_VIOLATED), ""),
        ("wrong sign, of those where both are certain", signs.runs, _share(signs), "0",
         _met_by(signs, lambda: signs.hits == 0), ""),
        ("verdict right, of those that were decided", right.runs, _share(right), "", "",
         "%d of %d left undecided" % (undecided.hits, undecided.runs)),
    ]


def _intervals(records):
    name = "95 % interval of criticality holds the one that is known"
    now = [one for one in records if one.get("estimator") == ESTIMATOR]
    before = figures.results([one for one in records if one.get("estimator") != ESTIMATOR])
    return (_intervals_of(name, figures.results(now)) if now else []) + (
        [_covers(name + ", by the estimator of before", before)] if before else [])


def _intervals_of(name, found):
    felt = [one for one in found if one.kind != HIDDEN]
    return [_covers(name, found)] + ([] if len(felt) == len(found) else [
        _covers("the same, but for hidden functions", felt),
        _covers("the same, of hidden functions alone", figures.of_kind(found, HIDDEN))])


def _own_delays(found):
    """Of hidden functions apart: both are next to nothing there."""
    rows = []
    for what, some in (("functions that are felt", [one for one in found if one.kind != HIDDEN]),
                       ("hidden functions", figures.of_kind(found, HIDDEN))):
        off = figures.of_own_delays(some)
        if off is not None:
            rows += [("criticality of %s, less that of the program's own delays" % what, off.count,
                      "%+.4f on average" % off.bias, "", "",
                      "root mean square %.4f, farthest %+.3f" % (off.rmse, off.worst)),
                     _rate("95 %% interval of that holds 0, of %s" % what, figures.covers_own_delay(some), 0.95)]
    return rows


def _covers(name, found):
    return _rate(name, figures.covers_criticality(found), 0.95)


def _rate(name, share, nominal):
    return name, share.runs, _share(share), "%s within the interval" % _percent(nominal, 0), \
        _met_by(share, lambda: share.may_be(nominal)), "" if share.runs >= 100 else "fewer than 100 runs"


def _none(name):
    return name, 0, "", "", "", ""


def _share(share):
    if not share.runs:
        return ""
    low, high = share.interval
    return "%d of %d, %.1f %% [%.1f, %.1f]" % (share.hits, share.runs, 100 * share.value, 100 * low, 100 * high)


def _percent(value, digits=2, sign=False):
    return ("%+.*f %%" if sign else "%.*f %%") % (digits, 100 * value)


def _met(is_met):
    return "yes" if is_met else "**no**"


def _met_by(share, holds):
    return _met(holds()) if share.runs else ""


# ---- One function after the other ----

def families(found):
    rows = [("family", "function", "theory", "n", "criticality, known", "off by", "gain, predicted", "gain, real",
             "RMSE", "off from own delays")]
    groups = collections.defaultdict(list)
    for one in found:
        groups[one.family, one.name, one.kind].append(one)
    keys = sorted((key for key in groups if key[2] != NULL), key=lambda key: NAMES.index(key[0]))
    return _table(rows + [_family_row(*key, groups[key]) for key in keys] + [_null_row(figures.of_kind(found, NULL))])


def _family_row(family, name, kind, some):
    known = [one.truth["criticality"] for one in some if one.truth["criticality"] is not None]
    off, errors = figures.of_criticality(some), figures.of_predictions(some)
    return (family, "`%s`" % name, kind, len(some), _range(known),
            _off(off), _percent(_mean(one.predicted[0] for one in some)), _percent(_mean(one.real[0] for one in some)),
            _percent(errors.rmse) if kind != BOUND else "", _off(figures.of_own_delays(some)))


def _null_row(some):
    off = figures.of_criticality(some)
    return "all", "`null`", NULL, len(some), "0", _off(off), "", "", "", ""


def hidden(found):
    """What the time of these is worth, which theory takes to be nothing: as delays of either kind say, and by what was
    taken away."""
    groups = collections.defaultdict(list)
    for one in figures.of_kind(found, HIDDEN):
        if one.real:
            groups[one.family, one.name].append(one)
    rows = [("hidden function", "n", "criticality, median", "below 0", "by what was really taken away", "below 0", "n",
             "by the program's own delays", "below 0")]
    for family, name in sorted(groups, key=lambda key: NAMES.index(key[0])):
        some = groups[family, name]
        rows.append(("%s `%s`" % (family, name), len(some), *_middle([one.criticality[0] for one in some]),
                     *_middle([one.real_criticality for one in some]), *_own_of(some)))
    return _table(rows) + [""] if groups else []


def _own_of(some):
    own = [one.own[0] for one in some if one.own]
    return (len(own), *_middle(own)) if own else (0, "", "")


def _middle(values):
    return "%+.4f" % statistics.median(values), sum(value < 0 for value in values)


def _off(off):
    return "%+.3f, at most %+.3f" % (off.bias, off.worst) if off else ""


def _range(values):
    if not values:
        return ""
    texts = ["%.2f" % value for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _mean(values):
    values = list(values)
    return sum(values) / len(values)


def verdicts(found):
    given = ["MATTERS", "DOES_NOT_MATTER", "UNDECIDED"]
    counts = figures.verdicts(found)
    return _table([("expected", *("said " + one for one in given))] + [
        (expected, *(counts[expected][one] for one in given)) for expected in given if expected in counts])


def _table(rows):
    lines = ["| %s |" % " | ".join(map(str, row)) for row in rows]
    return [lines[0], "|---" * len(rows[0]) + "|"] + lines[1:]
