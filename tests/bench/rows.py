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
    """One table: [(heading, rows)], rows by their names. A figure that missed its aim is bold; what was not measured is
    empty."""
    lines = ["| | aim |" + "".join(" %s |" % heading for heading, _ in columns), "|---|---|" + "---|" * len(columns)]
    by_name = [{row.name: row for row in rows} for _, rows in columns]
    for name in dict.fromkeys(name for rows in by_name for name in rows):
        same = [rows.get(name) for rows in by_name]
        aim = next(row.aim for row in same if row)
        lines.append("| %s | %s | %s |" % (name, aim, " | ".join(map(_cell, same))))
    return "\n".join(lines) + "\n"


def _cell(row):
    if row is None:
        return ""
    return "**%s** (missed)" % row.value if row.met is False else row.value
