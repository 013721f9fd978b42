"""Functions outside Python: of a program without any, and of libraries. How long they take: native_dose_test.py."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from harness import program, traces
from harness.case import main
from harness.native import LOCAL_WORK, ProgramCase, rows
from harness.session import with_numbers

MS = 1_000_000
BAD_TARGETS, UNSUPPORTED, NO_MATCH, TARGET_ENDED, LIMIT, PRECONDITION = 3, 5, 7, 8, 12, 13


class NativeTest(ProgramCase):
    def test_threads(self):
        session = self.attach(self.engine, "--native", "libengine.so:work")
        self.assertEqual(self.engine.ask("threads", "work", 5000, 4), 20_000)
        row = self.finish(session)["work"]
        self.assertEqual((row["calls"], row["threads_seen"]), (20_000, 4))

    def test_cplusplus_names_local_names_and_overrides(self):
        session = self.attach(self.engine, "--native", "libengine.so:shop::Engine::Step(*) @delay=0",
                              "--native", "engine:*::local_work(*) @every=4", "--delay", "1ms")
        self.engine.ask("call", "steps", 50)
        self.engine.ask("call", "local_work", 40)
        last = self.finish(session)
        self.assertEqual({name: (row["calls"], row["delayed_calls"]) for name, row in last.items()},
                         {"shop::Engine::Step(int)": (50, 0), "shop::Engine::Step(int, char const*)": (50, 0),
                          LOCAL_WORK: (40, 10)})

    def test_offsets(self):
        """PATH+0xOFFSET is a place in the file, and an instruction begins there."""
        disassembly = subprocess.run(["/usr/bin/objdump", "-d", "--no-show-raw-insn", self.library], check=True,
                                     stdout=subprocess.PIPE).stdout.decode()
        body = disassembly.split("<work>:\n")[1].split("\n\n")[0]
        places = [int(line.split(":")[0], 16) for line in body.splitlines()]
        self.assertGreater(len(places), 2)
        # Of a library the text's offsets and addresses are the same.
        inside = "%s+0x%x" % (self.library, places[1])
        session = self.attach(self.engine, "--native", inside)
        self.engine.ask("call", "work", 70)
        [row] = self.finish(session).values()
        self.assertEqual((row["filename"], row["qualname"], row["calls"]),
                         (self.library, "+0x%x" % places[1], 70))
        gaps = set(range(places[0], places[-1])) - set(places)
        answer = self.daemon.ctl("attach", "--pid", self.engine.pid, "--native",
                                 "%s+0x%x" % (self.library, min(gaps)))
        self.assert_refused(answer, PRECONDITION, "middle of an instruction")
        self.assert_nothing_left(self.engine)

    def test_refusals(self):
        for native, words in (("libengine.so:_ZTVN10__cxxabiv117__class_type_infoE", ["no function"]),
                              ("engine:work", ["does not hold it", "libengine.so:work"]),
                              ("libc.so.6:time", ["indirect function"]),
                              ("libc.so.6:memcpy", ["memcpy@GLIBC_2.2.5", "memcpy@@GLIBC_2.14"]),
                              ("libc.so.6:environ", ["is data"]),
                              ("libengine.so+0xffffff", ["no code of the file"])):
            with self.subTest(native=native):
                answer = self.daemon.ctl("attach", "--pid", self.engine.pid, "--native", native, "--duration", "100ms")
                if words == ["no function"]:
                    self.assertEqual(answer.code, NO_MATCH, answer)
                else:
                    self.assert_refused(answer, PRECONDITION, *words)
        self.assert_refused(self.daemon.ctl("attach", "--pid", self.engine.pid, "--native", "libc.so.6:*"), LIMIT,
                            "the most is 128")
        self.assert_refused(self.daemon.ctl("attach", "--pid", self.engine.pid, "--native", "nonsense"), BAD_TARGETS,
                            "PATH:SYMBOL")
        # With a Python pattern the process needs Python.
        self.assert_refused(self.daemon.ctl("attach", "--pid", self.engine.pid, "--target", "*:*", "--native",
                                            "libengine.so:work"), UNSUPPORTED, "no Python")
        self.assert_nothing_left(self.engine)
        self.assertEqual(self.daemon.kernel_objects(), [])

    def test_a_version_as_nm_marks_it(self):
        for written in ("pthread_cond_signal@@GLIBC_2.3.2", "pthread_cond_signal@GLIBC_2.3.2"):
            answer = self.daemon.ctl("match", "--pid", self.engine.pid, "--native", "libc.so.6:" + written, "--format", "json")
            self.assertEqual(answer.code, 0, answer)
            self.assertEqual(list(rows(with_numbers(json.loads(answer.out)))), ["pthread_cond_signal@GLIBC_2.3.2"])

    def test_a_name_that_is_not_there(self):
        session = self.attach(self.engine, "--native", "libengine.so:wrok", "--duration", "200ms")
        last = session.wait_end()
        self.assertEqual(session.code, NO_MATCH, session.errors)
        [pattern] = last["patterns"]
        self.assertEqual((pattern["pattern"], pattern["status"]), ("libengine.so:wrok", "NO_MATCH"))
        self.assertIn("libengine.so:work", pattern["near_misses"][0]["suggestion"])
        self.assert_clean_proof(last)

    def test_match_shows_sites_and_places_no_probe(self):
        answer = self.daemon.ctl("match", "--pid", self.engine.pid, "--native", "libengine.so:work", "--native",
                                 "libc.so.6:getppid", "--native", "libc.so.6:time", "--format", "json")
        self.assertEqual(answer.code, 0, answer)
        reply = with_numbers(json.loads(answer.out))
        found = rows(reply)
        self.assertEqual(set(found), {"work", "getppid"})
        self.assertTrue(found["work"]["native"]["emulated"])
        self.assertFalse(found["getppid"]["native"]["emulated"])
        self.assertGreater(found["getppid"]["native"]["hit_cost_ns"], found["work"]["native"]["hit_cost_ns"])
        self.assertEqual([pattern["status"] for pattern in reply["patterns"]], ["MATCHED", "MATCHED", "NO_MATCH"])
        self.assertIn("indirect", reply["patterns"][2]["near_misses"][0]["reason"])
        table = self.daemon.ctl("match", "--pid", self.engine.pid, "--native", "libengine.so:work")
        self.assertRegex(table.out, r"libengine\.so:work .*libengine\.so +work +\+0x[0-9a-f]+ +push %rbp")
        self.assertIn("was not stopped", table.out)
        self.assert_nothing_left(self.engine)

    def test_a_library_that_is_loaded_later_and_again(self):
        copy = os.path.join(self.scratch, "liblate.so")
        shutil.copy(self.library, copy)
        session = self.attach(self.engine, "--native", copy + ":work", "--interval", "50ms")
        [pattern] = session.updates[-1]["patterns"]
        self.assertEqual(pattern["status"], "NO_MATCH")
        self.assertEqual(self.engine.ask("load", copy), 1)
        session.wait_for(lambda update: update["patterns"] and update["patterns"][0]["targets"] == 1, 5)
        self.engine.ask("call", "late", 25)
        self.engine.ask("call", "work", 5)  # the other file's
        session.wait_calls(25)
        self.assertEqual(self.engine.ask("unload"), 0)
        last = self.finish(session)
        self.assertEqual({name: row["calls"] for name, row in last.items()}, {"work": 25})

    def test_many_at_once(self):
        """More than a few share the kernel's quicker kind of link."""
        session = self.attach(self.engine, "--native", "libc.so.6:pthread_mutex*", "--native", "libengine.so:*")
        self.engine.ask("call", "work", 40)
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assertEqual(rows(last)["work"]["calls"], 40)
        self.assertGreater(len(last["targets"]), 10)
        self.assertTrue(any("forks" in warning for warning in last["warnings"]), last["warnings"])
        self.assertLess(last["times"]["detach_ns"], 2000 * MS)
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.engine)

    def test_exec_and_exit(self):
        session = self.attach(self.engine, "--native", "libengine.so:work")
        self.engine.ask("call", "work", 9)
        session.wait_calls(9)
        self.engine.send("exec", "/bin/sleep")
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (TARGET_ENDED, "target called exec"))
        self.assertEqual(rows(last)["work"]["calls"], 9)
        self.assert_clean_proof(last, verified=False)
        self.assertEqual(traces.changed_text(self.engine.pid), [])
        self.engine.kill()
        other = self.start_engine()
        session = self.attach(other, "--native", "libengine.so:work")
        other.ask("call", "work", 7)
        session.wait_calls(7)
        other.ask("end")
        last = session.wait_end()
        self.assertEqual((session.code, last["end"]["reason"]), (TARGET_ENDED, "target exited"))
        self.assertEqual(rows(last)["work"]["calls"], 7)

    def test_a_killed_daemon_leaves_nothing(self):
        daemon = self.start_daemon()
        session = self.attach(self.engine, "--native", "libengine.so:work", "--delay", "1ms", daemon=daemon)
        self.engine.ask("call", "work", 5)
        daemon.child.send_signal(signal.SIGKILL)
        daemon.child.wait()
        session.child.wait(20)
        self.eventually(lambda: traces.changed_text(self.engine.pid) == [], 5, "the end of the probes")
        self.assertLess(self.engine.ask("call", "work", 1000), 100 * MS)
        self.assertEqual(traces.trouble_of_threads(self.engine.pid), [])

    def test_killed_with_the_keeper_of_the_probes(self):
        """At random moments of an attach or a detach. The kernel may leave a breakpoint; the next daemon finds it by
        the journal, though the process has no interpreter, and takes it away."""
        state_dir = self.scratch + "/state"
        left = 0
        for _ in range(12):
            daemon = self.start_daemon(state_dir=state_dir)
            [keeper] = traces.children(daemon.pid)
            session = self.start_attach(self.engine, "--native", "libengine.so:work", "--native", "engine:*::local_work(*)",
                                        "--duration", "1ms", daemon=daemon)
            self.eventually(lambda: session.updates, 10, "the session")
            time.sleep(random.uniform(0, 0.25))
            os.kill(keeper, signal.SIGKILL)
            daemon.kill()
            session.child.wait(20)
            left += bool(traces.changed_text(self.engine.pid))
            self.assertLess(self.best(self.engine, "work", 100), 50_000)
        print("%d times the kernel left a breakpoint" % left, end=" ", file=sys.stderr)
        daemon = self.start_daemon(state_dir=state_dir)
        # At once, unless the keeper takes long to end: the next try comes after 10 s.
        self.eventually(lambda: daemon.journals() == [], 30, "the recovery")
        self.assertEqual(traces.changed_text(self.engine.pid), [])
        session = self.attach(self.engine, "--native", "libengine.so:work", daemon=daemon)
        self.engine.ask("call", "work", 5)
        last = session.finish()
        self.assertEqual([row["calls"] for row in last["targets"]], [5])
        self.assert_clean_proof(last)
        self.assert_nothing_left(self.engine, daemon=daemon)

    def test_a_keeper_of_the_probes_that_outlives_the_next_start(self):
        """Its probes look like somebody else's until it ends. The journal stays until they can be told apart."""
        state_dir = self.scratch + "/state"
        daemon = self.start_daemon(state_dir=state_dir)
        [keeper] = traces.children(daemon.pid)
        session = self.attach(self.engine, "--native", "libengine.so:work", daemon=daemon)
        os.kill(keeper, signal.SIGSTOP)
        try:
            daemon.kill()
            session.child.wait(20)
            daemon = self.start_daemon(state_dir=state_dir)
            self.assertEqual(len(daemon.journals()), 1)
            self.assertIn("event=recovery_failed", daemon.log)
            self.assertNotEqual(traces.changed_text(self.engine.pid), [])
        finally:
            os.kill(keeper, signal.SIGKILL)
        self.eventually(lambda: daemon.journals() == [], 30, "the recovery")
        self.assertEqual(traces.changed_text(self.engine.pid), [])
        self.assert_nothing_left(self.engine, daemon=daemon)

    def test_in_a_namespace_of_its_own(self):
        """Its files are not the host's: a copy of the root below an overlay, with a library that only it sees."""
        for name in ("upper", "layers", "merged"):
            os.mkdir(os.path.join(self.scratch, name))
        place = os.path.join(self.scratch, "upper", "opt", "engine")
        os.makedirs(place)
        program.build(place)
        script = ("mount -t tmpfs tmpfs {0}/layers && cd {0}/layers && mkdir u w && cp -r {0}/upper/. u && "
                  "mount -t overlay overlay -o lowerdir=/,upperdir=u,workdir=w {0}/merged && "
                  "exec env LD_LIBRARY_PATH=/opt/engine chroot {0}/merged /opt/engine/engine").format(self.scratch)
        inside = self.start_program("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script)
        path = "/opt/engine/libengine.so"
        self.assertFalse(os.path.exists(path))
        session = self.attach(inside.pid, "--native", path + ":work", "--native", "/lib/x86_64-linux-gnu/libc.so.6:getppid",
                              "--delay", "500us")
        self.assertGreater(inside.ask("call", "work", 100), 49 * MS)
        inside.ask("call", "getppid", 20)
        last = session.finish()
        self.assertEqual(session.code, 0, session.errors)
        self.assertEqual({(row["filename"], row["qualname"]): row["calls"] for row in last["targets"]},
                         {(path, "work"): 100, ("/lib/x86_64-linux-gnu/libc.so.6", "getppid"): 20})
        self.assert_clean_proof(last)
        self.assertEqual(traces.trouble_of_threads(inside.pid), [])
        self.assertLess(self.best(inside, "work", 1000), 20_000)
        self.assert_ends_well(inside)


if __name__ == "__main__":
    main()
