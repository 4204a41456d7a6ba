#!/usr/bin/env python3
"""Figures of the RTP streams of a capture, by the definitions of the records and by nothing else.

    rtp.py CAPTURE [--port N]... [--tshark=ARGUMENT]...

A second opinion for the comparison with the reference answers: it shares no code with the engine. tshark dissects the
packets; everything that is counted is counted here.

packets     every RTP packet
unique      different extended sequence numbers (RFC 3550 A.1), summed over the runs of the numbering
lost        numbers between the lowest and the highest of a run that never came, without those that the same source spent
            on another destination
duplicates  packets - unique
reordered   packets that came after one with a higher extended number, repeats left out
jitter      RFC 3550 6.4.1 after each packet in order of arrival, at the payload type's clock. Repeats, telephone-event
            packets (RFC 4733 2.2.1: their timestamps stand still) and packets of a type without a known clock (such as the
            keep-alives of RFC 6263 4.6) take no part. A new time base (numbering that restarts, another clock, or timestamp
            and arrival that disagree by more than 3 s) is not jitter. Mean and maximum are over the packets that have a
            predecessor to be compared with.
delta_max   longest time between two packets that follow one another, repeats left out
"""

import argparse
from dataclasses import dataclass, field

from packets import Key, Packet, streams

MAX_DROPOUT = 3000  # RFC 3550 A.1
MAX_MISORDER = 100  # RFC 3550 A.1
NANOS = 10**9
NEW_TIME_BASE = 3 * NANOS
# A copy comes soon after its original; the same numbers and timestamps later on are an announcement played again.
REPEAT_LIMIT = NANOS


@dataclass
class Measured:
    """One packet with what it meant: the jitter after it, the time since the one before."""

    packet: Packet
    repeat: bool = False
    late: bool = False
    restart: bool = False
    rebased: bool = False
    missing: int = 0
    jitter: float | None = None  # ms
    delta: float | None = None  # ms


@dataclass
class Figures:
    key: Key
    packets: int = 0
    unique: int = 0
    lost: int = 0
    reordered: int = 0
    runs: int = 1
    events: int = 0
    jitter_mean: float | None = None
    jitter_max: float | None = None
    jitter_max_frame: int | None = None
    delta_max: float | None = None
    delta_max_frame: int | None = None
    measured: list = field(default_factory=list, repr=False)

    @property
    def duplicates(self):
        return self.packets - self.unique


def signed16(value):
    value &= 0xFFFF
    return value - 0x10000 if value >= 0x8000 else value


def signed32(value):
    value &= 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value


class Run:
    """Numbers that belong together, extended: each with its first copy."""

    def __init__(self, packet):
        self.highest = packet.sequence
        self.seen = {packet.sequence: packet}

    def has(self, number, packet):
        first = self.seen.get(number)
        return first and first.timestamp == packet.timestamp and packet.time - first.time <= REPEAT_LIMIT

    def distance(self, packet):
        return signed16(packet.sequence - self.highest)

    def missing(self):
        return set(range(min(self.seen), max(self.seen) + 1)) - set(self.seen)


def tells_time(packet):
    """Whether jitter can be measured by a packet: not by events, nor where nothing says what a tick is."""
    return packet.clock is not None and not packet.event


def vouched_for(before, packet, distance):
    """Clock and time agree that packets were sent between: a long outage, not a new beginning."""
    if not packet.clock or distance <= 0:
        return False
    passed = packet.time - before.time
    clock = signed32(packet.timestamp - before.timestamp) * NANOS / packet.clock
    per_packet = clock / distance
    return abs(clock - passed) < 0.1 * max(passed, NANOS) and NANOS / 1000 <= per_packet <= NANOS / 5


def place(run, before, packet, following, result):
    """Says what the number of a packet means; gives the run that it belongs to."""
    distance = run.distance(packet)
    number = run.highest + distance
    if run.has(number, packet):
        result.repeat = True
        return run
    near = -MAX_MISORDER <= distance <= MAX_DROPOUT and number not in run.seen
    confirmed = following is not None and signed16(following.sequence - packet.sequence) == 1
    if not near and not vouched_for(before, packet, distance) and confirmed:
        result.restart = True
        return Run(packet)
    if not near and not vouched_for(before, packet, distance):
        # A stray: one number of its own.
        result.restart = True
        return run
    result.late = distance < 0
    result.missing = max(0, distance - 1)
    run.seen[number] = packet
    run.highest = max(run.highest, number)
    return run


