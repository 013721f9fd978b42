"""What was measured: one record a line, in a file for each family, of processors that may sleep in a folder."""
import json
import os
import pathlib

from awake import AWAKE

# What is kept of each group's result.
KEPT = ("criticality", "ci_low", "ci_high", "verdict", "why", "p", "hits_per_unit", "injected_ns_per_unit", "blocks",
        "slack_ns", "warnings")


class Records:
    def __init__(self, directory, processors=AWAKE):
        self.directory = pathlib.Path(directory) / ("" if processors == AWAKE else processors.replace(" ", "_"))

    def all(self):
        """By seed."""
        texts = [path.read_text(encoding="utf-8") for path in self.directory.glob("*.jsonl")]
        found = [json.loads(line) for text in texts for line in text.splitlines()]
        return {record["seed"]: record for record in sorted(found, key=lambda record: record["seed"])}

    def add(self, record):
        self._write(record["family"], self._lines(record["family"]) + [json.dumps(_short(record))])

    def replace(self, record):
        """The one of its seed."""
        self._write(record["family"], [json.dumps(_short(record)) if json.loads(line)["seed"] == record["seed"] else line
                                       for line in self._lines(record["family"])])

    def _lines(self, family):
        path = self.directory / (family + ".jsonl")
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def _write(self, family, lines):
        """A file has all of it or nothing, whenever this is ended."""
        self.directory.mkdir(parents=True, exist_ok=True)
        new = self.directory / (family + ".new")
        new.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        os.replace(new, self.directory / (family + ".jsonl"))


def kept_of_result(result):
    return result and {key: result[key] for key in KEPT if key in result}


def _short(value):
    """Six digits of each number."""
    if isinstance(value, float):
        return float("%.6g" % value)
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(one) for one in value]
    return value
