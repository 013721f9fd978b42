"""Endpoints by name, and several at once."""
import json

from harness.case import main
from harness.daemon import run_client
from harness.remote import STEP, UNREACHABLE, Remote

BAD_ARGUMENTS, PARTIAL = 2, 14


class SeveralTest(Remote):
    def setUp(self):
        super().setUp()
        self.start()
        self.second = self.start_daemon()
        config = self.write("config.yaml", """current: second
contexts:
  second: {endpoint: "%s"}
  far: {endpoint: "%s", tls_ca: ca.pem, tls_cert: viewer.pem, tls_key: viewer.key}
  gone: {endpoint: "unix:%s/nobody.sock"}
""" % (self.second.endpoint, self.remote, self.scratch))
        self.env = {"SBUMP_CONFIG": config}

    def ctl(self, *arguments):
        return run_client(None, *arguments, env=self.env)

    def test_contexts(self):
        answer = self.ctl("contexts")
        self.assertEqual(answer.code, 0, answer)
        for words in ("second", "far", self.remote, "viewer.pem"):
            self.assertIn(words, answer.out)
        self.assertIn(str(self.second.pid), self.ctl("version").out)  # the current one
        self.assertIn(str(self.daemon.pid), self.ctl("--context", "far", "version").out)
        self.assert_refused(self.ctl("--context", "none", "list"), BAD_ARGUMENTS, "none", "config.yaml")

    def test_several_at_once(self):
        target = self.start_target(script="steady.py")
        session = self.attach(target, *STEP, daemon=self.second)
        answer = self.ctl("--context", "second", "--context", "far", "list")
        self.assertEqual(answer.code, 0, answer)
        self.assertRegex(answer.out, r"(?m)^HOST +SESSION")
        self.assertRegex(answer.out, r"(?m)^second +%s" % session.id)
        answer = self.ctl("--all-contexts", "list", "--format", "json")
        self.assertEqual(answer.code, PARTIAL, answer)
        lines = [json.loads(line) for line in answer.out.splitlines()]
        self.assertEqual([line["host"] for line in lines], ["second", "far", "gone"])
        self.assertEqual([len(line.get("sessions", [])) for line in lines], [1, 0, 0])
        self.assertIn("no such socket", lines[2]["error"])
        self.assertIn("gone: ", answer.err)
        for command in ("version", "doctor"):
            answer = self.ctl("--all-contexts", command)
            self.assertEqual(answer.code, PARTIAL, answer)
            self.assertRegex(answer.out, r"(?m)^HOST ")
            self.assertRegex(answer.out, r"(?m)^far ")
        self.assertIn("one daemon", self.ctl("--all-contexts", "detach", "--all").err)
        session.finish()
        self.assert_ends_well(target)

    def test_none_answers(self):
        answer = run_client("unix:/nowhere/a", "--endpoint", "unix:/nowhere/b", "list")
        self.assertEqual(answer.code, UNREACHABLE, answer)


if __name__ == "__main__":
    main()
