"""What fails in a run of failover.py, what has to follow from it, and what the paper measured of it."""

import dataclasses
import os
import signal
from collections.abc import Callable

import checks
import images
import nodes
import telephones

# The PBX and the database that fail.
PBX, DATABASE = checks.PBXS[0], checks.DATABASES[0]
# How long a network, announcements and the power switch are out, and all databases.
LATE, DATABASES_LATE = 6, 60
ONE_OF_TEN = "numgen random mod 10 0 drop"
# By both networks.
COROSYNC = "udp dport 5405-5406 drop"


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that fails: how it begins, how it is put right, and after how many seconds, if not at the end of the run. What is not
    put right here, fencing and Pacemaker put right."""

    begin: Callable
    end: Callable = lambda run: None
    lasts: int | None = None


def filtered(tables, where):
    """Packets that nftables loses at the nodes `where(run)`: by name of a table, its chains."""
    def begin(run):
        for node in where(run):
            nodes.Node(run.folder, node)("nft", "; ".join(f"add table {name} {{ {chains} }}" for name, chains in tables.items()))

    def end(run):
        for node in where(run):
            if nodes.Node(run.folder, node).is_up():
                nodes.Node(run.folder, node).ask("nft", "; ".join(f"delete table {name}" for name in tables))
    return begin, end


def lost_on_its_way(which, where):
    """Packets of the node `where(run)` that get no further than the other end of its first cable: it notices nothing."""
    def at_switch(run, rules):
        nodes.run("ip", "netns", "exec", nodes.PREFIX + nodes.OUTSIDE, "chroot", images.make("node", run.folder / "roots"), "nft", rules)

    def begin(run):
        at_switch(run, f'table netdev lost {{ chain in {{ type filter hook ingress device "{where(run)}-eth0" priority 0; {which} drop; }}; }}')

    def end(run):
        at_switch(run, "table netdev lost; delete table netdev lost")
    return begin, end


def killed(where, unit, by="KILL"):
    return lambda run: run.kill(where(run), unit, by)


def thawed(where, unit):
    """One that was frozen goes on, where nobody has killed it meanwhile."""
    def end(run):
        if nodes.Node(run.folder, where(run)).is_up():
            nodes.Node(run.folder, where(run)).ask("systemctl", "kill", "--kill-who=all", "--signal=CONT", unit)
    return end


def to_telephones(way):
    return f"ip {way} {{ {', '.join(sorted(telephones.ADDRESSES))} }} {ONE_OF_TEN}"


def flap(run):
    for state in 4 * ("down", "up") + ("down",):
        nodes.cable(run.owner, state, "eth0")


def switch(bridge, state):
    return lambda run: nodes.ip("-n", nodes.PREFIX + nodes.OUTSIDE, "link", "set", bridge, state)


def databases(state):
    def act(run):
        for name in checks.DATABASES:
            node = nodes.Node(run.folder, name)
            if state == "off":
                node.power_off()
            elif not node.is_up():
                node.boot(images.make(nodes.NODES[name][0], run.folder / "roots"))
    return act


def power_switch(by):
    def act(run):
        if agent := nodes.Process(run.folder / "outside.json").pid():
            os.kill(agent, by)
    return act


def fill_disk(run):
    # Until there is no room for another byte.
    nodes.Node(run.folder, run.owner).ask("sh", "-c", "fallocate -l 100G /filler; cat /dev/zero >>/filler; sync")


def empty_disk(run):
    if nodes.Node(run.folder, run.owner).is_up():
        nodes.Node(run.folder, run.owner)("rm", "-f", "/filler")


def move(run):
    nodes.Node(run.folder, run.peer)("crm_resource", "--move", "--resource", "address", "--node", run.peer)


def owner(run):
    return run.owner


IN, OUT = "chain in { type filter hook input priority -10; %s; };", "chain out { type filter hook output priority -10; %s; };"
# The names of tables are of the tests alone.
LOSS = filtered({"inet lost": IN % to_telephones("saddr") + OUT % to_telephones("daddr")}, lambda run: checks.PROXIES)
# What it sends to telephones and PBXs; what they send arrives.
ONE_WAY = lost_on_its_way("", lambda run: run.owner)
QUIET = lost_on_its_way("ether type arp", lambda run: run.peer)
# By both networks, to and from all others: each half of the cluster believes that the other is gone.
SPLIT = filtered({"inet split": IN % COROSYNC + OUT % COROSYNC}, lambda run: [run.owner])

FAULTS = {
    "move": Fault(move, lambda run: nodes.Node(run.folder, run.peer)("crm_resource", "--clear", "--resource", "address")),
    "kamailio killed": Fault(killed(owner, "kamailio")),
    "kamailio frozen": Fault(killed(owner, "kamailio", "STOP")),
    "rtpengine killed": Fault(killed(owner, "rtpengine-daemon")),
    "rtpengine frozen": Fault(killed(owner, "rtpengine-daemon", "STOP")),
    "redis killed": Fault(killed(owner, "redis-server@own")),
    # Silent, not dead: the others have to find out, and must not take over before it is dead.
    "proxy silent": Fault(lambda run: nodes.cable(run.owner, "down")),
    # Only that of the telephones and PBXs: the cluster hears this node.
    "cable": Fault(lambda run: nodes.cable(run.owner, "down", "eth0"), lambda run: nodes.cable(run.owner, "up", "eth0")),
    "flapping cable": Fault(flap, lambda run: nodes.cable(run.owner, "up", "eth0")),
    "one way": Fault(*ONE_WAY),
    "disk": Fault(fill_disk, empty_disk),
    "split": Fault(*SPLIT),
    "loss": Fault(*LOSS),
    "no announcements": Fault(*QUIET, lasts=LATE),
    "no power switch": Fault(power_switch(signal.SIGSTOP), power_switch(signal.SIGCONT), lasts=LATE),
    "service switch": Fault(switch("service", "down"), switch("service", "up"), lasts=LATE),
    "cluster switch": Fault(switch("cluster", "down"), switch("cluster", "up"), lasts=LATE),
    "pbx silent": Fault(lambda run: nodes.cable(PBX, "down")),
    "pbx killed": Fault(killed(lambda run: PBX, "asterisk"),
                        lambda run: nodes.Node(run.folder, "arbiter")("crm_resource", "--cleanup", "--resource", "pbx", "--node", PBX)),
    "pbx frozen": Fault(killed(lambda run: PBX, "asterisk", "STOP"),
                        lambda run: nodes.Node(run.folder, "arbiter")("crm_resource", "--cleanup", "--resource", "pbx", "--node", PBX)),
    "database silent": Fault(lambda run: nodes.cable(DATABASE, "down"), lambda run: nodes.cable(DATABASE, "up")),
    "database frozen": Fault(killed(lambda run: DATABASE, "mariadb", "STOP"), thawed(lambda run: DATABASE, "mariadb")),
    "databases off": Fault(databases("off"), databases("on"), lasts=DATABASES_LATE),
}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of run: faults, in the order in which they begin, and what follows."""

    faults: tuple[str, ...]
    # The address goes to the other proxy.
    moves: bool = False
    # Who is fenced: "owner", "pbx".
    fences: tuple[str, ...] = ()
    # The unit of the proxy that ends by itself, which tells the cluster at once.
    ends: str | None = None
    # What becomes of the PBX: its calls are lost, and it is fenced, or started again by Pacemaker.
    pbx: str | None = None
    # The calls that there are have got no further than 100 Trying, and nothing else: situation 2 of the paper.
    trying: bool = False
    # Of both proxies, milliseconds until a silent PBX, and one that said 100 Trying alone, is given up; None: those of the platform.
    timers: tuple[int, int] | None = None
    # Seconds of the paper, means of 200: without service; of a user who calls just after, and whose call was being set up. None: it has none.
    service: float | None = None
    user: float | None = None
    pending: float | None = None


