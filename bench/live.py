#!/usr/bin/env python3
"""Finds the highest rate at which no packet is lost between the two ends of a veth pair: for a bare counter, and for the whole
engine; over AF_PACKET and over AF_XDP.

Short runs bisect the sending rate, the last one is long; where it loses a packet the rate is lowered and it runs again. The pair is
in two network namespaces that are made here, and gone afterwards. Prints one line of JSON; ends with 77 where namespaces cannot be
made.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

CALLS = 500
SHORT = 2
STEPS = 7
# Packets a second: what a veth pair carries lies between these on any machine.
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

    def run(self, program, role, source, rate, seconds):
        """One run. The rate that was really sent, and whether all of it came."""
        sender, receiver = self.names
        inside = ["ip", "netns", "exec"]
        receive = subprocess.Popen([*inside, receiver, program, role, "veth0", source, "10", "1"], stdout=subprocess.PIPE, text=True)
        try:
            if receive.stdout.readline().strip() != "ready":
                sys.exit(f"{role} over {source} did not begin")
            send = subprocess.run(
                [*inside, sender, program, "send", "veth0", source, str(rate), str(seconds), str(CALLS), "0"],
                stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 60,
            )
            output, _ = receive.communicate(timeout=60)
        finally:
            if receive.poll() is None:
                receive.kill()
                receive.wait()
        if receive.returncode != 0:
            sys.exit(f"{role} over {source} ended with {receive.returncode}")
        sent, got = json.loads(send.stdout), json.loads(output.strip().splitlines()[-1])
        whole = got["got"] == sent["sent"] and got["ring_drops"] == 0
        if whole and role == "follow":
            media = sent["sent"] - CALLS * 5
            if (got["calls"], got["streams"], got["rtp"], got["lost"]) != (CALLS, CALLS * 2, media, 0):
                sys.exit(f"every packet came, and the records are wrong: {got}, sent {sent}")
        print(f"    {source} {role}: {sent['rate']:.0f}/s for {seconds} s, {sent['sent'] - got['got']} lost", file=sys.stderr)
        return sent["rate"], whole


def highest(pair, program, role, source, seconds):
    """The highest rate without loss, held for so many seconds, and what bounds it: loss above it, or the sender."""
    low, high, bound = LEAST, MOST, "loss"
    for _ in range(STEPS):
        rate = (low * high) ** 0.5
        reached, whole = pair.run(program, role, source, rate, SHORT)
        if not whole:
            high = min(high, rate)
        elif reached < rate * 0.97:
            # The sender does no more.
            low, bound = max(low, reached * 0.98), "sender"
            break
        else:
            low = rate
    rate = low
    for _ in range(12):
        reached, whole = pair.run(program, role, source, rate, seconds)
        if whole:
            return reached, bound
        rate *= 0.96
    sys.exit(f"{role} over {source}: packets are lost at every rate down to {rate:.0f}/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release/examples", help="folder with the program `live`")
    parser.add_argument("--seconds", type=int, default=60, help="length of the last run")
    parser.add_argument("--source", default="packet,xdp")
    options = parser.parse_args()
    program = str(pathlib.Path(options.programs).resolve() / "live")
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        print("live measurements need root and two processors", file=sys.stderr)
        sys.exit(77)
    found = {"seconds": options.seconds}
    with Pair() as pair:
        for source in options.source.split(","):
            found[source] = {}
            for role in ("count", "follow"):
                rate, bound = highest(pair, program, role, source, options.seconds)
                found[source] |= {role: rate, f"{role}_bound": bound}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
