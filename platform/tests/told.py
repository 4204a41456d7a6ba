"""Telephones of the tests that are told what to do: processes of handset.py, each in the namespace of its network."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import nodes  # noqa: E402
import services  # noqa: E402
import telephones  # noqa: E402

check, Wrong = services.check, services.Wrong
# Packets of sound in a second, and how many of them have to come where nothing is wrong.
RATE, ENOUGH = 50, 35


class Telephone:
    """One handset: `telephone("call", "600")` returns what it told."""

    def __init__(self, folder, user, transport="udp", space=nodes.PHONES, address=telephones.ADDRESS, server=telephones.VIRTUAL):
        self.user, self.transport, self.notes = user, transport, []
        self.command = ["ip", "netns", "exec", nodes.PREFIX + space, "timeout", "1800", sys.executable, HERE / "handset.py", transport, address, user,
                        telephones.password(folder, user), server, folder / "secrets/authority.pem"]
        self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words):
        """What it is to do; `told` returns what came of it."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def told(self):
        line = self.process.stdout.readline()
        check(line, f"telephone {self.user} has ended")
        told = json.loads(line)
        check(not isinstance(told, dict) or "failed" not in told, f"telephone {self.user} by {self.transport}: {told}")
        return told

    def __call__(self, *words):
        self.tell(*words)
        return self.told()

    def registers(self):
        told = self("register")
        check(told["code"] == 200, f"telephone {self.user} registers by {self.transport}: {told}")

    def calls(self, number):
        """Makes a call that has to be answered; returns it."""
        told = self("call", number)
        check(told["code"] == 200, f"{self.user} by {self.transport} calls {number}: {told}")
        return told["call"]

    def hears(self, call, whom, what, seconds=2):
        """Nobody else, and all the time."""
        heard = self("hear", call, seconds)
        check(heard.get(whom, 0) >= ENOUGH * seconds and heard.get("forged", 0) == 0,
              f"{what}: {self.user} by {self.transport} hears {heard}, not {whom}")

    def stop(self):
        with contextlib.suppress(Wrong, OSError):
            self("leave")
        self.process.terminate()
        self.process.communicate()


@contextlib.contextmanager
def telephones_of(folder, **users):
    """Telephones by name, each given as (user, transport, ...) of Telephone; ended at the end."""
    made = {}
    try:
        for name, arguments in users.items():
            made[name] = Telephone(folder, *arguments)
        yield list(made.values())
    finally:
        for each in made.values():
            each.stop()


def talk(caller, callee, what, hang_up=True):
    """A call in which each hears the other; returns it on both sides."""
    call = caller.calls(callee.user)
    other = callee("last")["call"]
    if {"ws", "wss"} & {caller.transport, callee.transport}:
        # Until there are keys.
        time.sleep(2)
    caller.hears(call, callee.user, what)
    callee.hears(other, caller.user, what)
    if hang_up:
        ended(caller, call, callee, other, what)
    return call, other


def ended(caller, call, callee, other, what):
    told = caller("bye", call)
    check(told["code"] == 200, f"{what}: BYE of {caller.user} by {caller.transport}: {told}")
    nodes.wait(lambda: callee("state", other)["state"] == "released",
               f"{what}: {callee.user} by {callee.transport} is not told of the end", patience=10)
