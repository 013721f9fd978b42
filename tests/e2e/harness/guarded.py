"""The base of the tests of a policy: a daemon that others than root may reach."""
import json
import os
import signal
import subprocess

from harness.case import Case
from harness.child import Child
from harness.daemon import Answer, clean_environment
from harness.session import Session
from harness.users import as_user, open_to_users


class Guarded(Case):
    """A daemon with a policy and an audit log, whose socket everybody may reach."""

    @classmethod
    def setUpClass(cls):
        pass  # each test has its own

    def start(self, policy, *options):
        self.policy = self.write("policy.yaml", policy)
        self.audit = self.scratch + "/audit.jsonl"
        os.chmod(self.policy, 0o600)
        self.daemon = self.start_daemon(options=["--policy", self.policy, "--audit-log", self.audit, *options])
        self.client = open_to_users(self.daemon.directory)
        os.chmod(self.daemon.socket, 0o666)  # the policy alone decides here
        return self.daemon

    def ctl_as(self, uid, *arguments, groups=(), seconds=30):
        """sbumpctl as that user, from where that user may run it."""
        ended = subprocess.run([*as_user(uid, *groups), self.client, "--endpoint", self.daemon.endpoint,
                                *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
                               env=clean_environment())
        return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def attach_as(self, uid, target, *arguments, wait=True):
        session = UserSession(self, uid, "--pid", target.pid, *arguments)
        self.addCleanup(session.kill)
        if wait:
            session.wait_active()
        return session

    def reload(self, policy, log="event=reloaded"):
        count = self.daemon.log.count(log)
        with open(self.policy, "w") as file:
            file.write(policy)
        self.daemon.child.send_signal(signal.SIGHUP)
        self.eventually(lambda: self.daemon.log.count(log) > count, 5, log)

    def records(self, event=None):
        with open(self.audit) as file:
            records = [json.loads(line) for line in file]
        return [record for record in records if event in (None, record["event"])]

    def start_target_as(self, uid):
        return self.start_target(script="steady.py", prefix=["/usr/bin/setpriv", "--reuid", str(uid)])


class UserSession(Session):
    def __init__(self, case, uid, *arguments, command="attach"):
        self.child = Child([*as_user(uid), case.client, "--endpoint", case.daemon.endpoint, command,
                            *map(str, arguments), "--format", "json"], env=clean_environment())
        self._updates = []
