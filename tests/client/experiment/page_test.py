"""The HTML report, of a real run and of one whose names would like to be markup, each of one experiment and of several:
well-formed, alone, and as a browser shows it.

    page_test.py RENDER_REPORT RUN.sbump RANKED_RUN.sbump HOSTILE_RUN.py
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from browser import opened  # noqa: E402

RENDER, REAL_RUN, RANKED_RUN, HOSTILE_RUN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
WIDE, NARROW = (1100, 900), (390, 900)
LIGHT, DARK = (), ("--blink-settings=preferredColorScheme=0",)
# A page that could load or run something would have one of these.
ACTIVE_TAGS = {"script", "img", "image", "link", "iframe", "object", "embed", "base", "form", "foreignObject", "use", "a"}
ACTIVE_ATTRIBUTES = {"src", "href", "srcset", "action", "data"}


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        cls.hostile_pages = [cls.hostile(1), cls.hostile(3)]
        cls.pages = [cls.rendered(REAL_RUN, "real.html"), cls.rendered(RANKED_RUN, "ranked.html"), *cls.hostile_pages]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def rendered(cls, run, name):
        subprocess.run([RENDER, run, cls.scratch / name], check=True)
        return cls.scratch / name

    @classmethod
    def hostile(cls, experiments):
        run = cls.scratch / f"hostile-{experiments}.sbump"
        subprocess.run([sys.executable, HOSTILE_RUN, run, str(experiments)], check=True)
        return cls.rendered(run, run.stem + ".html")

    def browser(self, page, size, *options):
        return opened(page, self.scratch, size, *options)

    def first_pixel(self, page, size, *options):
        """(width, height, (red, green, blue)) of a screenshot: at the first pixel no PNG filter does anything."""
        picture = self.scratch / "picture.png"
        self.browser(page, size, "--screenshot=" + str(picture), *options)
        png = picture.read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        chunk = png.index(b"IDAT")
        start = zlib.decompressobj().decompress(png[chunk + 4:], 4)
        self.assertGreater(len(png), 20000, "an empty page?")
        return width, height, tuple(start[1:4])

    def test_is_well_formed_and_has_nothing_that_loads_or_runs(self):
        for page in self.pages:
            root = xml.etree.ElementTree.parse(page).getroot()
            for element in root.iter():
                self.assertNotIn(element.tag, ACTIVE_TAGS)
                for name in element.attrib:
                    self.assertFalse(name in ACTIVE_ATTRIBUTES or name.startswith("on") or ":" in name, (element.tag, name))
            styles = "".join(style.text for style in root.iter("style"))
            self.assertIsNone(re.search(r"url\(|@import|http", styles))

    def test_hostile_names_are_text(self):
        for page in self.hostile_pages:
            text = "".join(xml.etree.ElementTree.parse(page).getroot().itertext())
            for name in ("<script>alert(1)</script>", "<img src=http://evil.example/x.png>",
                         "a\"b'c & d\\n\\u202e evil \\x1b[31m"):
                self.assertIn(name, text)
            self.assertNotIn("\u202e", text)

    def test_pictures_have_words(self):
        for page in self.pages:
            pictures = xml.etree.ElementTree.parse(page).getroot().findall(".//*[@role='img']")
            self.assertGreater(len(pictures), 5)
            for picture in pictures:
                self.assertGreater(len(picture.get("aria-label", "")), 10)

    def test_a_browser_opens_it(self):
        for page in self.pages:
            dom = self.browser(page, WIDE, "--dump-dom")
            self.assertIn("Ranked by what matters", dom)
            self.assertNotIn("<script", dom)
            self.assertNotIn("parsererror", dom)

    def test_it_is_light_or_dark_as_its_reader_likes(self):
        for page in self.pages:
            for size in (WIDE, NARROW):
                self.assertEqual(self.first_pixel(page, size, *LIGHT), (*size, (0xff, 0xff, 0xff)))
                self.assertEqual(self.first_pixel(page, size, *DARK), (*size, (0x10, 0x14, 0x18)))

    def test_it_is_no_wider_than_a_phone(self):
        for page in self.pages:
            text = page.read_text(encoding="utf-8")
            text = re.sub(r"<meta http-equiv[^>]*>", "", text)
            text = text.replace("</body>", "<script>document.title = 'width ' + document.documentElement.scrollWidth"
                                           " + ' of ' + innerWidth</script></body>")
            measured = self.scratch / "measured.html"
            measured.write_text(text, encoding="utf-8")
            found = re.search(r"<title>width (\d+) of (\d+)</title>", self.browser(measured, NARROW, "--dump-dom"))
            self.assertIsNotNone(found)
            self.assertLessEqual(int(found[1]), int(found[2]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
