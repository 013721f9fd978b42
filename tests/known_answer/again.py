"""What a draw's recording says by now: its results by the estimator of this sbumpctl."""
import json

from records import kept_of_result

SAME = ("seed", "blocks", "window_ns")  # of the plan: a recording of this draw, and not of another one of its seed


class NotAgain(Exception):
    pass


def estimate(record, run, report):
    """Puts it into the record; all of it or nothing. `report`: of a recording, what sbumpctl answers."""
    _check_plan(record, run)
    answer = report(run)
    last = json.loads((answer.out.splitlines() or ["{}"])[-1])
    if "results" not in last or last["partial"]:
        raise NotAgain("%s: no whole answer, status %d: %s" % (run, answer.code, answer.err.strip()))
    results = {result["name"]: result for result in last["results"]}
    lost = [function["name"] for function in record["functions"] if function["measured"] and function["name"] not in results]
    if lost:
        raise NotAgain("%s: nothing of %s" % (run, ", ".join(lost)))
    for function in record["functions"]:
        function["measured"] = kept_of_result(results.get(function["name"]))


def _check_plan(record, run):
    lines = [json.loads(line) for line in run.read_text(encoding="utf-8").splitlines()]
    plan = next((line["plan"] for line in lines if "plan" in line), {})
    if any(plan.get(key) != record["plan"][key] for key in SAME):
        raise NotAgain("%s is a recording of another draw than the record of seed %d" % (run, record["seed"]))
