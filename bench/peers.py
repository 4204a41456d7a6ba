#!/usr/bin/env python3
"""Measures ringtap and what other programs of its kind are installed on the same captures, in turn, on one core.

Measured are whichever of tshark, sngrep, nDPI's ndpiReader, Suricata and VoIPmonitor are installed; the others are named and left out.
Nothing of theirs is in this repository, and nothing is installed. Each row says what the program does of the work: they differ.
Times are processor time, medians of the runs; ratios are medians of the runs' own ratios, since machines are shared and noisy.
Captures are generated once, from a seed, in target/bench. Where a program prints what
it found, that is compared with what ringtap found, and a difference stands in the table.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "bench"

# A name, what it holds, and what `ringtap generate` makes it of.
CAPTURES = {
    "calls": ("1,000 calls of 20 s, G.711",
              ["--calls", "1000", "--rate", "20", "--hold-distribution", "constant:20", "--codec", "PCMU=100"]),
    "mixed": ("1,000 calls of about a minute with every impairment, seven codecs, RTCP, TCP, IPv6, tunnels",
              ["--calls", "1000", "--rate", "20", "--hold-distribution", "exponential:60", "--impair", "all"]),
    "signalling": ("20,000 failed attempts, no media",
                   ["--calls", "20000", "--rate", "500", "--failed", "100%", "--cancelled", "0%"]),
}


def last(pattern, output):
    """The last number that a pattern finds."""
    found = re.findall(pattern, output)
    return int(found[-1].replace(",", "")) if found else None


def jsonl(output):
    """Calls and streams in the records of ringtap, and the packets of its streams."""
    calls = streams = packets = 0
    for line in output.splitlines():
        record = json.loads(line)
        calls += record["type"] == "call"
        if record["type"] == "stream":
            streams += 1
            packets += record["packets"]
    return {"calls": calls, "streams": streams, "media packets": packets}


def tshark(output):
    """Streams and packets in the table of `-z rtp,streams`."""
    rows = re.findall(r"0x[0-9a-fA-F]+ .*?\s(\d+)\s+-?\d+ \(", output)
    return {"streams": len(rows), "media packets": sum(map(int, rows))}


def dialogs(output):
    """What sngrep counts up while it reads: with -c, dialogs that an INVITE began."""
    return {"calls": last(r"Dialog count: (\d+)", output)}


def frames_read(pattern):
    """What a program says that it has read."""
    return lambda output: {"frames": last(pattern, output)}


class Peer:
    """A program, how it is run on a capture, and what it does of the work."""

    def __init__(self, name, does, command, found, exact=True):
        self.name, self.does, self.command, self.found, self.exact = name, does, command, found, exact


def peers(ringtap):
    """All programs that are known here; FILE and FOLDER stand for the capture and an empty directory."""
    return [
        Peer("ringtap", "calls, streams, loss, jitter, MOS", [ringtap, "analyze", "--workers", "1", "--format", "jsonl", "FILE"], jsonl),
        Peer("tshark", "streams, loss, jitter", ["tshark", "-n", "-q", "-r", "FILE", "-z", "rtp,streams"], tshark, exact=False),
        Peer("sngrep", "SIP dialogs", ["sngrep", "-N", "-c", "-I", "FILE"], dialogs),
        Peer("sngrep -r", "SIP dialogs, keeps media packets", ["sngrep", "-N", "-c", "-r", "-I", "FILE"], dialogs),
        Peer("ndpiReader", "protocols of flows", ["ndpiReader", "-i", "FILE"], frames_read(r"IP packets:\s+\d+\s+of (\d+) packets total")),
        Peer("suricata", "SIP messages, flows",
             ["suricata", "-r", "FILE", "-l", "FOLDER", "-S", "/dev/null", "-k", "none", "--runmode", "single"],
             frames_read(r"read \d+ files?, (\d+) packets")),
        Peer("voipmonitor", "calls, streams, loss, jitter, MOS", ["voipmonitor", "-k", "-c", "-d", "FOLDER", "-r", "FILE"], lambda _: {}),
    ]


def run(command, core, limit):
    """Runs a command on one core; returns processor seconds, peak resident memory in MiB, and what it printed."""
    with tempfile.TemporaryFile() as results:
        process = subprocess.Popen(["taskset", "-c", str(core), *command], stdin=subprocess.DEVNULL, stdout=results,
                                   stderr=subprocess.STDOUT,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        results.seek(0)
        output = results.read().decode(errors="replace")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output, process.returncode


def generated(ringtap, name, arguments):
    """The capture of that name, made where it is missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    capture = FOLDER / f"peers-{name}.pcap"
    if not capture.exists():
        part = capture.with_suffix(".part")
        subprocess.run([ringtap, "generate", "--seed", "1", *arguments, "--out", str(part)], check=True)
        part.rename(capture)
    return capture


