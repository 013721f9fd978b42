"""Makes a run of several experiments of a real one of two groups: the two, the parts of the first, and the part that matters
once more, alone.

    ranked_run.py RUN.sbump OUT.sbump
"""
import json
import pathlib
import sys

# What the run's groups are called in the first and the second experiment.
WHOLES = {"critical": "app.engine", "hidden": "app.log"}
PARTS = {"critical": "app.engine.decode", "hidden": "app.engine.trace"}
HIDDEN = 1  # which group is not in the confirmation


def groups_of(line):
    [(kind, what)] = line.items()
    return what.get({"begin": "groups", "plan": "groups", "result": "results"}.get(kind), [])


def renamed(line, names, part_of=""):
    for group in groups_of(line):
        group["name"] = names.get(group["name"], group["name"])
        if "begin" in line:
            group["part_of"] = part_of
    return line


def arms_without(plan, group):
    """The numbers of arms that do not delay it."""
    return [i for i, arm in enumerate(plan["arms"]) if arm["delay_ns"][group] == "0"]


def alone(lines, group):
    """The lines without one of the groups, as a confirmation."""
    kept = arms_without(next(line["plan"] for line in lines if "plan" in line), group)
    for line in lines:
        [(kind, what)] = line.items()
        if kind == "window":
            if what["arm"] not in kept:
                continue
            what["arm"] = kept.index(what["arm"])
            del what["groups"][group]
        if kind == "plan":
            what["arms"] = [what["arms"][i] for i in kept]
            for arm in what["arms"]:
                del arm["delay_ns"][group]
        if groups_of(line):
            del groups_of(line)[group]
        if what.get("phase") == "MAIN" or kind == "begin":
            what["phase"] = "CONFIRMATION"
        yield line


def main(run, out):
    header, *text = pathlib.Path(run).read_text(encoding="utf-8").splitlines()

    def experiment(names, part_of=""):
        return [renamed(json.loads(line), names, part_of) for line in text]

    header = json.loads(header)
    header["command"][1] = "rank"
    lines = [header, *experiment(WHOLES), *experiment(PARTS, "app.engine"), *alone(experiment(PARTS), HIDDEN)]
    pathlib.Path(out).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
