#!/usr/bin/env python3
"""Failovers during calls with sound: failover.py --ringtap PROGRAM [--repeat N] [KIND...]. The platform is up before.

In each run, calls are established and others ring when something fails, and new ones begin right after. What must hold is
asserted: no call is lost that can be kept, those of a PBX that is lost are ended with both telephones, new calls are answered, a node
that is lost is fenced, who had the address sends nothing from it once another has it, and ringtap finds in the packets the calls that
SIPp made. Times are only printed, beside the paper's.

Results are kept in a file, so a later command makes the missing runs only, also after one that was interrupted; those of another
configuration are not counted. What did not hold is kept too, is a run like others, and does not keep the next from being made. The
captures of the last run of each kind are kept, and of the last that did not hold.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import capture  # noqa: E402
import checks  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402
import telephones  # noqa: E402
from kinds import FAULTS, KINDS, PBX  # noqa: E402
from measures import Measures, Wrong, check  # noqa: E402

# Calls that ring, that a telephone answers, that have got no further than 100 Trying, and that are made when all is over.
RINGING, ANSWERED, TRYING, LATER = 5, 6, 6, 5
# For how many seconds calls begin around the failure, from a second before it on.
AROUND = 6
# What one SIPp process carries with sound.
A_PROCESS = 100
# Of a call that is established. One through a PBX that is lost ends before it would end by itself; where nothing ends it, it has to
# outlast the failure, no more.
SECONDS, OUTLASTS = 30, 20
# Users of each batch of calls; each has four at once.
USERS = {"established": range(1101, 1401), "ringing": range(1001, 1021), "around": range(1021, 1081), "answered": range(1081, 1091),
         "trying": range(1001, 1021), "later": range(1091, 1100)}


def fenced(folder, name):
    """How often the agent outside has fenced a node."""
    return (folder / "outside.log").read_text().count(f" fenced {name}\n")


class Run:
    """One failure during calls."""

    def __init__(self, folder, kind, where, established, rate):
        self.folder, self.kind, self.where, self.of, self.established, self.rate = folder, kind, where, KINDS[kind], established, rate
        self.owner = checks.owner(folder)
        self.peer = next(name for name in checks.PROXIES if name != self.owner)
        self.fences = {{"owner": self.owner, "pbx": PBX}[each] for each in self.of.fences}
        self.fenced_before = {name: fenced(folder, name) for name in nodes.NODES}
        self.faults = [FAULTS[name] for name in self.of.faults]
        self.lasts = max((each.lasts or 0 for each in self.faults), default=0)
        self.seconds = SECONDS if self.of.pbx else OUTLASTS
        self.begun = []
        self.failed = False
        self.timers_before = None
        # Call-IDs that the databases have to know in the end.
        self.recorded = set()

    def calls(self, name, count, rate, seconds, service, users=None):
        """Begins calls of a batch; each process has an address of its own."""
        self.begun.append(telephones.Calls(self.folder, self.where / name, count, rate, seconds, service, users=users or USERS[name],
                                           address=telephones.ADDRESSES[1 + len(self.begun)]))

    def kill(self, name, unit, signal="KILL"):
        nodes.Node(self.folder, name)("systemctl", "kill", "--kill-who=all", f"--signal={signal}", unit)

    def moved(self):
        return checks.owner(self.folder) == self.peer

    def set_timers(self, silent, trying, tells):
        for name in checks.PROXIES:
            if nodes.Node(self.folder, name).is_up():
                for timer, value in (("fr_timer", silent), ("fr_inv_timer", trying), ("auto_inv_100", tells)):
                    nodes.Node(self.folder, name)("kamcmd", "cfg.set_now_int", "tm", timer, value)

    def timer(self, name):
        """What a proxy started with, in milliseconds: what it goes by, it does not tell."""
        told = nodes.Node(self.folder, self.owner)("grep", f'"tm", "{name}"', "/etc/kamailio/kamailio.cfg")
        return int(told.rsplit(",", 1)[1].strip(" )\n"))

    def begin(self):
        """The calls that there are when it fails."""
        if self.of.timers:
            self.timers_before = self.timer("fr_timer"), self.timer("fr_inv_timer")
            # With 100 Trying, since no telephone repeats its INVITE for as long as the paper's proxy waits.
            self.set_timers(*self.of.timers, 1)
        if self.of.trying:
            nodes.Node(self.folder, PBX)("asterisk", "-rx", "dialplan set global DELAY 3600")
            self.calls("trying", TRYING, 5, 5, telephones.SILENT)
            nodes.wait(lambda: self.channels() >= TRYING, "calls do not reach a PBX")
            self.begin_around()
            return
        expected = self.established
        for first in range(0, self.established, A_PROCESS):
            count = min(A_PROCESS, self.established - first)
            self.calls(f"established-{first}", count, 20, self.seconds, telephones.ECHO, USERS["established"][first:first + count])
        if self.of.pbx:
            self.calls("answered", ANSWERED, 5, self.seconds, telephones.ANSWERS)
            # At the PBX, one channel to who calls, one to who is called.
            expected += 2 * ANSWERED
        nodes.wait(lambda: self.channels("Up") >= expected, "calls are not established")
        self.calls("ringing", RINGING, 5, 20, telephones.RINGS)
        nodes.wait(lambda: self.channels() >= expected + RINGING, "calls do not ring")
        self.begin_around()

    def begin_around(self):
        self.calls("around", AROUND * self.rate, self.rate, 5, telephones.RINGS_SHORTLY)
        nodes.wait(lambda: self.begun[-1].figure("TotalCallCreated") >= self.rate / 2, "calls do not begin")

    def fail(self):
        """Makes it fail; returns since when it did, and when that was done."""
        now, self.failed = time.time(), True
        for fault in self.faults:
            fault.begin(self)
        return now, time.time()

    def later(self, failed_at):
        """What lasts for a while ends; before it does, as much holds as can."""
        if self.lasts:
            time.sleep(max(0, failed_at + self.lasts - time.time() - (10 if self.kind == "databases-off" else 0)))
            if self.kind == "databases-off":
                self.calls("later", LATER, 5, 5, telephones.ECHO)
                time.sleep(10)
            if self.kind == "fenced-late":
                check(checks.owner(self.folder) in (None, self.owner), "the address was taken over from a node that was not fenced yet")
            for fault in self.faults:
                if fault.lasts:
                    fault.end(self)

    def make(self, ringtap):
        """Makes the run; returns its figures."""
        packets = capture.Capture(self.where / "run.pcap")
        at_pbx = capture.Capture(self.where / "pbx.pcap", f"{PBX}-eth0", "udp port 5060")
        probe = telephones.Probe(self.where)
        answering = None
        try:
            nodes.wait(lambda: probe.times(), "the virtual address does not answer OPTIONS")
            if self.of.pbx and not self.of.trying:
                answering = telephones.Answering(self.folder, self.where / "answering")
            self.begin()
            moments = self.fail()
            self.later(moments[0])
            self.recover(moments[0])
            ended = {each.where.name: (*each.wait(), each.figure("CurrentCall")) for each in self.begun}
            nodes.wait(lambda: probe.last() > moments[1], "the virtual address does not answer OPTIONS again")
            over = time.time()
            nodes.wait(lambda: packets.reaches(over), "the capture does not go on")
        finally:
            probe.stop()
            for each in [*self.begun, *([answering] if answering else [])]:
                each.stop()
            packets.stop()
            at_pbx.stop()
        for name in {self.owner, self.peer, *checks.PBXS} - self.fences:
            check(fenced(self.folder, name) == self.fenced_before[name], f"{name} was fenced, and was not lost")
        measures = Measures(self, ringtap, ended, packets, at_pbx, probe, moments)
        figures = measures.figures()
        self.recorded = measures.recorded()
        return figures

    def recover(self, since):
        """Waits for what the cluster does about the failure."""
        if self.of.ends:
            told = f"proxy: {self.of.ends} has ended (killed: KILL), and the cluster knows"
            words = ("journalctl", "--identifier=platform", f"--since=@{since:.3f}", "--output=cat")
            nodes.wait(lambda: told in nodes.Node(self.folder, self.owner)(*words), f"{self.owner} does not say that {told!r}")
        if self.of.moves:
            nodes.wait(self.moved, f"the address does not move to {self.peer}")
        for name in self.fences:
            nodes.wait(lambda name=name: fenced(self.folder, name) > self.fenced_before[name], f"{name} was lost and not fenced")
        if self.of.pbx == "restarted":
            nodes.wait(lambda: self.failures() == 1 and PBX in checks.Cluster(self.folder).running("pbx"),
                       f"the PBX of {PBX} is not started again after the first failure")

    def failures(self):
        """How many failed checks the cluster counts of the PBX."""
        told = nodes.Node(self.folder, "arbiter").ask("crm_failcount", "--query", "--resource", "pbx", "--node", PBX).stdout
        return int(told.rsplit("value=", 1)[1]) if "value=" in told and "INFINITY" not in told else 0

    def left_stopped(self):
        """A second failure: the cluster stops the PBX, and does not start it again."""
        self.kill(PBX, "asterisk")
        nodes.wait(lambda: self.failures() == 2, f"the cluster does not see the second failure of {PBX}")
        nodes.Node(self.folder, "arbiter")("crm_resource", "--wait")
        check(PBX not in checks.Cluster(self.folder).running("pbx"), f"the PBX of {PBX} was started again after the second failure")

    def channels(self, state=None):
        """Of both PBXs, those that are up, or all."""
        told = [nodes.Node(self.folder, name).ask("asterisk", "-rx", "core show channels concise").stdout for name in checks.PBXS]
        words = [line.split("!") for text in told for line in text.splitlines() if line.startswith("PJSIP/")]
        return sum(len(each) > 4 and state in (None, each[4]) for each in words)

    def restore(self):
        """What failed comes back, as standby, and nothing else moves."""
        for fault in self.faults:
            fault.end(self)
        if self.timers_before:
            self.set_timers(*self.timers_before, 0)
        if self.of.trying and nodes.Node(self.folder, PBX).is_up():
            nodes.Node(self.folder, PBX).ask("asterisk", "-rx", "dialplan set global DELAY 0")
        checks.wait(self.folder)
        owner, should = checks.owner(self.folder), self.peer if self.of.moves and self.failed else self.owner
        check(owner == should, f"{owner} has the address, and {should} should have it")
        nodes.wait(lambda: self.channels() == 0, "a PBX holds calls that ended")
        # A call that was refused without its ACK is known for ten seconds; far less than a call may ring.
        nodes.wait(lambda: not self.remembered(), lambda: f"proxies remember calls that ended: {self.remembered()}", patience=60)
        for name in checks.DATABASES:
            nodes.wait(lambda name=name: not self.unrecorded(name), lambda name=name: f"{name} has no record of {len(self.unrecorded(name))} "
                       f"calls that were answered: {sorted(self.unrecorded(name))[:3]}", patience=60)

    def unrecorded(self, database):
        told = nodes.Node(self.folder, database)("mysql", "--batch", "--skip-column-names", "--execute", "SELECT call_id FROM kamailio.call_records")
        return self.recorded - set(told.split("\n"))

    def remembered(self):
        """By proxy and table, of how many calls a proxy knows anything, and of which."""
        found = {}
        for name in checks.PROXIES:
            for table in ("ringing", "last", "byes", "calls", "active", "answered", "ended"):
                told = nodes.Node(self.folder, name).ask("kamcmd", "htable.dump", table).stdout
                if calls := re.findall(r"name: (\S+)", told):
                    found[name, table] = len(calls), *calls[:2]
        return found


def configuration(folder):
    """What the platform is configured by, who switches its nodes, and the telephones of the tests, as a digest: figures of another one
    are not these."""
    platform = HERE.parent
    files = [*(platform / "roles").rglob("*"), *(platform / "group_vars").rglob("*"), *(platform / "inventories/here").rglob("*"),
             platform / "here/outside.py", *HERE.glob("*.xml")]
    digest = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        digest.update(f"{path.relative_to(platform)}\0".encode() + path.read_bytes())
    settings = folder / machine.SETTINGS
    digest.update(settings.read_bytes() if settings.exists() else b"")
    return digest.hexdigest()[:16]


def results(folder, options):
    """The runs that earlier commands made with this configuration and as many calls. A line that a command was killed at is none."""
    current, found = configuration(folder), []
    for line in options.results.read_text().splitlines() if options.results.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [each for each in found if (each.get("configuration"), each["established"], each["rate"]) == (current, options.calls, options.rate)]


def keep(folder, options, figures):
    """On the disk before the next run begins; times in milliseconds, as exact as they are."""
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()}
    line = json.dumps({**rounded, "configuration": configuration(folder)})
    # After a line that a command was killed at, too.
    torn = options.results.exists() and options.results.read_bytes()[-1:] not in (b"", b"\n")
    with open(options.results, "a") as file:
        file.write("\n" * torn + line + "\n")
        file.flush()
        os.fsync(file.fileno())
    print(line, flush=True)


def spread(values):
    """Median, 95th percentile and worst, in seconds."""
    values = sorted(value for value in values if value is not None)
    if not values:
        return "-"
    ninety_fifth = values[max(0, -(-95 * len(values) // 100) - 1)]
    return f"{statistics.median(values):.2f} / {ninety_fifth:.2f} / {values[-1]:.2f}"


def waited(figures):
    """The longest that a telephone of a run waited."""
    return max(figures.get(name) or 0 for name in ("user", "pending"))


def table(found):
    """The paper's figures beside ours."""
    rows = [("failure", "runs", "service: paper", "ours", "user, test 1: paper", "ours", "test 2: paper", "ours", "gap in sound", "lost PBX: ended",
             "rings again or 503", "failed, ended, calls")]
    for kind, what in KINDS.items():
        of = [each for each in found if each["kind"] == kind]
        if of:
            counts = ", ".join(str(sum(each.get(name, 0) for each in of)) for name in ("failed", "ended_by_proxy", "calls"))
            ours = {name: spread([each.get(name) for each in of]) for name in ("service", "user", "pending", "gap", "ended", "rings")}
            wrong = sum("wrong" in each for each in of)
            rows.append((kind, f"{len(of)}, {wrong} wrong" if wrong else str(len(of)), f"{what.service or '-'}", ours["service"],
                         f"{what.user or '-'}", ours["user"], f"{what.pending or '-'}", ours["pending"], ours["gap"], ours["ended"], ours["rings"], counts))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print("\nSeconds; ours as median / 95th percentile / worst. Test 1: a call begun after the failure, until it rings; test 2: one that was being "
          "set up,\nuntil it is answered. The paper's without fencing unless a node is lost.")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ringtap", type=capture.program, required=True, help="the program")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each kind, those of earlier commands counted")
    parser.add_argument("--calls", type=int, default=10, help="calls that are established when it fails; at most 300")
    parser.add_argument("--rate", type=int, default=20, help="calls that begin a second around the failure")
    parser.add_argument("--results", type=Path, help="where runs are kept, a line each: failover.jsonl in the folder")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of earlier commands")
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=[], help=", ".join(KINDS))
    options = parser.parse_args()
    folder = options.folder.resolve()
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        sys.exit(f"failover: there is no kind {unknown[0]!r}: {', '.join(KINDS)}")
    if not 1 <= options.calls <= len(USERS["established"]):
        sys.exit(f"failover: --calls {options.calls}: from 1 to {len(USERS['established'])}")
    options.results = options.results or folder / "failover.jsonl"
    if not options.results.absolute().parent.is_dir():
        sys.exit(f"failover: --results {options.results}: its folder is not there")
    if options.fresh:
        options.results.unlink(missing_ok=True)
    wrong = []
    try:
        checks.wait(folder)
        for number in range(options.repeat):
            for kind in options.kinds or KINDS:
                if sum(each["kind"] == kind for each in results(folder, options)) <= number:
                    wrong += one(folder, kind, options)
    except nodes.Failure as failure:
        wrong.append(str(failure))
    table(results(folder, options))
    sys.exit("\n".join(f"failover: {each}" for each in wrong) or None)


