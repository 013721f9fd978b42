"""Draws the median forward of a trace that `sbumpctl spans -o trace.json` wrote. Needs matplotlib.

  trace.py TRACE.json PICTURE.svg
"""
import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "sbump"  # the same trace gives the same file
from matplotlib import pyplot  # noqa: E402: behind the choice of what draws


def level(event, events):
    return sum(other is not event and other["ts"] <= event["ts"] and other["ts"] + other["dur"] >= event["ts"] + event["dur"]
               for other in events)


def main(source, picture):
    with open(source, encoding="utf-8") as file:
        spans = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X" and event["cat"] != "delay"]
    forwards = sorted((event for event in spans if event["name"] == spans[0]["name"]), key=lambda event: event["dur"])
    first = forwards[len(forwards) // 2]
    end = first["ts"] + first["dur"]
    spans = [event for event in spans if first["ts"] <= event["ts"] and event["ts"] + event["dur"] <= end]
    types = sorted({event["args"]["type"] for event in spans})
    colours = pyplot.get_cmap("tab20")
    figure, axes = pyplot.subplots(figsize=(13, 3.2))
    for event in spans:
        begin, at = event["ts"] - first["ts"], level(event, spans)
        axes.broken_barh([(begin, event["dur"])], (-at - 0.95, 0.9), facecolor=colours(types.index(event["args"]["type"]) % 20),
                         edgecolor="white", linewidth=0.5)
        words = event["name"].split(".")
        name = ".".join(words[-2:] if words[-1].isdigit() else words[-1:])
        if event["dur"] > first["dur"] * len(name) / 150:
            axes.text(begin + event["dur"] / 2, -at - 0.5, name, ha="center", va="center", fontsize=8, clip_on=True)
    axes.set_xlabel("microseconds of one forward")
    axes.set_yticks([])
    axes.set_xlim(0, first["dur"])
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    figure.savefig(picture, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
