#!/usr/bin/env python3
"""How telephones reach the platform: access.py [TEST...]. The platform is up before.

By TCP; by WebSocket; from behind a NAT that forgets what is silent for 25 s, by UDP, TCP and TLS; and through a NAT in front of the platform.
Each test asserts that telephones register, call and are called with sound both ways, before and after the virtual address has moved.
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import checks  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402
import services  # noqa: E402
import telephones  # noqa: E402
from told import Wrong, check, ended, talk, telephones_of  # noqa: E402

# A NAT in front of telephones, and one in front of the platform: their addresses in the platform's network, and the networks behind them.
NAT, HOME = "10.77.1.43", "192.168.77"
FRONT, PUBLIC = "10.77.1.44", "203.0.113"
ADVERTISED = f"{PUBLIC}.5"
# Seconds after which the NAT forgets: a telephone that nobody keeps in its memory cannot be called later.
FORGETS = 25
MASQUERADES = """
table ip nat { chain after { type nat hook postrouting priority srcnat; oifname "eth0" masquerade fully-random; }; }
table ip closed { chain forward { type filter hook forward priority 0; policy drop; iifname "inner" accept; ct state established,related accept; }; }
"""
TRANSLATES = f"""
table ip nat {{
    chain before {{ type nat hook prerouting priority dstnat; iifname "inner" ip daddr {ADVERTISED} dnat to {telephones.VIRTUAL}; }}
    chain after {{ type nat hook postrouting priority srcnat; oifname "inner" ip saddr {telephones.VIRTUAL} snat to {ADVERTISED}; }}
}}
"""


def sysctl(space, name, value):
    nodes.run("ip", "netns", "exec", nodes.PREFIX + space, "sysctl", "-q", "-w", f"{name}={value}")


@contextlib.contextmanager
def router(folder, name, address, network, behind, rules, own):
    """A router between the platform's network, where it has `address`, and `network`, where it has the last byte `own` and the namespace `behind`
    has .2."""
    outside, space, inside = (nodes.PREFIX + each for each in (nodes.OUTSIDE, name, behind))
    try:
        for each in (space, inside):
            nodes.ip("netns", "add", each)
            nodes.ip("-n", each, "link", "set", "lo", "up")
        nodes.ip("link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", f"{name}-eth0", "netns", outside)
        nodes.ip("-n", outside, "link", "set", f"{name}-eth0", "master", "service", "up")
        nodes.ip("link", "add", "inner", "netns", space, "type", "veth", "peer", "name", "eth0", "netns", inside)
        for where, interface, has in ((space, "eth0", address), (space, "inner", f"{network}.{own}"), (inside, "eth0", f"{network}.2")):
            nodes.ip("-n", where, "address", "add", f"{has}/24", "dev", interface)
            nodes.ip("-n", where, "link", "set", interface, "up")
        nodes.ip("-n", inside, "route", "add", "default", "via", f"{network}.{own}")
        sysctl(name, "net.ipv4.ip_forward", 1)
        # That of the nodes: this machine may have none.
        nodes.run("ip", "netns", "exec", space, "chroot", folder / "roots/node", "nft", "-f", "-", given=rules)
        yield
    finally:
        for each in (space, inside):
            if each in nodes.namespaces():
                nodes.ip("netns", "delete", each)


def moved_while_talking(folder, pairs):
    """Calls of pairs of telephones go on when the address moves, with sound both ways, and can be ended."""
    begun = [(caller, callee, *talk(caller, callee, "before the address moves", hang_up=False)) for caller, callee in pairs]
    services.move(folder)
    for caller, callee, call, other in begun:
        caller.hears(call, callee.user, "after the address moved")
        callee.hears(other, caller.user, "after the address moved")
        ended(caller, call, callee, other, "after the address moved")


def registered_again(telephone):
    """One whose connection ended with its proxy comes back by itself."""
    nodes.wait(lambda: telephone("connections")["registered"] > 1,
               f"{telephone.user} does not register by {telephone.transport} over a new connection", patience=60)


def nat(folder):
    """Telephones behind a NAT: by UDP, TCP and TLS."""
    with router(folder, "nat", NAT, HOME, "home", MASQUERADES, 1):
        for name in ("udp_timeout", "udp_timeout_stream", "tcp_timeout_established"):
            sysctl("nat", f"net.netfilter.nf_conntrack_{name}", FORGETS)
        there = ("home", f"{HOME}.2")
        with telephones_of(folder, udp=("1061", "udp", *there), tcp=("1062", "tcp", *there), tls=("1063", "tls", *there),
                           outside=("1064", "udp")) as (udp, tcp, tls, outside):
            behind = (udp, tcp, tls)
            for each in (*behind, outside):
                each.registers()
            # Longer than it remembers what is silent.
            time.sleep(2 * FORGETS)
            check(udp("asked")["count"] > 0, "nothing keeps a NAT open in front of a telephone by UDP")
            for each in behind:
                talk(outside, each, "a telephone behind a NAT is called")
                talk(each, outside, "a telephone behind a NAT calls")
            talk(udp, tcp, "two telephones behind the same NAT")
            moved_while_talking(folder, ((outside, udp), (tcp, outside)))
            # Who has the address now keeps the NAT open.
            before = udp("asked")["count"]
            time.sleep(2 * FORGETS)
            check(udp("asked")["count"] > before, "after the address moved nothing keeps a NAT open")
            for each in (tcp, tls):
                registered_again(each)
            for each in behind:
                talk(outside, each, "after the address moved a telephone behind a NAT is called")


def tcp(folder):
    """Telephones by TCP, without a NAT: after a failover they connect again. One source cannot have connections without end."""
    with telephones_of(folder, tcp=("1062", "tcp"), udp=("1064", "udp")) as (tcp, udp):
        for each in (tcp, udp):
            each.registers()
        talk(tcp, udp, "a telephone by TCP calls")
        talk(udp, tcp, "a telephone by TCP is called")
        moved_while_talking(folder, ((tcp, udp),))
        registered_again(tcp)
        talk(udp, tcp, "a telephone by TCP is called after the address moved")
        with services.stranger(folder):
            most = int(nodes.run(*telephones.INSIDE, sys.executable, "-c", CONNECTS, services.STRANGER, telephones.VIRTUAL))
            check(200 <= most <= 256, f"one source has {most} connections at once, not 256")
            talk(tcp, udp, "a telephone calls while another source has all of its connections")


# Opens connections until one is refused; prints how many it got.
CONNECTS = """
import socket, sys
held = []
try:
    while len(held) < 1000:
        held.append(socket.create_connection((sys.argv[2], 5060), 5, (sys.argv[1], 0)))
