#!/usr/bin/env python3
"""Every RTP stream of the captures, as ringtap measures it and as `rtp.py` does; prints where they disagree.

    compare.py RINGTAP CAPTURE...

RINGTAP is the program. Counts must be equal; jitter and the longest gap within 1 %. Streams with fewer than 6 packets are
left alone: whether they are streams at all is not a question of figures.
"""

import json
import subprocess
import sys
from collections import defaultdict

from rtp import analyse, measure

FEWEST = 6


def ringtap(program, capture):
    """Our stream records by (source, destination, SSRC)."""
    command = [program, "analyze", "--format", "jsonl", capture]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout.decode()
    found = defaultdict(list)
    for line in output.splitlines():
        record = json.loads(line)
        if record["type"] == "stream":
            found[f"{record['src']} > {record['dst']} 0x{record['ssrc']:08x}"].append(record)
    return found


def near(a, b):
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 0.01 * max(abs(a), abs(b)) + 0.0006


def disagreements(ours, figures):
    """Names of figures with both values, the oracle's first."""
    for name in ("packets", "unique", "lost", "duplicates", "reordered"):
        expected, own = getattr(figures, name), sum(record[name] for record in ours)
        if expected != own:
            yield name, expected, own
    for record in ours:
        part = figures if len(ours) == 1 else span(figures, record)
        pairs = (("jitter_mean", "jitter_ms_mean"), ("jitter_max", "jitter_ms_max"), ("delta_max", "delta_ms_max"))
        for name, field in pairs:
            expected, own = getattr(part, name), record[field]
            if not near(expected, own):
                yield name, expected, own


def span(figures, record):
    """The oracle's figures over the time of one record, where several calls share a source, a destination and an SSRC."""
    packets = [each.packet for each in figures.measured]
    return measure(figures.key, [each for each in packets if record["first_us"] <= each.time // 1000 <= record["last_us"]])


def main():
    program, *captures = sys.argv[1:]
    compared = agreed = 0
    for capture in captures:
        own = ringtap(program, capture)
        found = {str(key): figures for key, figures in analyse(capture).items()}
        for key, figures in found.items():
            if figures.packets < FEWEST:
                continue
            compared += 1
            if key not in own:
                print(f"{capture}: {key}: absent, {figures.packets} packets by the oracle")
                continue
            differing = list(disagreements(own[key], figures))
            agreed += not differing
            for name, expected, measured in differing:
                print(f"{capture}: {key}: {name} {expected} by the oracle, {measured} by ringtap")
        for key in own.keys() - found.keys():
            packets = sum(record["packets"] for record in own[key])
            print(f"{capture}: {key}: {packets} packets by ringtap, absent by the oracle")
    print(f"{compared} streams compared, {agreed} agree in every figure")


if __name__ == "__main__":
    main()
