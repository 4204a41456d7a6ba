#!/usr/bin/env python3
"""The rules of Wireshark 4.0's RTP statistics, each by its name, so that each can be left out.

    wireshark.py CAPTURE

With all of them, a stream's figures are those of `tshark -z rtp,streams`; with none, those of `rtp.py`. What leaving one
out changes is what that rule does to a figure: the evidence for rows of differences.md.
"""

import sys
from dataclasses import dataclass
from itertools import combinations

from packets import COMFORT_NOISE, streams
from rtp import measure, tells_time

# A packet with the marker bit has no part in maxima and means: it begins a talkspurt, or ends a picture.
MARKER = "marker"
# Neither comfort noise nor the packet after it has a part in them.
NOISE = "noise"
# A packet without a clock, telephone-event above all, moves the time against which the next is measured, not the timestamp.
EVENT = "event"
# A dynamic type that the receiver's SDP does not name has no clock, whatever the sender's says.
RECEIVER = "receiver"
# Cisco's named signalling events are measured like audio where they have a clock.
SIGNAL = "signal"
# Repeats are measured like any packet.
REPEAT = "repeat"
# A timestamp before the stream's first is out of sequence: left out, and no reference for the next.
BACKWARD = "backward"
# A numbering that restarts, or a time base that does, is measured against the one before.
BASE = "base"
# The mean's weights count packets that have no part in it.
WEIGHT = "weight"
RULES = (MARKER, NOISE, EVENT, RECEIVER, SIGNAL, REPEAT, BACKWARD, BASE, WEIGHT)


@dataclass
class Tap:
    """Figures in ms; `differences` holds how far each measured packet was off, by frame."""

    jitter_mean: float = 0.0
    jitter_max: float = 0.0
    jitter_max_frame: int | None = None
    delta_max: float = 0.0
    delta_max_frame: int | None = None
    differences: dict = None


def clock_of(packet, rules):
    """The clock by which a packet is measured, or None."""
    signal = packet.name is not None and packet.name.upper() == "X-NSE"
    if packet.event and not (signal and SIGNAL in rules):
        return None
    return packet.receiver_clock if RECEIVER in rules else packet.clock


def advance(packet, base, rules):
    """Ticks since the stream's first timestamp."""
    ticks = packet.timestamp - base & 0xFFFFFFFF
    return ticks if BACKWARD in rules or ticks < 0x80000000 else ticks - 0x100000000


def tap(key, packets, rules=RULES):
    """One stream's figures by the rules given."""
    meanings = measure(key, packets).measured
    first = packets[0]
    figures = Tap(differences={})
    time, nominal, jitter, counted = first.time / 1e6, 0.0, 0.0, 0
    payload_type, base = first.payload_type, first.timestamp
    clocked = time if tells_time(first) else None
    for total, (packet, meaning) in enumerate(zip(packets[1:], meanings[1:]), 1):
        if REPEAT not in rules and meaning.repeat:
            continue
        now, clock = packet.time / 1e6, clock_of(packet, rules)
        in_order = packet.timestamp - base & 0xFFFFFFFF < 0x80000000 or BACKWARD not in rules
        out = MARKER in rules and packet.marker or not in_order
        out |= NOISE in rules and (packet.payload_type in COMFORT_NOISE or payload_type in COMFORT_NOISE)
        payload_type = packet.payload_type
        delta = now - time
        measured = False
        if in_order and clock:
            at = advance(packet, base, rules) * 1000 / clock
            against = time if EVENT in rules else clocked
            if against is not None and not (BASE not in rules and (meaning.rebased or meaning.restart)):
                difference = now - against - (at - nominal)
                figures.differences[packet.frame] = difference
                jitter += (abs(difference) - jitter) / 16
                measured = True
            nominal, clocked = at, now
        if not out and delta > figures.delta_max:
            figures.delta_max, figures.delta_max_frame = delta, packet.frame
        if not out and measured:
            if jitter > figures.jitter_max:
                figures.jitter_max, figures.jitter_max_frame = jitter, packet.frame
            counted += 1
            figures.jitter_mean += (jitter - figures.jitter_mean) / (total if WEIGHT in rules else counted)
        if in_order:
            time = now
    return figures


def near(a, b):
    """Within 0.2 %, or the rounding of figures in microseconds."""
    return abs(a - b) <= 0.002 * abs(b) + 0.0006


def rules_behind(key, packets, field, value):
    """The smallest sets of rules without which the figure is `value`; none when no set of them gives it."""
    for count in range(len(RULES) + 1):
        found = [
            left_out
            for left_out in combinations(RULES, count)
            if near(getattr(tap(key, packets, [rule for rule in RULES if rule not in left_out]), field), value)
        ]
        if found:
            return found
    return []


def main():
    for key, packets in streams(sys.argv[1]).items():
        for name, rules in (("with all rules", RULES), ("with none", ())):
            figures = tap(key, packets, rules)
            print(
                f"{key} {name}: jitter mean {figures.jitter_mean:.3f} max {figures.jitter_max:.3f} "
                f"(frame {figures.jitter_max_frame}), delta max {figures.delta_max:.3f} (frame {figures.delta_max_frame})"
            )


if __name__ == "__main__":
    main()
