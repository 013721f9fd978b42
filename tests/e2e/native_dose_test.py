"""What delays of functions outside Python take, by the program's own clock."""
import subprocess
import sys
import time

from harness import traces
from harness.case import main
from harness.native import LOCAL_WORK, ProgramCase

MS = 1_000_000
PRECONDITION = 13


def symbols(path):
    """Addresses by name, as nm has them."""
    listed = subprocess.run(["/usr/bin/nm", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    return {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}


class NativeDoseTest(ProgramCase):
    def test_the_contract_of_a_row(self):
        session = self.attach(self.engine, "--native", self.library + ":work", "--delay", "200us")
        ns = self.best(self.engine, "work", 30)
        self.assertGreater(ns, 199_000)
        self.assertLess(ns, 230_000)
        [row] = self.finish(session).values()
        self.assertEqual((row["filename"], row["qualname"], row["pid"]), (self.library, "work", self.engine.pid))
        self.assertEqual((row["calls"], row["delayed_calls"], row["requested_delay_ns"], row["threads_seen"]),
                         (300, 300, 300 * 200_000, 1))
        self.assertGreaterEqual(row["injected_delay_ns"], 300 * 199_000)
        self.assertGreater(row["first_hit_unix_ns"], 0)
        self.assertEqual(row["native"]["entry_vaddr"], symbols(self.library)["work"])
        self.assertLess(self.best(self.engine, "work", 1000), 300)  # full speed again

    def test_the_dose_includes_what_a_hit_costs(self):
        """Also where that is many times more, because the instruction is single-stepped; under a hypervisor the cost of a
        step changes by some microseconds from one moment to the next."""
        session = self.attach(self.engine, "--native", "libc.so.6:getppid", "--delay", "150us")
        ns = self.best(self.engine, "getppid", 50)
        warnings = " ".join(sum((update.get("warnings", []) for update in session.updates), []))
        self.assertRegex(warnings, r"getppid is probed at .* single-steps: each call costs [0-9]+ ns more instead of")
        row = self.finish(session)["getppid"]
        self.assertFalse(row["native"]["emulated"])
        self.assertEqual(row["calls"], 500)
        self.assertAlmostEqual(ns, 150_000, delta=15_000)

    def test_an_indirect_function(self):
        """Of which it depends on the processor what it is: the one that was chosen is probed."""
        self.engine.ask("call", "chosen", 1)  # the loader asks then
        session = self.attach(self.engine, "--native", self.library + ":chosen", "--delay", "200us")
        self.assertGreater(self.best(self.engine, "chosen", 20), 199_000)
        row = self.finish(session)["chosen"]
        self.assertEqual((row["filename"], row["calls"], row["delayed_calls"]), (self.library, 200, 200))
        self.assertEqual(row["native"]["entry_vaddr"], symbols(self.library)["choice"])
        self.assertTrue(row["native"]["emulated"])
        self.assertLess(self.best(self.engine, "chosen", 1000), 300)

    def test_a_site_that_is_moved(self):
        """From an entry that would be single-stepped to the branch after it: each call once, at the cheaper cost."""
        session = self.attach(self.engine, "--native", self.library + ":compares", "--delay", "200us")
        entry = symbols(self.library)["compares"]
        self.assertEqual([offset for _, offset, _ in traces.changed_text(self.engine.pid)], [entry + 10])
        ns = self.best(self.engine, "compares", 30)
        self.assertGreater(ns, 199_000)
        self.assertLess(ns, 230_000)
        self.assertEqual(self.engine.ask("threads", "compares", 100, 4), 400)
        [row] = self.finish(session).values()
        self.assertEqual((row["calls"], row["delayed_calls"], row["threads_seen"]), (700, 700, 5))
        native = row["native"]
        self.assertEqual((native["entry_vaddr"], native["vaddr"], native["emulated"]), (entry, entry + 10, True))
        self.assertLess(self.best(self.engine, "compares", 1000), 300)

    def test_children_are_not_slowed(self):
        session = self.attach(self.engine, "--native", "libengine.so:work", "--delay", "1ms")
        self.assertLess(self.engine.ask("child", "work", 1000), 500)
        self.engine.ask("call", "work", 3)
        self.assertEqual(self.finish(session)["work"]["calls"], 3)

    def test_a_stopped_daemon_delays_nobody_beyond_the_ttl(self):
        """The kernel's programs look at the time themselves. A hit's own cost is left: getppid is single-stepped."""
        daemon = self.start_daemon()
        session = self.attach(self.engine, "--native", "libengine.so:work", "--native", "libc.so.6:getppid",
                              "--delay", "1ms", "--ttl", "2s", daemon=daemon)
        names = ("work", "getppid")
        self.assertGreater(min(self.best(self.engine, name, 5) for name in names), 0.99 * MS)
        with daemon.standing_still():
            time.sleep(2.1)
            left = {name: self.best(self.engine, name, 50) for name in names}
            print("; ".join("%s: %d ns a call" % one for one in left.items()), end=" ", file=sys.stderr)
            self.assertLess(max(left.values()), MS / 4)
            self.assertNotEqual(traces.changed_text(self.engine.pid), [])  # only the daemon takes the probe away
        last = session.wait_end()
        self.assertEqual(last["end"]["reason"], "ttl over")
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.engine, daemon=daemon)

    def test_start_and_duration(self):
        session = self.start_attach(self.engine, "--native", "libengine.so:work", "--delay", "2ms", "--start", "600ms",
                                    "--duration", "600ms", "--interval", "50ms")
        session.wait_active()
        self.assertLess(self.engine.ask("call", "work", 20), 40 * MS)
        time.sleep(0.8)
        self.assertGreater(self.engine.ask("call", "work", 20), 40 * MS)
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (0, "duration over"))
        self.assertEqual([(row["calls"], row["delayed_calls"]) for row in last["targets"]], [(40, 20)])
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.engine)

    def test_update(self):
        session = self.attach(self.engine, "--native", "libengine.so:work", "--delay", "1ms")
        self.engine.ask("call", "work", 30)
        updated = self.daemon.ctl("update", session.id, "--delay", "0")
        self.assertEqual(updated.code, 0, updated)
        self.assertLess(self.engine.ask("call", "work", 30), 15 * MS)
        # One goes, one comes, and one that cannot be had changes nothing.
        refused = self.daemon.ctl("update", session.id, "--native", "libc.so.6:time")
        self.assert_refused(refused, PRECONDITION, "indirect")
        self.engine.ask("call", "work", 10)
        updated = self.daemon.ctl("update", session.id, "--native", "engine:*::local_work(*)", "--delay", "100us")
        self.assertEqual(updated.code, 0, updated)
        self.assertEqual(len(traces.changed_text(self.engine.pid)), 1)
        self.engine.ask("call", "work", 1000)
        self.engine.ask("call", "local_work", 20)
        last = self.finish(session)
        self.assertEqual((last["work"]["calls"], last["work"]["delayed_calls"]), (70, 30))
        local = last[LOCAL_WORK]
        self.assertEqual((local["calls"], local["delayed_calls"]), (20, 20))


if __name__ == "__main__":
    main()
