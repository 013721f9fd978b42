"""The recipes of docs/method.md: the commands as they stand there, on the programs that they name, in less time."""
import json
import pathlib
import re
import shlex
import time

from harness import interpreters
from harness.case import Case, main
from harness.child import Child
from harness.daemon import clean_environment
from harness.quiet import judges_times

REPO = pathlib.Path(__file__).resolve().parents[2]
BUDGET = "40s"
# Larger doses than the default, which a noisy machine tells from nothing in so little time.
SOON = ("--top-share", "40")
START_S = 2  # until the program does what it does


def recipe(heading):
    """The program's path and the command's arguments."""
    text = (REPO / "docs" / "method.md").read_text(encoding="utf-8").split("\n### %s\n" % heading)[1].split("\n### ")[0]
    program = re.search(r"`(deploy/demo/\w+\.py)`", text)[1]
    command = shlex.split(text.split("```\n")[1].replace("\\\n", " "))
    assert command[0] == "sbumpctl", command
    return REPO / program, command[1:]


def children_of(pid):
    return pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()


@judges_times
class RecipesTest(Case):
    def results(self, heading, workers=0, budget=BUDGET):
        """By name; what the command says of the program while that runs, once it has so many processes below it."""
        program, arguments = recipe(heading)
        python = interpreters.any_supported()
        child = Child([python.path, "-B", str(program), "--seconds", "200"], env=clean_environment())
        self.addCleanup(child.kill)
        self.eventually(lambda: len(children_of(child.pid)) == workers, 10, "its workers")
        time.sleep(START_S)
        arguments = [str(child.pid) if one == "PID" else one for one in arguments]
        arguments[arguments.index("--budget") + 1] = budget
        answer = self.daemon.ctl(*arguments, *SOON, "--format", "json", seconds=160)
        self.assertEqual(answer.code, 0, answer)
        self.assertIsNone(child.process.poll(), child.errors)
        pids = children_of(child.pid)
        child.kill()
        self.eventually(lambda: not any(pathlib.Path("/proc", pid).exists() for pid in pids), 10, "the end of its workers")
        return {result["name"]: result for result in json.loads(answer.out.splitlines()[-1])["results"]}

    def test_an_asyncio_service(self):
        results = self.results("An asyncio service", budget="80s")
        verdicts = [result["verdict"] for result in results.values()]
        # All is on the loop's thread. In so little time not each is sure.
        self.assertNotIn("DOES_NOT_MATTER", verdicts, results)
        self.assertGreater(verdicts.count("MATTERS"), 0.7 * len(verdicts), results)
        self.assertEqual(results["json.__init__:dumps"]["verdict"], "MATTERS", results)

    def test_a_thread_pool(self):
        results = self.results("A thread pool")
        for name in ("device", "lock"):
            self.assertEqual(results[name]["verdict"], "MATTERS", results)
        self.assertLess(results["beside"]["criticality"], 0.5, results)

    def test_a_pool_of_processes(self):
        results = self.results("A pool of processes", workers=3)
        self.assertEqual(results["straggler"]["verdict"], "MATTERS", results)
        self.assertGreater(results["straggler"]["criticality"], 0.7, results)
        self.assertLess(results["others"]["criticality"], 0.5, results)


if __name__ == "__main__":
    main()
