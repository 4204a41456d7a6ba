#!/usr/bin/env python3
"""Failovers during calls with sound: failover.py --ringtap PROGRAM [--repeat N] [KIND...]. The platform is up before.

In each run, calls are established and others ring when something fails, and new ones begin right after. What must hold is
asserted: no call is lost that can be kept, those of a PBX that is lost are ended with both telephones, new calls are answered, a node
that is lost is fenced, who had the address sends nothing from it once another has it, and ringtap finds in the packets the calls that
SIPp made. Times are only printed, beside the paper's.

Results are kept in the folder of the platform, so a later command makes the missing runs only, also after one that was interrupted;
those of another configuration are not counted. The capture of the last run of each kind is kept too.
"""

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "here"))

import capture  # noqa: E402
import checks  # noqa: E402
import images  # noqa: E402
import nodes  # noqa: E402
import telephones  # noqa: E402

@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of failure: what is done to the proxy that has the address and to the first PBX, and what the paper measured of it in
    seconds: without service, and for a user who calls just after. None: nothing, or the paper does not say."""

    proxy: str | None = None
    pbx: str | None = None
    service: float | None = None
    user: float | None = None
    # Calls that have got no further than 100 Trying, and nothing else: situation 2 of the paper.
    trying: bool = False
    # What is done to databases: the cables of one are pulled, or both lose their power.
    database: str | None = None
    # One of ten packets between telephones and proxies is lost.
    loss: bool = False
    # The announcements of the address by who gets it are lost at first.
    announced_late: bool = False
    # The power switch does not answer at first.
    fenced_late: bool = False


KINDS = {
    "moved": Kind(proxy="move"),
    "kamailio-killed": Kind(proxy="kamailio", service=3.49, user=4.50),
    "rtpengine-killed": Kind(proxy="rtpengine"),
    "proxy-lost": Kind(proxy="lose", service=7.38, user=7.51),
    "pbx-lost": Kind(pbx="lose", user=4.17),
    "pbx-killed": Kind(pbx="kill", user=4.17),
    "both-lost": Kind(proxy="lose", pbx="lose", service=7.34, user=11.49),
    "pbx-trying": Kind(pbx="lose", trying=True, user=63.04),
    "kamailio-frozen": Kind(proxy="freeze"),
    "cable-lost": Kind(proxy="cable"),
    "announced-late": Kind(proxy="move", announced_late=True),
    "fenced-late": Kind(proxy="lose", fenced_late=True),
    "packets-lost": Kind(loss=True),
    "database-lost": Kind(database="lose"),
    "databases-off": Kind(database="off"),
}
ESTABLISHED, RINGING, NEW, ANSWERED, TRYING = 10, 5, 5, 6, 6
# Seconds in which a call that rings on a lost PBX rings on the other or is refused; far more than it takes, so that a busy machine passes.
SITUATION_3 = 30
# Seconds in which 503 may still be repeated: after its ACK, and to a telephone that sends none.
ACKNOWLEDGED, UNACKNOWLEDGED = 2, 20
ONE_OF_TEN = "numgen random mod 10 0 drop"
# How long announcements and the power switch keep silent.
LATE = 6
# Of a call that is established. One through a PBX that is lost ends before it would end by itself; where nothing ends it, it has to
# outlast the failure, no more.
SECONDS, OUTLASTS = 60, 30
PBX = checks.PBXS[0]


class Wrong(Exception):
    """Behaviour that is not as it should be."""


def check(fact, message):
    if not fact:
        raise Wrong(message)


def channels(folder, name):
    """The channels of a PBX: of each its extension, its state, and the application that it is in."""
    told = nodes.Node(folder, name).ask("asterisk", "-rx", "core show channels concise").stdout
    words = [line.split("!") for line in told.splitlines() if line.startswith("PJSIP/")]
    return [(each[2], each[4], each[5]) for each in words if len(each) > 5]


@dataclasses.dataclass
class Lost:
    """Calls of a PBX that is lost: how many it had with those who call, with telephones that are called, and how many rang."""

    callers: int = 0
    callees: int = 0
    ringing: int = 0

    @classmethod
    def of(cls, found):
        up = [application for _, state, application in found if state == "Up"]
        return cls(sum(each in ("Echo", "Dial") for each in up), up.count("AppDial"),
                   sum(extension == telephones.RINGS and state != "Up" for extension, state, _ in found))


def fenced(folder, name):
    """How often the agent outside has fenced a node."""
    return (folder / "outside.log").read_text().count(f" fenced {name}\n")


class Run:
    """One failure during calls."""

    def __init__(self, folder, kind, where):
        self.folder, self.kind, self.where, self.of = folder, kind, where, KINDS[kind]
        self.owner = checks.owner(folder)
        self.peer = next(name for name in checks.PROXIES if name != self.owner)
        self.fenced_before = {name: fenced(folder, name) for name in nodes.NODES}
        self.lost = Lost()
        self.seconds = OUTLASTS if self.of.proxy and not self.of.pbx else SECONDS

    def calls(self, name, count, seconds, service, number):
        users = range(1001 + 20 * number, 1001 + 20 * number + count)
        return telephones.Calls(self.folder, self.where / name, count, 5, seconds, service, 5070 + number, 20000 + 2000 * number, users)

    def fail(self):
        """Makes it fail; returns when it did."""
        self.lost = Lost.of(channels(self.folder, PBX)) if self.of.pbx else Lost()
        self.prepare()
        now = time.time()
        if self.of.database == "lose":
            nodes.cable(checks.DATABASES[0], "down")
        elif self.of.database == "off":
            for name in checks.DATABASES:
                nodes.Node(self.folder, name).power_off()
        if self.of.loss:
            self.filter(checks.PROXIES, f"inet lost {{ chain in {{ type filter hook input priority -10; ip saddr {telephones.ADDRESS} {ONE_OF_TEN}; }}; "
                        f"chain out {{ type filter hook output priority -10; ip daddr {telephones.ADDRESS} {ONE_OF_TEN}; }}; }}")
        if self.of.pbx == "lose":
            nodes.cable(PBX, "down")
        elif self.of.pbx == "kill":
            self.kill(PBX, "asterisk")
        if self.of.proxy == "lose":
            # Silent, not dead: the others have to find out, and must not take over before it is dead.
            nodes.cable(self.owner, "down")
        elif self.of.proxy == "cable":
            # Only that of the telephones and PBXs: the cluster hears this node.
            nodes.cable(self.owner, "down", "eth0")
        elif self.of.proxy == "kamailio":
            self.kill(self.owner, "kamailio")
        elif self.of.proxy == "freeze":
            self.kill(self.owner, "kamailio", "STOP")
        elif self.of.proxy == "rtpengine":
            self.kill(self.owner, "rtpengine-daemon")
        elif self.of.proxy == "move":
            nodes.Node(self.folder, self.peer)("crm_resource", "--move", "--resource", "service", "--node", self.peer)
        return now

    def prepare(self):
        """What does not work when it fails."""
        if self.of.announced_late:
            self.filter([self.peer], "arp lost { chain out { type filter hook output priority 0; drop; }; }")
        if self.of.fenced_late:
            os.kill(nodes.Process(self.folder / "outside.json").pid(), signal.SIGSTOP)

    def late(self):
        """After a while it works: nobody has taken over from a node that may still live before it was fenced."""
        if self.of.fenced_late:
            time.sleep(LATE)
            check(checks.owner(self.folder) in (None, self.owner), "the address was taken over from a node that was not fenced yet")
            os.kill(nodes.Process(self.folder / "outside.json").pid(), signal.SIGCONT)
        if self.of.announced_late:
            time.sleep(LATE)
            self.unfilter([self.peer], "arp lost")

    def filter(self, names, table):
        for name in names:
            nodes.Node(self.folder, name)("nft", f"add table {table}")

    def unfilter(self, names, table):
        for name in names:
            nodes.Node(self.folder, name).ask("nft", f"delete table {table}")

    def kill(self, name, unit, signal="KILL"):
        nodes.Node(self.folder, name)("systemctl", "kill", "--kill-who=all", f"--signal={signal}", unit)

    def moved(self):
        return checks.owner(self.folder) == self.peer

    def begin(self, begun):
        """The calls that there are when it fails."""
        if self.of.trying:
            nodes.Node(self.folder, PBX)("asterisk", "-rx", "dialplan set global DELAY 3600")
            begun.append(self.calls("trying", TRYING, 5, telephones.SILENT, 4))
            nodes.wait(lambda: self.channels() >= TRYING, "calls do not reach a PBX")
            check(channels(self.folder, PBX), f"no call reached {PBX}")
            return
        expected = ESTABLISHED
        begun.append(self.calls("established", ESTABLISHED, self.seconds, telephones.ECHO, 0))
        if self.of.pbx:
            begun.append(self.calls("answered", ANSWERED, self.seconds, telephones.ANSWERS, 3))
            # At the PBX, one channel to who calls, one to who is called.
            expected += 2 * ANSWERED
        nodes.wait(lambda: self.channels("Up") >= expected, "calls are not established")
        begun.append(self.calls("ringing", RINGING, 20, telephones.RINGS, 1))
        nodes.wait(lambda: self.channels() >= expected + RINGING, "calls do not ring")

    def make(self, ringtap):
        """Makes the run; returns its figures."""
        packets = capture.Capture(self.where / "run.pcap")
        probe = telephones.Probe(self.where)
        begun, answering = [], None
        try:
            nodes.wait(lambda: probe.times(), "the virtual address does not answer OPTIONS")
            if self.of.pbx and not self.of.trying:
                answering = telephones.Answering(self.folder, self.where / "answering")
            self.begin(begun)
            failed_at = self.fail()
            begun.append(self.calls("new", NEW, 5, telephones.ECHO, 2))
            self.recover()
            ended = [each.wait() for each in begun]
            nodes.wait(lambda: probe.last() > failed_at, "the virtual address does not answer OPTIONS again")
            over = time.time()
            nodes.wait(lambda: packets.reaches(over), "the capture does not go on")
        finally:
            probe.stop()
            for each in [*begun, *([answering] if answering else [])]:
                each.stop()
            packets.stop()
        self.assert_behaviour(ended)
        return self.figures(ringtap, ended, packets, probe.outage(failed_at), failed_at)

    def recover(self):
        """Waits for what the cluster does about the failure."""
        self.late()
        if self.of.proxy:
            nodes.wait(self.moved, f"the address does not move to {self.peer}")
        if self.of.proxy == "lose":
            self.wait_fenced(self.owner)
        if self.of.pbx == "lose":
            self.wait_fenced(PBX)
        elif self.of.pbx == "kill":
            self.wait_restarted()

    def wait_fenced(self, name):
        nodes.wait(lambda: fenced(self.folder, name) > self.fenced_before[name], f"{name} was lost and not fenced")

    def failures(self):
        """How many failed checks the cluster counts of the PBX."""
        told = nodes.Node(self.folder, "arbiter").ask("crm_failcount", "--query", "--resource", "pbx", "--node", PBX).stdout
        return int(told.rsplit("value=", 1)[1]) if "value=" in told and "INFINITY" not in told else 0

    def wait_restarted(self):
        nodes.wait(lambda: self.failures() == 1 and PBX in checks.Cluster(self.folder).running("pbx"),
                   f"the PBX of {PBX} is not started again after the first failure")

    def left_stopped(self):
        """A second failure: the cluster stops the PBX, and does not start it again."""
        self.kill(PBX, "asterisk")
        nodes.wait(lambda: self.failures() == 2, f"the cluster does not see the second failure of {PBX}")
        nodes.Node(self.folder, "arbiter")("crm_resource", "--wait")
        check(PBX not in checks.Cluster(self.folder).running("pbx"), f"the PBX of {PBX} was started again after the second failure")

    def channels(self, state=None):
        return sum(state in (None, each[1]) for name in checks.PBXS for each in channels(self.folder, name))

    def refused(self):
        """How many calls are to be answered 503: those that ring on a lost PBX go to the other one, unless their transaction is lost too."""
        return self.lost.ringing if self.of.proxy == "lose" else 0

    def assert_behaviour(self, ended):
        succeeded, failed = sum(good for good, _ in ended), sum(bad for _, bad in ended)
        check(failed == self.refused(), f"{failed} calls failed, not {self.refused()}")
        check(ended[-1] == (NEW, 0), f"{ended[-1][1]} of {NEW} new calls failed")
        check(succeeded > 0, "no call succeeded")
        lost = ([self.owner] if self.of.proxy == "lose" else []) + ([PBX] if self.of.pbx == "lose" else [])
        for name in {self.owner, self.peer, *checks.PBXS} - set(lost):
            check(fenced(self.folder, name) == self.fenced_before[name], f"{name} was fenced, and was not lost")

    def figures(self, ringtap, ended, packets, outage, failed_at):
        path = packets.path
        check(packets.dropped() == 0, f"the capture lost {packets.dropped()} packets")
        records, streams = capture.records(ringtap, path)
        # Those that the platform made are the other halves of calls to a telephone.
        calls = [call for call in records.values() if not call["src"].startswith(f"{capture.VIRTUAL}:")]
        halves = [call for call in records.values() if call["src"].startswith(f"{capture.VIRTUAL}:")]
        made = sum(good + bad for good, bad in ended)
        check(len(calls) == made, f"ringtap finds {len(calls)} calls, SIPp made {made}")
        answered = [call for call in calls if call["answer_us"]]
        check(len(answered) == made - self.refused(), f"ringtap finds {len(answered)} answered calls of {made}")
        refused = [call for call in calls if call["final_code"] == 503]
        check(len(refused) == self.refused(), f"{len(refused)} calls were answered 503, not {self.refused()}")
        again = self.rung_again(path, calls, failed_at)
        self.refused_until_acknowledged(path, {call["call_id"] for call in refused})
        cut = self.cut(answered, halves)
        late = capture.late_packets(path, capture.VIRTUAL)
        check(late == 0, f"{late} packets of the former owner of the address after those of the next")
        kept = {call["call_id"]: call["end_us"] for call in answered
                if call["answer_us"] < failed_at * 1e6 and call["state"] == "completed" and call["released_by"] == "caller"}
        ended_early = [end for end in kept.values() if self.of.proxy and end < (failed_at + (outage or 0)) * 1e6]
        check(not ended_early, f"{len(ended_early)} established calls ended by themselves before the outage did: nothing is tested")
        gaps = [each["delta_ms_max"] / 1000 for each in streams if each["call_id"] in kept]
        waits = [(call["answer_us"] - call["invite_us"]) / 1e6 for call in answered if self.of.trying or call["invite_us"] > failed_at * 1e6]
        ends = [call["end_us"] / 1e6 - failed_at for call in cut]
        return {"kind": self.kind, "service": outage, "user": max(waits, default=None), "gap": max(gaps, default=None),
                "ended": max(ends, default=None), "rings": max(again, default=None), "calls": made, "failed": made - sum(good for good, _ in ended),
                "ended_by_proxy": len(cut), "on_lost_pbx": self.lost.callers + self.lost.callees + self.lost.ringing}

    def rung_again(self, path, calls, failed_at):
        """Of each call that rang on the lost PBX, the seconds until who calls heard of it: the other PBX's 180, or 503."""
        rang = {call["call_id"] for call in calls if call["invite_us"] < failed_at * 1e6}
        told = [(when, call) for when, call in capture.replies(path, telephones.ADDRESS, ("180", "503")) if call in rang]
        heard = {call for when, call in told if when < failed_at}
        first = {call: when - failed_at for when, call in reversed(told) if when > failed_at and call in heard}
        check(len(first) == self.lost.ringing, f"{len(first)} who heard a call ring heard of its PBX's loss, {self.lost.ringing} rang there")
        check(all(0 < each < SITUATION_3 for each in first.values()), f"situation 3 took longer than {SITUATION_3} s: {first}")
        return first.values()

    def refused_until_acknowledged(self, path, refused):
        """A proxy that refuses calls without their transactions repeats it until ACK comes, and for ten seconds if none does."""
        told, heard = {}, {}
        for when, call in capture.replies(path, telephones.ADDRESS, ("503",)):
            told.setdefault(call, []).append(when)
        for when, call in capture.acknowledgements(path, telephones.ADDRESS):
            if call in refused and when > told[call][0]:
                heard.setdefault(call, when)
        for call in refused:
            after = told[call][-1] - heard.get(call, told[call][0])
            check(after < ACKNOWLEDGED if call in heard else len(told[call]) > 5 and after < UNACKNOWLEDGED,
                  f"503 is repeated for {after:.1f} s after {'its ACK' if call in heard else 'the first one, without ACK'}")

    def cut(self, answered, halves):
        """The calls that the proxy ended for a PBX that is lost, with either telephone: as many as went through it."""
        callers = [call for call in answered if call["released_by"] == "callee"]
        check(len(callers) == self.lost.callers, f"{len(callers)} who called got BYE, {self.lost.callers} called through the lost PBX")
        callees = [call for call in halves if call["end_us"] and call["duration_ms"] and call["duration_ms"] < self.seconds * 1000]
        check(len(callees) == self.lost.callees, f"{len(callees)} who were called got BYE, {self.lost.callees} through the lost PBX")
        return callers + callees

    def restore(self):
        """What failed comes back, as standby, and nothing else moves."""
        if self.of.fenced_late and (agent := nodes.Process(self.folder / "outside.json").pid()):
            os.kill(agent, signal.SIGCONT)
        self.unfilter([self.peer] if self.of.announced_late and nodes.Node(self.folder, self.peer).is_up() else [], "arp lost")
        self.unfilter(checks.PROXIES if self.of.loss else [], "inet lost")
        if self.of.proxy == "cable":
            nodes.cable(self.owner, "up")
        if self.of.database == "lose":
            nodes.cable(checks.DATABASES[0], "up")
        for name in checks.DATABASES if self.of.database == "off" else []:
            if not nodes.Node(self.folder, name).is_up():
                nodes.Node(self.folder, name).boot(images.make(nodes.NODES[name][0], self.folder / "roots"))
        if self.of.trying and nodes.Node(self.folder, PBX).is_up():
            nodes.Node(self.folder, PBX).ask("asterisk", "-rx", "dialplan set global DELAY 0")
        if self.of.pbx == "kill":
            nodes.Node(self.folder, "arbiter")("crm_resource", "--cleanup", "--resource", "pbx", "--node", PBX)
        if self.of.proxy == "move":
            nodes.Node(self.folder, self.peer)("crm_resource", "--clear", "--resource", "service")
        checks.wait(self.folder)
        check(checks.owner(self.folder) == (self.peer if self.of.proxy else self.owner), "the address moved back by itself")
        nodes.wait(lambda: self.channels() == 0, "a PBX holds calls that ended")
        # A call that was refused without its ACK is known for ten seconds; far less than a call may ring.
        nodes.wait(lambda: not self.remembered(), lambda: f"proxies remember calls that ended: {self.remembered()}", patience=60)

    def remembered(self):
        """By proxy and table, how many calls a proxy knows anything of."""
        found = {(name, table): nodes.Node(self.folder, name).ask("kamcmd", "htable.dump", table).stdout.count("name: ")
                 for name in checks.PROXIES for table in ("ringing", "last", "byes", "calls", "active", "answered")}
        return {key: count for key, count in found.items() if count}