PAPER = (4000, 60000)
KINDS = {
    "moved": Kind(("move",), moves=True),
    "kamailio-killed": Kind(("kamailio killed",), moves=True, ends="kamailio", service=3.49, user=4.50, pending=4.21),
    "kamailio-frozen": Kind(("kamailio frozen",), moves=True),
    "rtpengine-killed": Kind(("rtpengine killed",), moves=True, ends="rtpengine-daemon"),
    "rtpengine-frozen": Kind(("rtpengine frozen",), moves=True),
    "proxy-lost": Kind(("proxy silent",), moves=True, fences=("owner",), service=7.38, user=7.51, pending=7.51),
    "pbx-lost": Kind(("pbx silent",), pbx="fenced", fences=("pbx",), user=4.17),
    "pbx-lost-paper": Kind(("pbx silent",), pbx="fenced", fences=("pbx",), timers=PAPER, user=4.17),
    "pbx-killed": Kind(("pbx killed",), pbx="restarted", user=4.17),
    "pbx-frozen": Kind(("pbx frozen",), pbx="restarted"),
    "both-lost": Kind(("pbx silent", "proxy silent"), moves=True, pbx="fenced", fences=("owner", "pbx"), service=7.34, user=11.49),
    "both-killed": Kind(("pbx killed", "kamailio killed"), moves=True, ends="kamailio", pbx="restarted", service=3.43, user=7.47),
    "pbx-trying": Kind(("pbx silent",), pbx="fenced", fences=("pbx",), trying=True, user=63.04),
    "pbx-trying-paper": Kind(("pbx silent",), pbx="fenced", fences=("pbx",), trying=True, timers=PAPER, user=63.04),
    "cable-lost": Kind(("cable",), moves=True),
    "cable-flaps": Kind(("flapping cable",), moves=True),
    "one-way": Kind(("one way",), moves=True),
    "split": Kind(("split",), moves=True, fences=("owner",)),
    "announced-late": Kind(("no announcements", "move"), moves=True),
    "fenced-late": Kind(("no power switch", "proxy silent"), moves=True, fences=("owner",)),
    "packets-lost": Kind(("loss",)),
    "redis-killed": Kind(("redis killed",)),
    "disk-full": Kind(("disk",)),
    "service-switch": Kind(("service switch",)),
    "cluster-switch": Kind(("cluster switch",)),
    "database-lost": Kind(("database silent",)),
    "database-frozen": Kind(("database frozen",)),
    "databases-off": Kind(("databases off",)),
}
