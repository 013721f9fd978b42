#!/usr/bin/python3
"""With packages of its own, from a folder."""
import base64
import hashlib
import io
import pathlib
import tarfile
import tempfile
import unittest
from unittest import mock

import trace_engine


def packed(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return out.getvalue()


class TraceEngineTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.registry = pathlib.Path(scratch.name, "registry")
        self.directory = pathlib.Path(scratch.name, "cache", "engine")
        for name, value in [("REGISTRY", self.registry.as_uri()), ("PACKAGES", [])]:
            patch = mock.patch.object(trace_engine, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def publish(self, name, files, integrity=None):
        package = packed(files)
        path = self.registry / name / "-" / (name.rpartition("/")[2] + "-1.0.tgz")
        path.parent.mkdir(parents=True)
        path.write_bytes(package)
        right = base64.b64encode(hashlib.sha512(package).digest()).decode()
        trace_engine.PACKAGES.append((name, "1.0", integrity or right))

    def test_packages_lie_where_node_looks(self):
        self.publish("@some/engine", {"package/main.js": b"1", "package/a/b.js": b"2"})
        self.publish("other", {"its-own-name/main.js": b"3"})
        trace_engine.provide(self.directory)
        modules = self.directory / "node_modules"
        self.assertEqual((modules / "@some/engine/main.js").read_bytes(), b"1")
        self.assertEqual((modules / "@some/engine/a/b.js").read_bytes(), b"2")
        self.assertEqual((modules / "other/main.js").read_bytes(), b"3")

    def test_what_is_there_is_not_fetched_again(self):
        self.publish("engine", {"package/main.js": b"1"})
        trace_engine.provide(self.directory)
        with mock.patch.object(trace_engine, "REGISTRY", "file:///nowhere"):
            trace_engine.provide(self.directory)

    def test_other_versions_come_beside_those_that_were_there(self):
        self.publish("engine", {"package/main.js": b"1"})
        trace_engine.provide(self.directory)
        before = self.directory.resolve()
        self.publish("other", {"package/main.js": b"2"})
        trace_engine.provide(self.directory)
        self.assertTrue((self.directory / "node_modules/other/main.js").exists())
        self.assertTrue((before / "node_modules/engine/main.js").exists())

    def test_a_folder_above(self):
        self.publish("engine", {"package/main.js": b"1"})
        beside = self.directory.parent / "beside"
        beside.mkdir(parents=True)
        trace_engine.provide(beside / ".." / "engine")
        self.assertTrue((self.directory / "node_modules/engine/main.js").exists())

    def assert_refused(self, error):
        with self.assertRaises(error):
            trace_engine.provide(self.directory)
        self.assertEqual(list(self.directory.parent.iterdir()), [])

    def test_no_registry(self):
        trace_engine.PACKAGES.append(("engine", "1.0", ""))
        self.assert_refused(OSError)

    def test_another_package_of_that_name(self):
        self.publish("engine", {"package/main.js": b"1"}, integrity="AAAA")
        self.assert_refused(ValueError)

    def test_a_package_that_leads_out(self):
        self.publish("engine", {"package/../../../main.js": b"1"})
        self.assert_refused(ValueError)


if __name__ == "__main__":
    unittest.main()
