"""One broker for all tests that need one to be killed. It is killed once, while all of them use it.

Such a test is a generator with two yields:

    @one_kill()
    def test_the_end_of_a_mix_is_written_again(s):
        m = mixed(s, "ended")               # while the broker works
        yield
        lose(s, m, "batches", 2, 2)         # after SIGKILL, before its return
        yield
        m.repair()                          # after its return

All such tests of a worker are played together, a few at the same time, when the first of them is due (the fixture `struck`). Each
test then reports what has become of its own part.
"""

import contextlib
import inspect
import os
import secrets
import signal
import threading

from cluster import running
from conftest import Riffle, configs_in, configures, fills, reads

AT_ONCE = 6
SESSION_MS = 2000  # the shortest session of a mixer, and of a member of any other group, that this broker takes


def one_kill(at_work=False):
    """Makes a test of a generator. `at_work`: its first part leaves something running at full speed, so it begins after all others
    have ended theirs."""
    def make(part):
        def test(struck, request, **_):
            struck(request.node)
        names = ["struck", "request", *list(inspect.signature(part).parameters)[1:]]
        test.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
        test.__name__, test.__doc__, test.__module__ = part.__name__, part.__doc__, part.__module__
        test.part, test.at_work = part, at_work
        return test
    return make


class Scene:
    """What such a test gets. Its fields are what the fixtures of the same names are. Tests on other brokers use it, too."""

    def __init__(self, bootstrap, tools, riffle, fill, configure, read):
        self.bootstrap, self.tools, self.riffle = bootstrap, tools, riffle
        self.fill, self.configure, self.read = fill, configure, read
        self.env = {**os.environ, "RIFFLE_BOOTSTRAP": bootstrap}
        self.lock, self.made = threading.RLock(), {}

    def once(self, make):
        """Returns what make(self) returns. Only the first call for a `make` calls it."""
        with self.lock:
            if make not in self.made:
                self.made[make] = make(self)
            return self.made[make]


class KilledScene(Scene):
    """On the broker that is killed."""

    def __init__(self, broker, folder, tools, package, vocab):
        self.broker, self.folder, self.package, self.vocab = broker, folder, package, vocab
        self.unique, self.write_config, riffle = "t" + secrets.token_hex(5), configs_in(folder), Riffle()
        make = configures(self.write_config, broker.bootstrap, self.unique, riffle)

        def configure(*words, **keys):
            with self.lock:  # mixes of one corpus have topics in common, and two commands at once would meet
                return make(*words, **keys)
        super().__init__(broker.bootstrap, tools, riffle, fills(tools, broker.bootstrap, self.unique), configure, reads(riffle))


class Player:
    """One test, which is played part by part."""

    def __init__(self, item, scene):
        given = item.callspec.params if hasattr(item, "callspec") else {}
        self.part, self.at_work = item.function.part(scene, **given), item.function.at_work
        self.yields, self.over, self.error = 0, False, None

    def advance(self, slots):
        """Continues it to its next yield. Keeps what it raises for its test."""
        if self.over:
            return
        with slots:
            try:
                next(self.part)
                self.yields += 1
            except StopIteration:
                self.over = True
            except BaseException as e:  # pytest.fail() is no Exception
                self.over, self.error = True, e

    def report(self):
        if self.error:
            raise self.error
        assert self.over and self.yields == 2


def advance(players):
    slots = threading.Semaphore(AT_ONCE)
    threads = [threading.Thread(target=p.advance, args=(slots,), daemon=True) for p in players]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


@contextlib.contextmanager
def played(items, build, *more):
    """Plays those of `items` that share the kill. Yields a function that raises what the test of an item has raised."""
    with running(build / f"kafka-struck-{os.getpid()}", properties={"group.min.session.timeout.ms": SESSION_MS}) as broker:
        scene = KilledScene(broker, *more)
        try:
            players = {item: Player(item, scene) for item in items if hasattr(getattr(item, "function", None), "part")}
            advance([p for p in players.values() if not p.at_work])
            advance([p for p in players.values() if p.at_work])
            broker.end(1, signal.SIGKILL)
            advance(players.values())
            broker.up()
            advance(players.values())
            yield lambda item: players[item].report()
        finally:
            scene.riffle.close()
