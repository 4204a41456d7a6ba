#!/usr/bin/env python3
"""Replays 24 hours of generated calls as fast as possible: memory must stay constant, and every call must have one record.

The capture is generated once, from a seed, in target/bench (about 3 GB). Memory is the process's anonymous memory, because the
capture is mapped. Prints one line of JSON; the exit status is 77 if the disk has no room for the capture.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

DAY = 86_400


def anonymous(pid):
    """Anonymous memory in MB, or None if the process has ended."""
    try:
        found = re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[1]) * 1024 / 1e6 if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--calls", type=int, default=17_280, help="calls in the day")
    parser.add_argument("--hold", type=int, default=20, help="seconds that each lasts, on average")
    options = parser.parse_args()
    folder = pathlib.Path("target/bench")
    folder.mkdir(parents=True, exist_ok=True)
    capture = folder / f"day-{options.calls}x{options.hold}.pcap"
    truth = capture.with_suffix(".jsonl")
    if not capture.exists():
        needed = options.calls * options.hold * 100 * 100
        if shutil.disk_usage(folder).free < needed * 2:
            sys.exit(77)
        part = capture.with_suffix(".part")
        subprocess.run(
            [options.ringtap, "generate", "--calls", str(options.calls), "--rate", str(options.calls / DAY), "--hold-distribution",
             f"exponential:{options.hold}", "--codec", "G729=100", "--seed", "24", "--out", str(part), "--truth", str(truth)], check=True,
        )
        part.rename(capture)
    samples = []
    with tempfile.TemporaryFile(dir=folder) as results:
        start = time.monotonic()
        process = subprocess.Popen([options.ringtap, "analyze", "--format", "jsonl", str(capture)], stdout=results)
        while process.poll() is None:
            sample = anonymous(process.pid)
            if sample is not None:
                samples.append(sample)
            time.sleep(0.02)
        seconds = time.monotonic() - start
        if process.returncode != 0:
            sys.exit(f"ringtap analyze ended with {process.returncode}")
        results.seek(0)
        found, packets = collections.Counter(), 0
        for line in results:
            record = json.loads(line)
            if record["type"] == "call":
                found[record["call_id"]] += 1
            elif record["type"] == "stream":
                packets += record["packets"]
    wanted = collections.Counter()
    with truth.open() as lines:
        for line in lines:
            record = json.loads(line)
            if record["type"] == "call":
                wanted[record["call_id"]] += 1
    if len(samples) < 20 or not wanted or not packets:
        sys.exit(f"{len(samples)} samples of memory, {len(wanted)} calls, {packets} packets: nothing was measured")
    quarter = max(samples[: len(samples) // 4])
    most = max(samples[len(samples) // 4 :])
    missing = sum((wanted - found).values())
    twice = sum((found - wanted).values())
    # A twentieth and 2 MB: the variation of what the allocator holds.
    flat = most <= quarter * 1.05 + 2
    print(json.dumps({
        "calls": sum(wanted.values()), "missing": missing, "twice": twice, "packets": packets, "seconds": seconds,
        "anonymous_mb_quarter": quarter, "anonymous_mb_most": most, "met": flat and missing == 0 and twice == 0,
    }))


if __name__ == "__main__":
    main()