def measure(key, packets):
    """The figures of one stream on its own."""
    figures = Figures(key, packets=len(packets))
    runs = [Run(packets[0])]
    clocked = packets[0] if tells_time(packets[0]) else None
    previous = packets[0]
    jitter = 0.0
    figures.measured.append(Measured(packets[0]))
    strays = 0
    for index, packet in enumerate(packets[1:], 1):
        result = Measured(packet)
        figures.measured.append(result)
        following = packets[index + 1] if index + 1 < len(packets) else None
        run = place(runs[-1], previous, packet, following, result)
        if result.repeat:
            continue
        if result.restart and run is runs[-1]:
            strays += 1
            continue
        if run is not runs[-1]:
            runs.append(run)
        figures.reordered += result.late
        result.delta = (packet.time - previous.time) / 1e6
        previous = packet
        if not tells_time(packet):
            continue
        if clocked is not None and clocked.clock == packet.clock:
            spent = signed32(packet.timestamp - clocked.timestamp) * NANOS / packet.clock
            difference = (packet.time - clocked.time) - spent
            result.rebased = result.restart or abs(difference) > NEW_TIME_BASE
            if not result.rebased:
                jitter += (abs(difference) / 1e6 - jitter) / 16
                result.jitter = jitter
        clocked = packet
    figures.runs = len(runs)
    figures.events = sum(packet.event for packet in packets)
    figures.unique = sum(len(run.seen) for run in runs) + strays
    figures.lost = sum(len(run.missing()) for run in runs)
    summarise(figures)
    figures.numbers = runs
    return figures


def summarise(figures):
    jitters = [(each.jitter, each.packet.frame) for each in figures.measured if each.jitter is not None]
    if jitters:
        figures.jitter_mean = sum(jitter for jitter, _ in jitters) / len(jitters)
        figures.jitter_max, figures.jitter_max_frame = max(jitters)
    deltas = [(each.delta, each.packet.frame) for each in figures.measured if each.delta is not None]
    if deltas:
        figures.delta_max, figures.delta_max_frame = max(deltas)


def spent_elsewhere(figures, others):
    """Numbers missing here that the same source sent to another destination meanwhile, and only there."""
    spent = 0
    for run in figures.numbers:
        missing = {number & 0xFFFF for number in run.missing()}
        for other in others:
            sent = {number & 0xFFFF for each in other.numbers for number in each.seen}
            here = {number & 0xFFFF for number in run.seen}
            # A fork sends the same numbers to both: what is missing on one branch is lost there.
            if not sent & here:
                spent += len(missing & sent)
                missing -= sent
    return spent


def analyse(capture, ports=(), more=()):
    """Every stream of a capture with its figures, in order of their first packets."""
    found = {key: measure(key, packets) for key, packets in streams(capture, ports, more).items()}
    for key, figures in found.items():
        others = [other for other in found.values() if other.key.src == key.src and other.key.ssrc == key.ssrc]
        figures.lost -= spent_elsewhere(figures, [other for other in others if other is not figures])
    return found


def milliseconds(value):
    return "-" if value is None else f"{value:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture")
    parser.add_argument("--port", type=int, action="append", default=[], help="decode this UDP port as RTP")
    parser.add_argument("--tshark", action="append", default=[], help="a further argument for tshark")
    options = parser.parse_args()
    for key, figures in analyse(options.capture, options.port, options.tshark).items():
        print(
            f"{key}: packets {figures.packets}, unique {figures.unique}, lost {figures.lost}, "
            f"duplicates {figures.duplicates}, reordered {figures.reordered}, runs {figures.runs}, "
            f"jitter mean {milliseconds(figures.jitter_mean)} max {milliseconds(figures.jitter_max)} "
            f"(frame {figures.jitter_max_frame}), delta max {milliseconds(figures.delta_max)} "
            f"(frame {figures.delta_max_frame})"
        )


if __name__ == "__main__":
    main()
