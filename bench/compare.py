#!/usr/bin/env python3
"""Compares the time of `ringtap analyze` and `tshark -q -z rtp,streams` on one generated capture, alternately, on one core.

The figures are ratios within one run, because machines are shared and noisy. The capture is generated once, from a seed, in
target/bench. The comparison fails unless both programs find the same streams and packets.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def watch(pid, peak):
    """Records the peak of anonymous memory, in kB, until the process ends."""
    status = pathlib.Path(f"/proc/{pid}/status")
    while True:
        try:
            found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text())
        except (FileNotFoundError, ProcessLookupError):
            return
        if not found:
            return
        peak[0] = max(peak[0], int(found[1]))
        time.sleep(0.01)


def run(command, core):
    """Runs a command pinned to a core; returns wall seconds, CPU seconds, peak anonymous memory in MiB, and its output."""
    # To a file: a pipe that is not read at once would block the program.
    with tempfile.TemporaryFile() as results:
        start = time.monotonic()
        before = os.times()
        process = subprocess.Popen(["taskset", "-c", str(core), *command], stdout=results, stderr=subprocess.DEVNULL)
        watcher = threading.Thread(target=watch, args=(process.pid, peak := [0]))
        watcher.start()
        process.wait()
        wall = time.monotonic() - start
        after = os.times()
        watcher.join()
        results.seek(0)
        output = results.read()
    anonymous = peak[0]
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return wall, cpu, anonymous / 1024, output.decode(errors="replace")


def streams_of_tshark(output):
    """Streams and packets in the table of `-z rtp,streams`."""
    rows = re.findall(r"0x[0-9a-fA-F]+ .*?\s(\d+)\s+-?\d+ \(", output)
    return len(rows), sum(map(int, rows))


def streams_of_ringtap(output):
    """Streams and packets in JSON lines."""
    records = (json.loads(line) for line in output.splitlines())
    packets = [record["packets"] for record in records if record["type"] == "stream"]
    return len(packets), sum(packets)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--hold", type=int, default=20, help="seconds that each call lasts")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()

    folder = pathlib.Path("target/bench")
    folder.mkdir(parents=True, exist_ok=True)
    capture = folder / f"calls-{options.calls}x{options.hold}.pcap"
    if not capture.exists():
        part = capture.with_suffix(".part")
        subprocess.run(
            [options.ringtap, "generate", "--calls", str(options.calls), "--seed", "1", "--rate", "20",
             "--hold-distribution", f"constant:{options.hold}", "--codec", "PCMU=100", "--out", str(part)],
            check=True,
        )
        part.rename(capture)
    capture.read_bytes()  # into the page cache

    # tshark finds media by its own dissection of SIP and SDP.
    commands = {
        "tshark": ["tshark", "-n", "-q", "-r", str(capture), "-z", "rtp,streams"],
        "ringtap": [options.ringtap, "analyze", "--format", "jsonl", str(capture)],
    }
    figures = {name: [] for name in commands}
    found = {}
    for _ in range(options.runs):
        for name, command in commands.items():
            wall, cpu, anonymous, output = run(command, options.core)
            figures[name].append((wall, cpu, anonymous))
            found[name] = streams_of_tshark(output) if name == "tshark" else streams_of_ringtap(output)
    if found["tshark"] != found["ringtap"]:
        sys.exit(f"streams and packets differ: {found}")
    streams, packets = found["ringtap"]

    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{options.calls} calls, {streams} streams, {packets} RTP packets, {capture.stat().st_size / 1e6:.0f} MB; "
          f"one core of {model[1] if model else platform.machine()}, {options.runs} runs in turn, medians")
    print("| program | wall s | CPU s | M RTP packets/s | anonymous memory MiB |")
    print("|---|---|---|---|---|")
    medians = {}
    for name, rows in figures.items():
        wall, cpu, anonymous = (statistics.median(column) for column in zip(*rows))
        medians[name] = wall
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {packets / wall / 1e6:.3f} | {anonymous:.0f} |")
    ratios = [theirs[0] / ours[0] for theirs, ours in zip(figures["tshark"], figures["ringtap"])]
    print(f"ratio tshark / ringtap, wall: {statistics.median(ratios):.1f} (min {min(ratios):.1f}, max {max(ratios):.1f})")


if __name__ == "__main__":
    main()
