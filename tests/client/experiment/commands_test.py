"""`sbumpctl report` and `compare` as users type them; no daemon is asked.

    commands_test.py SBUMPCTL RUN.sbump RANKED_RUN.sbump
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SBUMPCTL, RUN, RANKED = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


class CommandsTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.scratch)

    def ctl(self, *arguments, code=0, locale="C.UTF-8", text=None):
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": locale, "SBUMP_ENDPOINT": "unix:/nowhere/at/all.sock"}
        done = subprocess.run([SBUMPCTL, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=environment,
                              input=text)
        self.assertEqual(done.returncode, code, done)
        return done

    def changed(self, name, change, run=RUN):
        """The run with `change` made to each of its lines."""
        path = self.scratch / name
        lines = (change(json.loads(line)) for line in run.read_text().splitlines())
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def test_the_table_has_plots_of_what_the_locale_can_write(self):
        said = self.ctl("report", RUN).stdout
        self.assertIn("MATTERS", said)
        self.assertIn("├─", said)
        plain = self.ctl("report", RUN, locale="C").stdout
        self.assertTrue(plain.isascii(), plain)
        self.assertIn("[-", plain)

    def test_json_is_what_the_daemon_told(self):
        [line] = self.ctl("report", RUN, "--format", "json").stdout.splitlines()
        told = [json.loads(kept)["result"] for kept in RUN.read_text().splitlines() if kept.startswith('{"result"')]
        self.assertEqual([json.loads(line)], told)

    def test_of_several_experiments_the_ranking_comes_first(self):
        said = self.ctl("report", RANKED).stdout
        order = [said.index(part) for part in (
            "GROUP ", "app.engine: MATTERS", "its parts: app.engine.decode, app.engine.trace", "the number to quote",
            "experiment 1: app.engine and app.log\n", "experiment 2: parts of app.engine\n",
            "experiment 3: confirmation of app.engine.decode, alone and with a fresh seed\n")]
        self.assertEqual(order, sorted(order))
        self.assertEqual(said.count("the metric's own function: injected per unit"), 3)

    def test_of_several_experiments_json_is_each_answer_and_the_ranking(self):
        *results, ranking = map(json.loads, self.ctl("report", RANKED, "--format", "json").stdout.splitlines())
        self.assertEqual([result["results"][0]["name"] for result in results],
                         ["app.engine", "app.engine.decode", "app.engine.decode"])
        self.assertEqual([result["phase"] for result in results], ["MAIN", "MAIN", "CONFIRMATION"])
        self.assertEqual([group["name"] for group in ranking["results"]], ["app.engine.decode", "app.log", "app.engine.trace"])
        self.assertEqual(ranking["opened"][0]["group"]["name"], "app.engine")
        self.assertEqual(ranking["confirmed"], results[2]["results"][0])

    def test_what_is_cut_off_of_several_experiments_is_said(self):
        text = RANKED.read_text()
        said = self.ctl("report", "-", text=text[:len(text) * 3 // 5])
        self.assertIn("experiment 2 ends before the answer", said.stderr)
        self.assertIn("it ended early", said.stdout)

    def test_several_experiments_that_are_all_invalid_are_an_invalid_run(self):
        def misplace(line):
            if line.get("window", {}).get("phase") == "MAIN":
                line["window"]["arm"] = 50
            return line
        said = self.ctl("report", self.changed("invalid-ranked.sbump", misplace, RANKED), code=16)
        self.assertIn("INVALID", said.stdout)

    def test_other_forms_are_written_beside_it(self):
        page, profile = self.scratch / "run.html", self.scratch / "run.coz"
        self.ctl("report", RUN, "--html", page, "--coz", profile)
        self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
        self.assertTrue(profile.read_text().startswith("startup\ttime="))

    def test_a_run_is_not_overwritten_and_a_full_disk_is_told(self):
        before = RUN.read_bytes()
        self.assertIn("the run itself", self.ctl("report", RUN, "--html", RUN, code=2).stderr)
        with tempfile.TemporaryDirectory() as directory:
            run, link = pathlib.Path(directory, "run.sbump"), pathlib.Path(directory, "link")
            shutil.copyfile(RUN, run)
            link.symlink_to(run)
            for other in (link, directory + "/./run.sbump"):
                self.assertIn("the run itself", self.ctl("report", run, "--html", other, code=2).stderr)
            page = directory + "/page"
            self.assertIn("both --html and --coz", self.ctl("report", run, "--html", page, "--coz", page, code=2).stderr)
            self.assertEqual(run.read_bytes(), pathlib.Path(RUN).read_bytes())
        self.assertIn("on standard output", self.ctl("report", RUN, "--html", "-", code=2).stderr)
        self.assertEqual(RUN.read_bytes(), before)
        self.assertIn("No space left", self.ctl("report", RUN, "--html", "/dev/full", code=1).stderr)

    def test_what_is_cut_off_is_reported_with_a_warning(self):
        half = RUN.read_text()[:50000]
        said = self.ctl("report", "-", text=half)
        self.assertIn("cut off in line", said.stderr)
        self.assertIn("it ended early", said.stdout)

    def test_other_files_are_refused(self):
        self.assertIn("no .sbump file", self.ctl("report", sys.argv[0], code=1).stderr)
        self.assertIn("No such file", self.ctl("report", self.scratch / "none", code=1).stderr)
        self.assertIn("a directory", self.ctl("report", self.scratch, code=1).stderr)
        newer = self.changed("newer.sbump", lambda line: {**line, "sbump": 2} if "sbump" in line else line)
        self.assertIn("version 2", self.ctl("report", newer, code=1).stderr)
        unplanned = self.changed("unplanned.sbump", lambda line: line if {"sbump", "begin"} & set(line) else {"progress": {}})
        self.assertIn("nothing to report", self.ctl("report", unplanned, code=1).stderr)

    def test_an_invalid_run_has_an_exit_code_of_its_own(self):
        def misplace(line):
            if "window" in line:
                line["window"]["arm"] = 50
            return line
        said = self.ctl("report", self.changed("invalid.sbump", misplace), code=16)
        self.assertIn("INVALID", said.stdout)

    def test_runs_are_compared(self):
        def relieve(line):
            if "window" in line:
                line["window"]["work_ns"] -= 0.9 * int(line["window"]["groups"][0]["injected_ns"])
            return line
        after = self.changed("after.sbump", relieve)
        self.assertIn("it matters less in the second run", self.ctl("compare", RUN, after).stdout)
        [line] = self.ctl("compare", RUN, after, "--format", "json").stdout.splitlines()
        critical = json.loads(line)["groups"][0]
        self.assertEqual(critical["name"], "critical")
        self.assertLess(critical["difference_high"], 0)

    def test_groups_of_several_experiments_are_compared(self):
        said = self.ctl("compare", RANKED, RANKED).stdout
        for name in ("app.engine", "app.log", "app.engine.decode", "app.engine.trace"):
            self.assertIn(name + ": no difference was found", said)

    def test_what_cannot_be_compared_is_refused(self):
        def measure_otherwise(line):
            if "begin" in line:
                line["begin"]["metric"] = {"calls": {"pattern": "*:other"}}
            return line
        other = self.changed("other.sbump", measure_otherwise)
        self.assertIn("by one metric", self.ctl("compare", RUN, other, code=16).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
