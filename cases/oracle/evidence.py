"""Why a figure of a stream differs from tshark's, in a sentence with frame numbers.

The rules of Wireshark's statistics are left out until the figure is the definition's (`wireshark.rules_behind`); each rule
that had to go gives its clause, from the packets on which it bears.
"""

from packets import COMFORT_NOISE
from rtp import tells_time
from wireshark import (
    BACKWARD, BASE, EVENT, MARKER, NOISE, RECEIVER, REPEAT, RULES, SIGNAL, WEIGHT, rules_behind, tap,
)

# The section of a row is that of the first of these that had to go.
SECTIONS = (EVENT, REPEAT, BASE, BACKWARD, NOISE, MARKER)
SHOWN = 3


def some(frames):
    """`frames 3, 7, 9, ...`"""
    text = ", ".join(str(frame) for frame in frames[:SHOWN]) + (", ..." if len(frames) > SHOWN else "")
    return f"frame{'s' if len(frames) > 1 else ''} {text}"


def share(some_packets, packets):
    """`1 of 9 packets has`, `2 of 9 packets have`"""
    return f"{len(some_packets)} of {len(packets)} packets {'has' if len(some_packets) == 1 else 'have'}"


class Stream:
    """One stream under the eyes of the oracle, and of tshark's rules."""

    def __init__(self, key, packets, figures):
        self.key, self.packets, self.figures = key, packets, figures
        self.by_frame = {each.packet.frame: each for each in figures.measured}
        firsts = [each.packet for each in figures.measured if not each.repeat]
        self.before = {packet.frame: earlier for earlier, packet in zip(firsts, firsts[1:])}

    def explain(self, field):
        """Section and sentence for a figure, or None when the rules do not explain it."""
        oracle = getattr(self.figures, field)
        if oracle is None:
            return None
        candidates = [
            (SECTIONS.index(section), behind)
            for behind in rules_behind(self.key, self.packets, field, oracle)
            if (section := next((rule for rule in SECTIONS if rule in behind), None))
        ]
        if not candidates:
            return None
        rank, behind = min(candidates)
        section = SECTIONS[rank]
        clauses = [self.clause(rule, field, behind) for rule in RULES if rule in behind]
        return section, " ".join([clause for clause in clauses if clause] + [f"Oracle: {oracle:.3f}."])

    def peak(self, field):
        """The packet at which a maximum is reached, where the figure is one."""
        frame = getattr(self.figures, f"{field}_frame", None)
        return self.by_frame[frame].packet if frame is not None else None

    def clause(self, rule, field, behind):
        clauses = {
            MARKER: self.marker, NOISE: self.noise, EVENT: self.event, REPEAT: self.repeat, BASE: self.base,
            BACKWARD: self.backward,
        }
        if rule == WEIGHT:
            return "tshark divides the sum of what it measured by all packets." if field == "jitter_mean" else ""
        if rule == SIGNAL:
            return "Those packets have a clock in tshark and are measured themselves, though their timestamps stand still."
        if rule == RECEIVER:
            return "The receiver's SDP does not name the type; the sender's does."
        return clauses[rule](field, behind)

    def gap(self, packet):
        delta = self.by_frame[packet.frame].delta
        return f"comes {delta:.3f} ms after frame {self.before[packet.frame].frame}"

    def marker(self, field, behind):
        peak = self.peak(field)
        before = self.before.get(peak.frame) if peak else None
        if NOISE in behind and before and before.payload_type in COMFORT_NOISE:
            return ""  # the clause on comfort noise says both
        if peak and peak.marker:
            has = f"Frame {peak.frame} has the marker bit"
            return f"{has} and {self.gap(peak)}." if field == "delta_max" else f"{has} and the highest jitter."
        marked = [packet.frame for packet in self.packets[1:] if packet.marker]
        return f"{share(marked, self.packets)} the marker bit ({some(marked)})."

    def noise(self, field, behind):
        peak = self.peak(field)
        before = self.before.get(peak.frame) if peak else None
        what = None
        if peak and peak.payload_type in COMFORT_NOISE:
            what = f"Frame {peak.frame} is comfort noise (type {peak.payload_type})"
        elif before and before.payload_type in COMFORT_NOISE:
            marked = "has the marker bit, " if peak.marker and MARKER in behind else ""
            what = f"Frame {peak.frame} {marked}follows comfort noise (frame {before.frame})"
        if what:
            return f"{what} and {self.gap(peak)}." if field == "delta_max" else f"{what} and has the highest jitter."
        noise = [packet.frame for packet in self.packets if packet.payload_type in COMFORT_NOISE]
        return f"Comfort noise: {len(noise)} of {len(self.packets)} packets ({some(noise)})."

    def event(self, field, behind):
        """The packet after events, or others that tell no time, whose difference tshark gets most wrong."""
        theirs = tap(self.key, self.packets).differences
        own = tap(self.key, self.packets, [rule for rule in RULES if rule not in behind]).differences
        after = [
            packet.frame
            for earlier, packet in zip(self.packets, self.packets[1:])
            if tells_time(packet) and not tells_time(earlier) and packet.frame in theirs
        ]
        frame = max(after, key=lambda frame: abs(abs(theirs[frame]) - abs(own.get(frame, 0.0))))
        index = next(i for i, packet in enumerate(self.packets) if packet.frame == frame)
        events = []
        while index > 0 and not tells_time(self.packets[index - 1]):
            index -= 1
            events.insert(0, self.packets[index])
        first, last = events[0], events[-1]
        span = f"Frames {first.frame}-{last.frame} are" if len(events) > 1 else f"Frame {first.frame} is"
        if not first.event:
            what = f"of type {first.payload_type}, which has no clock"
        elif first.name:
            what = f"{first.name} (type {first.payload_type})"
        else:
            what = f"of type {first.payload_type}, four bytes, which nothing names but which is an event's"
        measured = f"against the audio before: {abs(own[frame]):.3f} ms" if frame in own else "no audio is before it"
        return f"{span} {what}; frame {frame} after that is {abs(theirs[frame]):.3f} ms off to tshark; {measured}."

    def repeat(self, field, behind):
        numbers = {}
        repeats = []
        for each in self.figures.measured:
            if each.repeat:
                repeats.append((each.packet, numbers[each.packet.sequence]))
            else:
                numbers[each.packet.sequence] = each.packet
        packet, original = repeats[0]
        text = (
            f"Repeats: {len(repeats)} of {len(self.packets)} packets (frame {packet.frame} is frame {original.frame} "
            f"again, number {packet.sequence})."
        )
        peak = self.peak(field)
        return f"{text} Frame {peak.frame} {self.gap(peak)}." if field == "delta_max" and MARKER not in behind else text

    def base(self, field, behind):
        changes = [each for each in self.figures.measured if each.rebased]
        texts = []
        for each in changes[:SHOWN]:
            packet = each.packet
            before = self.before[packet.frame]
            if each.restart:
                texts.append(f"at frame {packet.frame} numbers begin again at {packet.sequence} after {before.sequence}")
            else:
                texts.append(
                    f"at frame {packet.frame}, {each.delta:.3f} ms after frame {before.frame}, the timestamp goes from "
                    f"{before.timestamp} to {packet.timestamp}"
                )
        return f"A new time base: {'; '.join(texts)}."

    def backward(self, field, behind):
        base = self.packets[0].timestamp
        frames = [packet.frame for packet in self.packets if packet.timestamp - base & 0xFFFFFFFF >= 0x80000000]
        verb = "has a timestamp" if len(frames) == 1 else "have timestamps"
        text = f"{some(frames).capitalize()} {verb} before the stream's first, {base}, and tshark leaves them out."
        peak = self.peak(field)
        return f"{text} Frame {peak.frame} {self.gap(peak)}." if field == "delta_max" and MARKER not in behind else text
