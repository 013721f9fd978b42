"""Sessions in which anything may happen, and how they end."""
import contextlib
import signal
import time

from harness import faults, one_thread, traces
from harness.child import Timeout
from judge import Judge
from world import EXPERIMENT, KINDS, SECONDS, TARGETS, kill

OK, BAD_ARGUMENTS, NO_MATCH = 0, 2, 7  # docs/errors.md


class Upheaval:
    def __init__(self, world, chance, ledger):
        self.world, self.chance, self.ledger = world, chance, ledger
        self.moves = [self.update_delay, self.update_targets, self.stop_target, self.trace_target, self.stop_daemon,
                      self.stop_control_thread, self.stop_client, self.fill_disk, self.ask_about_it, self.wait]
        self.ends = [self.detach, self.detach, self.kill_client, self.kill_daemon, self.kill_daemon_and_keeper,
                     self.kill_keeper, self.stop_daemon_service, self.starve, self.target_exits, self.target_executes,
                     self.attach_on_full_disk]
        # Of an experiment nothing is updated, and what begins in a special way is no experiment.
        self.moves_in_experiment = [self.stop_target, self.trace_target, self.stop_daemon, self.stop_control_thread,
                                    self.stop_client, self.ask_about_it, self.wait]
        self.ends_of_experiment = [end for end in self.ends if end not in (self.starve, self.attach_on_full_disk)]

    def run(self, deadline):
        while time.monotonic() < deadline and not self.ledger.needs_new_world:
            self.one()

    def one(self):
        self.kind = self.chance.choice([*KINDS, EXPERIMENT])
        is_experiment = self.kind == EXPERIMENT
        end = self.chance.choice(self.ends_of_experiment if is_experiment else self.ends)
        moves = self.chance.choices(self.moves_in_experiment if is_experiment else self.moves, k=self.chance.randrange(4))
        self.judge = Judge(self.world)
        name = "%s: %s" % (self.kind, " + ".join([move.__name__ for move in moves] + [end.__name__]))
        with self.ledger.step(name, self.judge):
            self.ledger.upheavals[end.__name__] += 1
            self.ledger.upheavals_of_kind[self.kind] += 1
            self.world.target.send("turmoil", self.chance.randrange(1 << 30), self.chance.uniform(0.1, 1))
            self.turmoil_runs = True
            if end not in (self.starve, self.attach_on_full_disk):
                self.begin()
                for move in moves:
                    self.ledger.upheavals[move.__name__] += 1
                    move()
            end()
            self.come_to_rest()

    def begin(self):
        if self.kind == EXPERIMENT:
            return self.begin_experiment()
        session = self.world.start_session(self.kind, "--delay", self.chance.choice(["0", "1us", "50us", "1ms"]),
                                           "--interval", self.chance.choice(["50ms", "1s"]))
        if self.chance.random() < 0.5:
            session.wait_active(SECONDS)

    def begin_experiment(self):
        """Somewhere in its pilot, or among its blocks."""
        session = self.world.start_experiment()
        if self.chance.random() < 0.3:
            return time.sleep(self.chance.uniform(0, 3))
        try:
            session.wait_for(lambda line: line.get("window", {}).get("phase") == "MAIN", SECONDS)
        except Timeout:
            raise
        except AssertionError:
            pass  # it ended by itself: on a busy machine work may stand still in its pilot
        time.sleep(self.chance.uniform(0, 1))

    def come_to_rest(self):
        """No session, a daemon, and a target: what is always true then."""
        world = self.world
        if world.session is not None:
            world.session.child.send_signal(signal.SIGCONT)
        if self.turmoil_runs:
            self.judge.turmoil()
        if not world.is_daemon_alive():
            world.put_away_daemon()
            world.start_daemon()
        self.judge.after_return()

    # ---- In the session ----

    def update_delay(self):
        self.update("--delay", self.chance.choice(["0", "5us", "500us"]))

    def update_targets(self):
        some = self.chance.choice([TARGETS[2:], ("--target", "*/calls.py:add"), ("--target", "*:step"), TARGETS])
        self.update(*some)

    def update(self, *arguments):
        try:
            self.world.session.wait_for(lambda update: True, SECONDS)  # it has an id then
        except AssertionError:
            return  # it ended before: there may be none now
        answer = self.ctl("update", self.world.session.id, *arguments)
        self.ledger.updates += 1
        self.ledger.updates_in_force += answer.code in (OK, NO_MATCH)

    def stop_target(self):
        self.stop(self.world.target.child, 0.5)

    def trace_target(self):
        """By somebody else, as a debugger would: the daemon cannot hold its threads meanwhile."""
        log = self.world.directory + "/strace-of-target"
        try:
            tracer = faults.strace(self.world.target, log, "-e", "trace=none", seconds=5)
        except Timeout:
            return  # the daemon held a thread just then, and strace was refused
        try:
            time.sleep(self.chance.uniform(0, 1))
        finally:
            tracer.process.terminate()
            # strace waits for ever for a thread in vfork(2) whose child it holds itself.
            with contextlib.suppress(Timeout):
                tracer.wait(2)
            tracer.kill()

    def stop_daemon(self):
        """Also while the target waits for its answers."""
        self.stop(self.world.daemon.child, 2.5)

    def stop_control_thread(self):
        """The daemon's others go on."""
        with one_thread.standing_still(self.world.daemon.pid):
            time.sleep(self.chance.uniform(0, 2.5))

    def stop_client(self):
        self.stop(self.world.session.child, 0.5)

    def stop(self, child, at_most_seconds):
        child.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.uniform(0, at_most_seconds))
        child.send_signal(signal.SIGCONT)

    def fill_disk(self):
        self.world.disk.fill()
        try:
            self.update(*TARGETS)
            time.sleep(self.chance.uniform(0, 0.3))
        finally:
            self.world.disk.make_room()

    def ask_about_it(self):
        pid = self.world.target.pid
        self.ctl(*self.chance.choice([("list",), ("doctor", "--pid", pid), ("match", "--pid", pid, *TARGETS),
                                      ("attach", "--pid", pid, *TARGETS, "--duration", "200ms")]))

    def wait(self):
        time.sleep(self.chance.uniform(0, 0.5))

    def ctl(self, *arguments):
        """Whatever it answers, it may be too early, or too late; but it is understood."""
        answer = self.world.daemon.ctl(*arguments, seconds=SECONDS)
        if answer.code == BAD_ARGUMENTS:
            self.judge.findings.append("%s: %s" % (arguments, answer.err))
        return answer

    # ---- Its end ----

    def detach(self):
        session = self.world.session
        session.child.send_signal(signal.SIGINT)
        session.child.wait(SECONDS)
        if session.updates and session.updates[-1].get("state") == "ENDED":
            proof = session.updates[-1]["end"]["detach_proof"]
            if proof["links_left"] or proof["fields_left"] or proof["text_bytes_changed"]:
                self.judge.findings.append("proof of detach: %s" % proof)

    def kill_client(self):
        self.world.session.child.process.kill()

    def kill_daemon(self):
        self.die(lambda keepers: self.world.daemon.child.process.kill(), False)

    def kill_daemon_and_keeper(self):
        def both(keepers):
            first, second = self.chance.sample([[self.world.daemon.pid], keepers], 2)
            kill(first)
            time.sleep(self.chance.choice([0, 0.001, 0.01]))
            kill(second)
        self.die(both, True)

    def kill_keeper(self):
        """The daemon ends by itself."""
        self.die(kill, True)

    def stop_daemon_service(self):
        self.die(lambda keepers: self.world.daemon.child.send_signal(signal.SIGTERM), False)

    def die(self, how, keeper_too):
        time.sleep(self.chance.uniform(0, 0.3))
        keepers = self.world.keepers()
        how(keepers)
        self.world.daemon.child.wait(SECONDS)
        self.judge.turmoil()
        self.turmoil_runs = False
        self.judge.after_death(keepers, keeper_too)
        self.ledger.both += keeper_too
        self.ledger.breakpoints_left += self.judge.breakpoints_left

    def starve(self):
        """A stopped daemon cannot leave its target slow beyond the session's life: the kernel watches that."""
        world = self.world
        world.start_session(self.kind, "--delay", "2ms", "--ttl", "2s").wait_active(SECONDS)
        begin = time.monotonic()
        world.daemon.child.send_signal(signal.SIGSTOP)
        try:
            time.sleep(max(0, begin + 2.2 - time.monotonic()))
            self.judge.turmoil()
            self.turmoil_runs = False
            slowest = world.target.ask("speed", seconds=SECONDS)[0]
            if slowest > 100_000:
                self.judge.findings.append("after its ttl each call takes %d ns still" % slowest)
        finally:
            world.daemon.child.send_signal(signal.SIGCONT)
        world.session.child.wait(SECONDS)

    def target_exits(self):
        self.replace_target("leave", 7)

    def target_executes(self):
        """The next program in the process is no business of the session's, and lives as it likes."""
        self.replace_target("execute", 7)

    def replace_target(self, *request):
        world = self.world
        self.judge.turmoil()
        self.turmoil_runs = False
        pid, target = world.target.pid, world.target
        target.send(*request)
        status = target.child.wait(SECONDS)
        if status != 7:
            self.judge.findings.append("the target ended with %d instead of 7" % status)
        world.session.child.wait(SECONDS)
        limit = time.monotonic() + 5
        while traces.locks(pid, target.start_ticks) or world.daemon.journals():
            if time.monotonic() > limit:
                self.judge.findings.append("left of a target that is gone: %s %s" % (
                    traces.locks(pid, target.start_ticks), world.daemon.journals()))
                break
            time.sleep(0.02)
        target.kill()
        world.session.kill()
        world.start_target()

    def attach_on_full_disk(self):
        """Refused; or, where it was begun in time, as any other."""
        world = self.world
        world.disk.fill()
        try:
            session = world.start_session(self.kind, "--delay", "1us", "--duration", "200ms")
            session.child.wait(SECONDS)
            if session.code == 0:
                self.judge.findings.append("attached without room for a journal")
        finally:
            world.disk.make_room()