def configuration():
    """What the platform is configured by, and the telephones of the tests, as a digest: figures of another one are not these."""
    platform = HERE.parent
    files = [*(platform / "roles").rglob("*"), *(platform / "group_vars").rglob("*"), *(platform / "inventories/here").rglob("*"), *HERE.glob("*.xml")]
    digest = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        digest.update(f"{path.relative_to(platform)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def results(folder):
    """The runs that earlier commands made with this configuration. A line that a command was killed at is none."""
    path, current, found = folder / "failover.jsonl", configuration(), []
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [each for each in found if each.get("configuration") == current]


def keep(folder, figures):
    """On the disk before the next run begins."""
    with open(folder / "failover.jsonl", "a") as file:
        file.write(json.dumps({**figures, "configuration": configuration()}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def spread(values):
    """Median, 95th percentile and worst, in seconds."""
    values = sorted(value for value in values if value is not None)
    if not values:
        return "-"
    ninety_fifth = values[max(0, -(-95 * len(values) // 100) - 1)]
    return f"{statistics.median(values):.2f} / {ninety_fifth:.2f} / {values[-1]:.2f}"


def table(found):
    """The paper's figures beside ours."""
    rows = [("failure", "runs", "service: paper", "ours", "user: paper", "ours", "gap in sound", "lost PBX: ended", "rings again or 503",
             "failed, ended, calls")]
    for kind, what in KINDS.items():
        of = [each for each in found if each["kind"] == kind]
        if of:
            counts = ", ".join(str(sum(each.get(name, 0) for each in of)) for name in ("failed", "ended_by_proxy", "calls"))
            rows.append((kind, str(len(of)), f"{what.service or '-'}", spread([each["service"] for each in of]), f"{what.user or '-'}",
                         *(spread([each.get(name) for each in of]) for name in ("user", "gap", "ended", "rings")), counts))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print("\nSeconds; ours as median / 95th percentile / worst. Without fencing in the paper unless a node is lost.")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ringtap", type=Path, required=True, help="the program")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each kind, those of earlier commands counted")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of earlier commands")
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=[], help=", ".join(KINDS))
    options = parser.parse_args()
    folder = options.folder.resolve()
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        sys.exit(f"failover: there is no kind {unknown[0]!r}: {', '.join(KINDS)}")
    if options.fresh:
        (folder / "failover.jsonl").unlink(missing_ok=True)
    try:
        checks.wait(folder)
        for number in range(options.repeat):
            for kind in options.kinds or KINDS:
                if sum(each["kind"] == kind for each in results(folder)) > number:
                    continue
                one(folder, kind, options.ringtap.resolve())
    except (nodes.Failure, Wrong) as failure:
        table(results(folder))
        sys.exit(f"failover: {failure}")
    table(results(folder))


def one(folder, kind, ringtap):
    where = folder / "runs" / kind
    where.mkdir(parents=True, exist_ok=True)
    run = Run(folder, kind, where)
    try:
        figures = run.make(ringtap)
        if run.of.pbx == "kill":
            run.left_stopped()
    except (Wrong, nodes.Failure) as wrong:
        with contextlib.suppress(Wrong, nodes.Failure):
            run.restore()
        raise Wrong(f"{kind}: {wrong}; its capture is {where / 'run.pcap'}") from wrong
    except BaseException:
        run.restore()
        raise
    run.restore()
    keep(folder, figures)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    os.umask(0o077)
    main()