def frames_of(capture):
    """Frames in a capture in pcap format; none of another format, which is not counted here."""
    content = memoryview(capture.read_bytes())
    if content[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return {}
    place, count = 24, 0
    while place + 16 <= len(content):
        place += 16 + int.from_bytes(content[place + 8:place + 12], "little")
        count += 1
    return {"frames": count}


def agrees(peer, found, ours):
    """Whether a program has found what ringtap has; tshark's rules for a stream differ by a few (cases/differences.md)."""
    slack = 0 if peer.exact else 0.01
    return all(found[what] is not None and abs(found[what] - count) <= slack * count
               for what, count in ours.items() if what in found)


def measure(capture, programs, options):
    """Rows of the table of a capture: name, what it does, processor time, memory, ratio, remark."""
    figures = {peer.name: [] for peer in programs}
    remarks = {}
    ours = None
    frames = frames_of(capture)  # also reads it into the page cache
    for _ in range(options.runs):
        for peer in list(programs):
            with tempfile.TemporaryDirectory() as folder:
                command = [{"FILE": str(capture), "FOLDER": folder}.get(word, word) for word in peer.command]
                seconds, memory, output, code = run(command, options.core, options.limit)
            found = peer.found(output) if code == 0 else {}
            if peer.name == "ringtap":
                if code != 0:
                    sys.exit(f"{' '.join(command)} ended with {code}")
                ours = found | frames
            if code != 0:
                remarks[peer.name] = f"stopped after {options.limit} s" if code in (-9, -24) else f"ended with {code}"
                programs.remove(peer)
            elif not agrees(peer, found, ours):
                remarks[peer.name] = "found " + ", ".join(f"{count} {what}" for what, count in found.items())
            figures[peer.name].append((seconds, memory))
            print(f"... {capture.name} {peer.name}: {seconds:.2f} s, {memory:.0f} MiB, {found}", file=sys.stderr)
    base = [seconds for seconds, _ in figures["ringtap"]]
    for peer in peers(options.ringtap):
        if runs := figures.get(peer.name):
            ratio = statistics.median(theirs / own for (theirs, _), own in zip(runs, base))
            yield peer, statistics.median(s for s, _ in runs), max(m for _, m in runs), ratio, remarks.get(peer.name, ""), ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program in turn")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--limit", type=int, default=120, help="processor seconds after which a program is stopped")
    parser.add_argument("--captures", default=",".join(CAPTURES), help=f"of {', '.join(CAPTURES)}; or paths of files")
    options = parser.parse_args()
    options.ringtap = str(pathlib.Path(options.ringtap).resolve())

    installed = [peer for peer in peers(options.ringtap) if shutil.which(peer.command[0])]
    missing = sorted({peer.command[0] for peer in peers(options.ringtap)} - {peer.command[0] for peer in installed})
    for name in options.captures.split(","):
        about, arguments = CAPTURES.get(name, (name, None))
        capture = generated(options.ringtap, name, arguments) if arguments else pathlib.Path(name)
        rows = list(measure(capture, list(installed), options))
        ours = rows[0][5]
        print(f"**{about}**: {capture.stat().st_size / 1e6:,.0f} MB, {ours['calls']:,} calls, {ours['streams']:,} streams, "
              f"{ours['media packets']:,} media packets\n")
        print("| program | what it does of the work | processor time | times ringtap's | memory | |")
        print("|---|---|---|---|---|---|")
        for peer, seconds, memory, ratio, remark, _ in rows:
            more = "> " if "stopped" in remark else ""
            print(f"| {peer.name} | {peer.does} | {more}{seconds:.2f} s | {more}{ratio:.1f} | {memory:,.0f} MiB | {remark} |")
        print()
    if missing:
        print(f"Not installed here: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