except OSError:
    pass
print(len(held))
"""


def configure(folder, *options):
    """Configures proxies and PBXs again, with other variables than the inventory has."""
    machine.playbook(folder, "--limit", "proxies:pbxs", "--tags", "base,pbx,proxy", *options)
    checks.wait(folder)


def front(folder):
    """A NAT in front of the platform translates a public address to the virtual one. Telephones know no other."""
    with router(folder, "front", FRONT, PUBLIC, "public", TRANSLATES, 1):
        nodes.ip("-n", nodes.PREFIX + "front", "address", "add", f"{ADVERTISED}/24", "dev", "inner")
        for name in checks.PROXIES:
            nodes.ip("-n", nodes.PREFIX + name, "route", "add", f"{PUBLIC}.0/24", "via", FRONT)
        try:
            configure(folder, "--extra-vars", f"advertised_address={ADVERTISED}")
            there = ("public", f"{PUBLIC}.2", ADVERTISED)
            with telephones_of(folder, udp=("1061", "udp", *there), tcp=("1062", "tcp", *there), tls=("1063", "tls", *there)) as (udp, tcp, tls):
                for each in (udp, tcp, tls):
                    each.registers()
                for caller, callee in ((udp, tcp), (tcp, tls), (tls, udp)):
                    talk(caller, callee, "through a NAT in front of the platform")
                moved_while_talking(folder, ((udp, tcp),))
                registered_again(tcp)
                talk(udp, tcp, "through a NAT in front of the platform, after the address moved")
        finally:
            for name in checks.PROXIES:
                nodes.ip("-n", nodes.PREFIX + name, "route", "del", f"{PUBLIC}.0/24", "via", FRONT)
            configure(folder)


def browsers(folder):
    """Telephones over WebSocket, with ICE and DTLS-SRTP: they call, are called, and come back after the address moved."""
    with telephones_of(folder, wss=("1065", "wss"), ws=("1066", "ws"), udp=("1064", "udp")) as (wss, ws, udp):
        for each in (wss, ws, udp):
            each.registers()
        for each in (wss, ws):
            talk(each, udp, "a browser calls")
            talk(udp, each, "a browser is called")
        talk(ws, wss, "a browser calls a browser")
        call, other = talk(wss, udp, "before the address moves", hang_up=False)
        services.move(folder)
        wss.hears(call, udp.user, "after the address moved")
        udp.hears(other, wss.user, "after the address moved")
        for each in (wss, ws):
            registered_again(each)
        ended(udp, other, wss, call, "after the address moved, by who was called")
        for each in (wss, ws):
            talk(each, udp, "a browser calls after the address moved")
            talk(udp, each, "a browser is called after the address moved")


TESTS = {test.__name__: test for test in (nat, tcp, front, browsers)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("tests", nargs="*", metavar="TEST", help=", ".join(TESTS))
    options = parser.parse_args()
    unknown = [name for name in options.tests if name not in TESTS]
    if unknown:
        sys.exit(f"access: there is no test {unknown[0]!r}: {', '.join(TESTS)}")
    folder = options.folder.resolve()
    try:
        checks.wait(folder)
        for name in options.tests or TESTS:
            try:
                TESTS[name](folder)
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong}") from wrong
            print(f"access: {name} holds", flush=True)
    except (nodes.Failure, Wrong) as failure:
        sys.exit(f"access: {failure}")


if __name__ == "__main__":
    main()
