#!/usr/bin/env python3
"""Failovers during calls with sound: failover.py --ringtap PROGRAM [--repeat N] [KIND...]. The platform is up before.

In each run, calls are established and others ring when something fails, and new ones begin right after. What must hold is
asserted: no call is lost that can be kept, new calls are answered, a node that is lost is fenced, who had the address sends nothing
from it once another has it, and ringtap finds in the packets the calls that SIPp made. Times are only printed, beside the paper's.

Results are kept in the folder of the platform, so a later command with a higher --repeat makes the missing runs only. The
capture of the last run of each kind is kept too.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "here"))

import capture  # noqa: E402
import checks  # noqa: E402
import nodes  # noqa: E402
import telephones  # noqa: E402

# By kind: what is done to the proxy that has the address, whether a PBX is lost, and what the paper measured of it in seconds:
# without service, for a user who calls just after, and how its established calls fared. None: it does not say.
KINDS = {
    "moved": ("move", False, (None, None, None)),
    "kamailio-killed": ("kamailio", False, (3.49, 4.50, "redial")),
    "rtpengine-killed": ("rtpengine", False, (None, None, "redial")),
    "proxy-lost": ("lose", False, (7.38, 7.51, "redial")),
    "pbx-lost": (None, True, (None, 4.17, "redial")),
}
ESTABLISHED, RINGING, NEW = 10, 5, 5


class Wrong(Exception):
    """Behaviour that is not as it should be."""


def check(fact, message):
    if not fact:
        raise Wrong(message)


def channels(folder, name):
    """Calls that a PBX has."""
    told = nodes.Node(folder, name).ask("asterisk", "-rx", "core show channels count").stdout
    line = next((line for line in told.splitlines() if "active channel" in line), "0 ")
    return int(line.split()[0])


def fenced(folder, name):
    """How often the agent outside has fenced a node."""
    return (folder / "outside.log").read_text().count(f" fenced {name}\n")


def main_process(node, unit):
    return int(node("systemctl", "show", "--property", "MainPID", "--value", unit))


class Run:
    """One failure during calls. `what` and `loses_pbx` are those of its kind."""

    def __init__(self, folder, kind, where):
        self.folder, self.kind, self.where = folder, kind, where
        self.what, self.loses_pbx, _ = KINDS[kind]
        self.owner = checks.owner(folder)
        self.peer = next(name for name in checks.PROXIES if name != self.owner)
        self.fenced_before = fenced(folder, self.owner)
        self.lost_channels = 0

    def calls(self, name, count, seconds, service, number):
        users = range(1001 + 20 * number, 1001 + 20 * number + count)
        return telephones.Calls(self.folder, self.where / name, count, 5, seconds, service, 5070 + number, 20000 + 2000 * number, users)

    def fail(self):
        """Makes it fail; returns when it did."""
        now = time.time()
        if self.loses_pbx:
            self.lost_channels = channels(self.folder, "pbx1")
            nodes.cable("pbx1", "down")
        node = nodes.Node(self.folder, self.owner)
        if self.what == "lose":
            # Silent, not dead: the others have to find out, and must not take over before it is dead.
            nodes.cable(self.owner, "down")
        elif self.what == "kamailio":
            node("systemctl", "kill", "--kill-who=all", "--signal=KILL", "kamailio")
        elif self.what == "rtpengine":
            node("systemctl", "kill", "--kill-who=all", "--signal=KILL", "rtpengine-daemon")
        elif self.what == "move":
            nodes.Node(self.folder, self.peer)("crm_resource", "--move", "--resource", "service", "--node", self.peer)
        return now

    def moved(self):
        return checks.owner(self.folder) == self.peer

    def make(self, ringtap):
        """Makes the run; returns its figures."""
        packets = capture.Capture(self.where / "run.pcap")
        probe = telephones.Probe(self.where)
        begun = []
        try:
            nodes.wait(lambda: probe.times(), "the virtual address does not answer OPTIONS")
            begun.append(self.calls("established", ESTABLISHED, 60, telephones.ECHO, 0))
            nodes.wait(lambda: self.channels() >= ESTABLISHED, "calls are not established")
            # A PBX that is lost takes the calls with it that ring there: nothing ends or moves those yet.
            ringing = 0 if self.loses_pbx else RINGING
            if ringing:
                begun.append(self.calls("ringing", ringing, 20, telephones.RINGS, 1))
                nodes.wait(lambda: self.channels() >= ESTABLISHED + ringing, "calls do not ring")
            failed_at = self.fail()
            begun.append(self.calls("new", NEW, 5, telephones.ECHO, 2))
            if self.what:
                nodes.wait(self.moved, f"the address does not move to {self.peer}")
            ended = [each.wait() for each in begun]
            nodes.wait(lambda: probe.last() > failed_at, "the virtual address does not answer OPTIONS again")
            over = time.time()
            nodes.wait(lambda: packets.reaches(over), "the capture does not go on")
        finally:
            probe.stop()
            for each in begun:
                each.stop()
            packets.stop()
        self.assert_behaviour(ended)
        return self.figures(ringtap, begun, ended, packets, probe.outage(failed_at), failed_at)

    def channels(self):
        return sum(channels(self.folder, name) for name in checks.PBXS)

    def assert_behaviour(self, ended):
        succeeded, failed = sum(good for good, _ in ended), sum(bad for _, bad in ended)
        check(failed == self.lost_channels, f"{failed} calls failed, {self.lost_channels} were on the PBX that was lost")
        check(ended[-1] == (NEW, 0), f"{ended[-1][1]} of {NEW} new calls failed")
        check(succeeded > 0, "no call succeeded")
        if self.what == "lose":
            check(fenced(self.folder, self.owner) > self.fenced_before, f"{self.owner} was lost and not fenced")
        else:
            check(fenced(self.folder, self.owner) == self.fenced_before, f"{self.owner} was fenced, and only a service failed")

    def figures(self, ringtap, begun, ended, packets, outage, failed_at):
        path = packets.path
        check(packets.dropped() == 0, f"the capture lost {packets.dropped()} packets")
        calls, streams = capture.records(ringtap, path)
        made = sum(good + bad for good, bad in ended)
        check(len(calls) == made, f"ringtap finds {len(calls)} calls, SIPp made {made}")
        answered = [call for call in calls.values() if call["answer_us"]]
        check(len(answered) == made, f"ringtap finds {len(answered)} answered calls of {made}")
        late = capture.late_packets(path, capture.VIRTUAL)
        check(late == 0, f"{late} packets of the former owner of the address after those of the next")
        established = {call["call_id"] for call in answered if call["answer_us"] < failed_at * 1e6}
        kept = {call["call_id"] for call in answered if call["state"] == "completed" and call["released_by"]}
        gaps = [each["delta_ms_max"] / 1000 for each in streams if each["call_id"] in established & kept]
        waits = [(call["answer_us"] - call["invite_us"]) / 1e6 for call in answered if call["invite_us"] > failed_at * 1e6]
        return {"kind": self.kind, "service": outage, "user": max(waits, default=None), "gap": max(gaps, default=None),
                "calls": made, "failed": made - sum(good for good, _ in ended), "on_lost_pbx": self.lost_channels}

    def restore(self):
        """What failed comes back, as standby, and nothing else moves."""
        if self.loses_pbx:
            nodes.cable("pbx1", "up")
        if self.what == "move":
            nodes.Node(self.folder, self.peer)("crm_resource", "--clear", "--resource", "service")
        checks.wait(self.folder)
        check(checks.owner(self.folder) == (self.peer if self.what else self.owner), "the address moved back by itself")
        nodes.wait(lambda: self.channels() == 0, "a PBX holds calls that ended")


def results(folder):
    path = folder / "failover.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(folder, figures):
    with open(folder / "failover.jsonl", "a") as file:
        file.write(json.dumps(figures) + "\n")


def spread(values):
    """Median, 95th percentile and worst, in seconds."""
    values = sorted(value for value in values if value is not None)
    if not values:
        return "-"
    ninety_fifth = values[max(0, -(-95 * len(values) // 100) - 1)]
    return f"{statistics.median(values):.2f} / {ninety_fifth:.2f} / {values[-1]:.2f}"


def table(found):
    """The paper's figures beside ours."""
    rows = [("failure", "runs", "service: paper", "ours", "user: paper", "ours", "gap in sound", "failed, on lost PBX, calls")]
    for kind, (_, _, (service, user, _)) in KINDS.items():
        of = [each for each in found if each["kind"] == kind]
        if of:
            counts = ", ".join(str(sum(each[name] for each in of)) for name in ("failed", "on_lost_pbx", "calls"))
            rows.append((kind, str(len(of)), f"{service or '-'}", spread([each["service"] for each in of]), f"{user or '-'}",
                         spread([each["user"] for each in of]), spread([each["gap"] for each in of]), counts))
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