def one(folder, kind, options):
    """Makes a run and keeps it; returns what did not hold. Fails if the platform is not whole after it."""
    where = folder / "runs" / kind
    where.mkdir(parents=True, exist_ok=True)
    run = Run(folder, kind, where, options.calls, options.rate)
    wrong = []
    try:
        figures = run.make(options.ringtap.resolve())
        if kind == "pbx-killed":
            run.left_stopped()
    except (Wrong, nodes.Failure) as failure:
        wrong.append(failure)
    except BaseException:
        run.restore()
        raise
    try:
        run.restore()
    except (Wrong, nodes.Failure) as failure:
        wrong.append(failure)
    if wrong:
        aside = folder / "runs" / f"{kind}-wrong"
        shutil.rmtree(aside, ignore_errors=True)
        where.rename(aside)
        figures = {"kind": kind, "established": options.calls, "rate": options.rate, "wrong": "; ".join(map(str, wrong))}
    elif waited(figures) > max((waited(each) for each in results(folder, options) if each["kind"] == kind), default=0):
        # What is unusual is asked about when the next run has written over its packets.
        slowest = folder / "runs" / f"{kind}-slowest"
        shutil.rmtree(slowest, ignore_errors=True)
        shutil.copytree(where, slowest)
    keep(folder, options, figures)
    if wrong:
        checks.wait(folder)
    return [f"{kind}: {figures['wrong']}; its capture is {aside / 'run.pcap'}"] if wrong else []


if __name__ == "__main__":
    os.umask(0o077)
    main()
