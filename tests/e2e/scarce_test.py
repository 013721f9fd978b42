"""A daemon that has too few file descriptors for all that is asked of it."""
import json
import os

from harness.case import Case, main
from harness.family import FamilyCase

STEP = ("--target", "*steady.py:step")
# Beyond what one process needs: for a part of 16 others.
MORE = (6, 20, 46)
CROWD = 16
ROOM_FOR_12 = 1024


def open_files(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.pid))


class FewDescriptorsTest(Case):
    def test_too_many_processes(self):
        """Those that are too many are named, and nobody else's session ends."""
        crowd = [self.start_target(self.python, "steady.py", "crowd") for _ in range(CROWD)]
        enough = self.open_files_with_one()
        for more in MORE:
            with self.subTest(more=more):
                self.try_with(enough + more, crowd)
        for target in crowd:
            self.assert_nothing_left(target)
            self.assert_ends_well(target)

    def test_more_processes_than_there_are_descriptors_for(self):
        """They are refused before there is none left, and so the others lack none, until their end."""
        self.daemon = self.start_daemon(prefix=("prlimit", "--nofile=%d:%d" % (ROOM_FOR_12, ROOM_FOR_12)))
        neighbour = self.start_target(script="steady.py")
        watch = self.attach(neighbour, *STEP)
        crowd = [self.start_target(self.python, "steady.py", "crowd") for _ in range(CROWD)]
        answer = self.daemon.ctl("attach", "--cmdline", "*steady.py crowd*", *STEP, "--max-stop", "1s",
                                 "--duration", "1s", "--format", "json")
        rows = json.loads(answer.out.splitlines()[-1])["processes"]
        refused = [row for row in rows if "on 12 processes already" in row["end"]["reason"]]
        self.assertEqual((len(rows), len(refused)), (CROWD, CROWD - 11), answer.err)
        self.assertIn("limit of open files", refused[0]["end"]["reason"])
        self.assertNotIn("Too many open files", answer.out + answer.err)
        last = watch.finish()
        self.assert_clean_proof(last)
        for target in (neighbour, *crowd):
            self.assert_nothing_left(target)
            self.assert_ends_well(target)

    def open_files_with_one(self):
        self.daemon = self.start_daemon()
        target = self.start_target(script="steady.py")
        watch = self.attach(target, *STEP)
        count = open_files(self.daemon)
        watch.finish()
        self.assertEqual(self.daemon.stop(), 0)
        return count

    def try_with(self, few, crowd):
        self.daemon = self.start_daemon(prefix=("prlimit", "--nofile=%d:%d" % (few, few)))
        neighbour = self.start_target(script="steady.py")
        watch = self.attach(neighbour, *STEP)
        answer = self.daemon.ctl("attach", "--cmdline", "*steady.py crowd*", *STEP, "--max-stop", "1s",
                                 "--duration", "300ms", "--format", "json")
        self.assertRegex(answer.out + answer.err, "Too many open files|limit of open files")
        # Where none of them is left the first refusal is the answer.
        self.assertIn("Too many open files", answer.out + answer.err + self.daemon.log)
        self.assertTrue(self.daemon.runs(), self.daemon.log)
        last = watch.finish()
        self.assertEqual(last["end"]["reason"], "detached")
        self.assert_clean_proof(last)
        self.assertEqual(self.daemon.stop(), 0)
        for target in (neighbour, *crowd):
            self.assert_nothing_left(target)
        self.assert_ends_well(neighbour)


class GivenBackTest(FamilyCase):
    def test_workers_that_come_and_go(self):
        """Of those that are gone the session keeps the figures, and no descriptors."""
        target = self.start_target(script="workers.py")
        session = self.follow(target)
        before = open_files(self.daemon)
        for _ in range(12):
            self.wait_members(session, target.ask("hire", "fork", 4))
            self.assertEqual(target.ask("dismiss"), [0] * 4)
        session.wait_for(lambda update: sum(one["state"] == "ENDED" for one in update["processes"]) == 48)
        self.assertLess(open_files(self.daemon), before + 48)
        self.assertEqual(len(session.finish()["processes"]), 49)
        self.assert_nothing_left(target)
        self.assert_ends_well(target)


if __name__ == "__main__":
    main()
