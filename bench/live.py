#!/usr/bin/env python3
"""Finds the highest rate at which no packet is lost between the two ends of a veth pair: for a bare packet counter and for the
whole engine, with AF_PACKET and with AF_XDP; and for the daemon, without recording and with everything recorded.

Short runs bisect the sending rate. Then long runs follow, those of a pair one after another; if one loses a packet, its rate is
lowered and it runs again. If the sender is the limit, it sends as fast as it can. The pair is in two network namespaces that this
script creates and removes. Prints one line of JSON; the exit status is 77 if namespaces cannot be created.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CALLS = 500
SHORT = 2
STEPS = 7
# Packets per second: the rate of a veth pair is between these on any machine.
LEAST, MOST = 20_000, 2_000_000


class Pair:
    """Two namespaces joined by a veth pair."""

    def __init__(self):
        self.names = [f"rt{os.getpid()}{end}" for end in "ab"]

    def ip(self, *arguments, check=True):
        return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)

    def __enter__(self):
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            first, second = self.names
            self.ip("-n", first, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", second)
            for name in self.names:
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=1"], check=False,
                               capture_output=True)
                self.ip("-n", name, "link", "set", "veth0", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            print(f"network namespaces cannot be made here: {getattr(error, 'stderr', error)}", file=sys.stderr)
            sys.exit(77)
        return self

    def close(self):
        for name in self.names:
            self.ip("netns", "del", name, check=False)

    def __exit__(self, *_):
        self.close()

    def inside(self, place, *command):
        """Runs a command in the sender's or the receiver's namespace."""
        return ["ip", "netns", "exec", self.names[place == "receiver"], *command]

    def run(self, role, rate, seconds):
        """Makes one run. Returns the rate that was really sent, and whether all packets arrived."""
        with role.receive(self) as receiver:
            sender = self.inside("sender", role.program, "send", "veth0", role.source, str(rate), str(seconds), str(CALLS), "0")
            send = subprocess.run(sender, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 60)
            sent = json.loads(send.stdout)
            lost = receiver.lost(sent["sent"])
        print(f"    {role.name}: {sent['rate']:.0f}/s for {seconds} s, {lost} lost", file=sys.stderr)
        return sent["rate"], lost == 0


class Measured:
    """A receiver of `live`: a bare counter, or the engine behind the same source."""

    def __init__(self, program, role, source):
        self.program, self.role, self.source = program, role, source
        self.name = f"{source} {role}"

    def receive(self, pair):
        self.process = subprocess.Popen(
            pair.inside("receiver", self.program, self.role, "veth0", self.source, "10", "1"), stdout=subprocess.PIPE, text=True
        )
        return self

    def __enter__(self):
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"{self.name} did not begin")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def lost(self, sent):
        output, _ = self.process.communicate(timeout=60)
        if self.process.returncode != 0:
            sys.exit(f"{self.name} ended with {self.process.returncode}")
        got = json.loads(output.strip().splitlines()[-1])
        lost = max(sent - got["got"], got["ring_drops"])
        if lost == 0 and self.role == "follow":
            if (got["calls"], got["streams"], got["rtp"], got["lost"]) != (CALLS, CALLS * 2, sent - CALLS * 5, 0):
                sys.exit(f"every packet came, and the records are wrong: {got}, sent {sent}")
        return lost


class Daemon:
    """`ringtap run`, with everything recorded or nothing."""

    def __init__(self, ringtap, program, folder, keeps):
        self.ringtap, self.program, self.keeps, self.source = ringtap, program, keeps, "packet"
        self.name = "daemon, everything kept" if keeps else "daemon"
        self.folder = folder / f"live-{os.getpid()}"

    def receive(self, pair):
        self.pair = pair
        return self

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        text = f"""[capture]
interfaces = ["veth0"]
cpus = [1]
[store]
directory = "{self.folder}/records"
outbox = "{self.folder}/outbox"
[journal]
path = "{self.folder}/journal"
[metrics]
listen = ""
[process]
control = "{self.folder}/control"
"""
        if self.keeps:
            text += f'[spool]\ndirectory = "{self.folder}/spool"\nkeep = "full"\n'
        path = self.folder / "ringtap.toml"
        path.write_text(text)
        told = tempfile.mkdtemp()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(f"{told}/ready")
            ready.settimeout(20)
            self.said = open(self.folder / "said", "w+")
            self.process = subprocess.Popen(
                self.pair.inside("receiver", self.ringtap, "run", "-c", str(path)), stderr=self.said,
                env=os.environ | {"NOTIFY_SOCKET": f"{told}/ready"},
            )
            try:
                while b"READY=1" not in ready.recv(4096):
                    pass
            except TimeoutError:
                self.__exit__()
                sys.exit(f"{self.name} did not begin")
            finally:
                shutil.rmtree(told)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.said.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def lost(self, sent):
        # Packets in the ring are processed first.
        time.sleep(1)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)
        self.said.seek(0)
        said = self.said.read()
        seen = re.search(r"stopped: (\d+) calls of (\d+) frames seen", said)
        if self.process.returncode != 0 or not seen or int(seen[1]) != CALLS:
            sys.exit(f"{self.name} ended with {self.process.returncode}: {said}")
        lost = sent - int(seen[2])
        if self.keeps:
            kept = re.search(r"(\d+) packets recorded in .*; (\d+) lost", said)
            if not kept:
                sys.exit(f"nothing was kept: {said}")
            lost = max(lost, sent - int(kept[1]))
        return lost


def bisected(pair, role):
    """The rate for the long run, and what limits it: loss above it, or the sender."""
    low, high = LEAST, MOST
    for _ in range(STEPS):
        rate = (low * high) ** 0.5
        reached, whole = pair.run(role, rate, SHORT)
        if not whole:
            high = min(high, rate)
        elif reached < rate * 0.97:
            # The sender is the limit.
            return MOST, "sender"
        else:
            low = rate
    return low, "loss"


def highest(pair, roles, seconds, rounds):
    """The highest rate of each role without loss over so many seconds, and what limits it."""
    found = {name: bisected(pair, role) for name, role in roles.items()}
    rates = {name: [] for name in roles}
    for _ in range(rounds):
        for name, role in roles.items():
            rate, bound = found[name]
            for _ in range(12):
                reached, whole = pair.run(role, rate, seconds)
                if whole:
                    break
                rate, bound = min(rate, reached) * 0.96, "loss"
            else:
                sys.exit(f"{role.name}: packets are lost at every rate down to {rate:.0f}/s")
            found[name] = (rate, bound)
            rates[name].append(reached)
    figures = {}
    for name, (_, bound) in found.items():
        figures |= {name: max(rates[name]), f"{name}_bound": bound, f"{name}_runs": rates[name]}
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release/examples", help="folder with the program `live`")
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--folder", type=pathlib.Path, default="target/bench", help="where the daemon keeps packets")
    parser.add_argument("--seconds", type=int, default=60, help="length of a long run")
    parser.add_argument("--rounds", type=int, default=2, help="long runs of each")
    parser.add_argument("--only", default="packet,xdp,keep")
    options = parser.parse_args()
    program = str(pathlib.Path(options.programs).resolve() / "live")
    ringtap = str(pathlib.Path(options.ringtap).resolve())
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        print("live measurements need root and two processors", file=sys.stderr)
        sys.exit(77)
    found = {"seconds": options.seconds}
    with Pair() as pair:
        for part in options.only.split(","):
            if part == "keep":
                roles = {name: Daemon(ringtap, program, options.folder.resolve(), name == "keep") for name in ("run", "keep")}
            else:
                roles = {role: Measured(program, role, part) for role in ("count", "follow")}
            found[part] = highest(pair, roles, options.seconds, options.rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
