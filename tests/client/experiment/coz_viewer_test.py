"""What `sbumpctl report --coz` writes, as Coz's own viewer (`coz plot`) shows it in a browser.

    coz_viewer_test.py SBUMPCTL RUN.sbump RANKED_RUN.sbump
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.sax.saxutils

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import opened  # noqa: E402

SBUMPCTL, RUN, RANKED = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
VIEWER = pathlib.Path("/usr/share/coz-profiler/viewer")  # Debian's coz-profiler
# What its button "Open" does with a file, and then what it takes a plot from.
OPEN = """<script>
current_profile = new Profile(%s, d3.select('#plot-area'), d3.select('#legend'), get_min_points, display_warning);
update();
var data = document.createElement('pre');
data.id = 'data';
data.textContent = JSON.stringify(current_profile.getSpeedupData(get_min_points()));
document.body.appendChild(data);
</script></body>"""


class CozViewerTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.scratch)

    def shown(self, run):
        """The page, and its plots: {name: [(speedup, progress)]}."""
        profile = self.scratch / "profile.coz"
        subprocess.run([SBUMPCTL, "report", run, "--coz", profile], check=True, capture_output=True)
        viewer = self.scratch / "viewer"
        shutil.copytree(VIEWER, viewer)
        page = viewer / "index.htm"
        page.write_text(page.read_text().replace("</body>", OPEN % json.dumps(profile.read_text())))
        text = opened(page, self.scratch, (1400, 900), "--virtual-time-budget=5000", "--dump-dom")
        data = json.loads(xml.sax.saxutils.unescape(re.search(r'<pre id="data">(.*?)</pre>', text, re.S).group(1)))
        return text, {plot["name"].lstrip("/"): [(one["speedup"], one["progress_speedup"])
                                                 for one in plot["progress_points"][0]["measurements"]] for plot in data}

    def slope(self, points):
        return sum(x * y for x, y in points) / sum(x * x for x, _ in points)

    def test_a_sweep(self):
        text, plots = self.shown(RUN)
        self.assertNotIn("alert-warning", text)
        self.assertNotIn("No Data to Plot", text)
        told = {result["name"]: result["criticality"] for result in self.results(RUN)}
        self.assertEqual(set(plots), set(told))
        for name, points in plots.items():
            self.assertIn(name + "</", text)
            # Of the points; what was told is the middle of the slopes of blocks.
            self.assertAlmostEqual(self.slope(points), told[name], delta=max(0.1, 0.2 * told[name]), msg=name)

    def test_several_experiments(self):
        text, plots = self.shown(RANKED)
        self.assertNotIn("alert-warning", text)
        self.assertGreater(len(plots), 2)
        self.assertIn("app.engine.decode", plots)

    def results(self, run):
        line = subprocess.run([SBUMPCTL, "report", run, "--format", "json"], check=True, capture_output=True).stdout
        return json.loads(line)["results"]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
