"""What promises.py measured, as a table."""
import statistics

import interval


def markdown(where, sweeps, ranks):
    """Of each sweep and each ranking what promises.py says; None: it gave no answer."""
    lines = ["%s, %s: %s, processors %s" % (where["date"], where["python"], where["machine"], where["processors"]), "",
             "| asked for | n | took | answer | aim |", "|---|---|---|---|---|"]
    return "\n".join(lines + _sweep_rows(sweeps) + [_rank_row(one) for one in ranks]) + "\n"


def _share(hits, runs):
    return "%d of %d, %.0f %% [%.0f, %.0f]" % (hits, runs, 100 * hits / runs, *(100 * end for end in interval.share(hits, runs)))


def _sweep_rows(sweeps):
    answers = [one for one in sweeps if one]
    if not answers:
        return ["| a 3 %% effect | %d | - | none | |" % len(sweeps)] if sweeps else []
    took, variation = [one["took_s"] for one in answers], [100 * one["variation"] for one in answers]
    what = "a 3 %% effect, windows that vary by %.1f %% (%.1f to %.1f)" % (statistics.median(variation), min(variation), max(variation))
    spent = "%.0f s (%.0f to %.0f)" % (statistics.median(took), min(took), max(took))
    lost = len(sweeps) - len(answers)
    return ["| %s | %d | %s | %s: %s%s | under 180 s, 4 of 5 |" % (
        what, len(sweeps), spent, words, _share(sum(one[key] for one in answers), len(sweeps)), "; %d gave none" % lost if lost else "")
            for key, words in (("found", "p of at most 0.05"), ("matters", "`MATTERS`"))]


def _rank_row(one):
    begin = "| `rank` with its defaults, 30 modules of which 3 matter | 1 | "
    aim = " | those 3 and no other, under 900 s |"
    if not one:
        return begin + "- | none" + aim
    names = ", ".join("`%s`" % name for name in one["named"])
    return begin + "%.0f s, %d experiments | %s: %s" % (one["took_s"], one["experiments"], "right" if one["right"] else "WRONG", names) + aim
