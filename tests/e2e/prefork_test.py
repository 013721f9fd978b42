"""A server that forks its workers and replaces those that end: all of them in one session."""
import json
import os
import signal
import socket

from harness.case import each_mechanism, main
from harness.family import FamilyCase

N = 200
ANSWER = N * (N + 1) // 2
US = 1000
EXIT = -1  # asked of a worker


class PreforkTest(FamilyCase):
    def start_server(self, python, workers):
        self.socket = self.scratch + "/socket"
        server = self.start_target(python, "prefork.py", self.socket)
        server.ask("work", 3000)
        return server, server.ask("resize", workers)

    def connect(self, count):
        """Connections to so many workers, by pid: none takes another one before it is done with that."""
        connections = [socket.socket(socket.AF_UNIX) for _ in range(count)]
        for one in connections:
            self.addCleanup(one.close)
            one.settimeout(20)
            one.connect(self.socket)
        return {int(one.recv(64)): one for one in connections}

    def request(self, numbers):
        """Of each worker its number: (the answers, the calls that each has made, what is armed in each)."""
        connections = self.connect(len(numbers))
        self.assertEqual(sorted(connections), sorted(numbers))
        for pid, connection in connections.items():
            connection.sendall(b"%d" % numbers[pid])
        replies = {pid: connections[pid].recv(1 << 16) for pid in numbers}
        return [{pid: json.loads(reply)[i] for pid, reply in replies.items() if reply} for i in range(3)]

    def successor(self, server, session, known):
        """Who is in place of one that has ended, once it is in the session."""
        new, = self.eventually(lambda: set(server.ask("live")) - set(known), 10, "a new worker")
        self.wait_members(session, [new], "forked")
        return new

    def end_two(self, server, session, workers):
        """Of three workers one is killed and one exits, and each is replaced: the new ones, at the third one's side."""
        killed, exits, stays = workers
        os.kill(killed, signal.SIGKILL)
        heir = self.successor(server, session, workers)
        self.assertEqual(self.request({exits: EXIT, stays: N, heir: N})[0], dict.fromkeys([stays, heir], ANSWER))
        return heir, self.successor(server, session, [*workers, heir])

    def assert_members(self, last, server, old, ended, new):
        members = self.members(last)
        self.assertEqual(set(members), {server.pid, *old, *new})
        self.assertEqual({members[pid]["joined"] for pid in [server.pid, *old]}, {""})
        self.assert_joined(members, new, "forked")
        self.assertEqual({pid: one["end"]["reason"] for pid, one in members.items()},
                         {pid: "target exited" if pid in ended else "detached" for pid in members})
        for pid, one in members.items():
            self.assert_clean_proof(one, verified=pid not in ended)

    @each_mechanism
    def test_workers_are_replaced(self, python):
        server, old = self.start_server(python, 3)
        killed, exits, stays = old
        alone, _, _ = self.request(dict.fromkeys(old, N))
        session = self.follow(server, "--delay", "20us")
        self.wait_members(session, [server.pid, *old])
        answers, calls, _ = self.request(dict.fromkeys(old, N))
        self.assertEqual((answers, set(calls.values())), (alone, {2 * N}))
        heir, other = self.end_two(server, session, old)
        live = [stays, heir, other]
        answers, calls, _ = self.request(dict.fromkeys(live, N))
        self.assertEqual((answers, calls), (dict.fromkeys(live, ANSWER), {stays: 4 * N, heir: 2 * N, other: N}))
        last = session.finish()
        self.assert_calls(last, {server.pid: 0, killed: N, exits: N, stays: 3 * N, heir: 2 * N, other: N})
        self.assertEqual(sum(one["calls"] for one in last["patterns"]), 8 * N)
        self.assert_members(last, server, old, (killed, exits), (heir, other))
        self.assert_clean_proof(last)
        self.assert_all_clean(server, live)
        self.assert_nothing_armed(server)
        ended = server.ask("dismiss")
        self.assertEqual(ended.pop(str(killed)), signal.SIGKILL)
        self.assertEqual(ended.pop(str(exits)), 3 << 8)
        self.assertEqual(set(ended.values()), {0}, ended)
        self.assert_ends_well(server)

    def assert_nothing_armed(self, server):
        """Nor in a new worker, which has what its master has."""
        answers, _, armed = self.request(dict.fromkeys(server.ask("resize", 4), N))
        self.assertEqual(set(answers.values()), {ANSWER})
        self.assertEqual(armed, dict.fromkeys(armed, []))


if __name__ == "__main__":
    main()
