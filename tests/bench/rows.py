"""Lines of the tables, and whether an aim was met."""
import statistics


class Row:
    """One line of a table: what was measured, the figure, and what the aim was."""

    def __init__(self, name, value, aim="", met=None, detail=""):
        self.name, self.value, self.aim, self.met, self.detail = name, value, aim, met, detail

    def verdict(self):
        return {None: "", True: "yes", False: "NO"}[self.met]


def median(values):
    return statistics.median(values)


def ratio_row(name, without, during, most):
    """How many times as long, in the median: what is shown is what is judged, to its last digit. `most` is a text."""
    shown = "%.3f" % (median(during) / median(without))
    return Row(name, shown + "x", "at most %sx" % most, float(shown) <= float(most),
               "minima %.3fx" % (min(during) / min(without)))


def table(title, rows):
    cells = [("", "measured", "aim", "met", "")] + [(r.name, r.value, r.aim, r.verdict(), r.detail) for r in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(5)]
    return "\n".join([title] + ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]) + "\n"


def markdown(columns):
    """One table of what has the same rows: [(heading, rows)]. A figure that missed its aim is bold."""
    lines = ["| | aim |" + "".join(" %s |" % heading for heading, _ in columns), "|---|---|" + "---|" * len(columns)]
    for same in zip(*(rows for _, rows in columns)):
        values = ["**%s** (missed)" % r.value if r.met is False else r.value for r in same]
        lines.append("| %s | %s | %s |" % (same[0].name, same[0].aim, " | ".join(values)))
    return "\n".join(lines) + "\n"
