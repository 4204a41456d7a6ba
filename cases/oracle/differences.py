#!/usr/bin/env python3
"""Writes cases/differences.md: every difference from the reference answers, with the reason why ours is right.

    differences.py ROWS > ../differences.md

ROWS is what the conformance test printed with an empty list:

    RINGTAP_DIFFERENCES=/dev/null cargo test --release -p ringtap-cases --test conformance -- --nocapture

A row enters the list only if its reason holds: figures must be the oracle's within 1 % and explained by the rules of
tshark's statistics, message counts must be the oracle's, all else must have been judged (judged.py). The other rows go to
standard error, and the exit code is 1: there ours is wrong, or nobody has looked yet.
"""

import os
import sys
from pathlib import Path

import evidence
import judged
import sip
from packets import streams
from prose import INTRODUCTION, SECTIONS
from rtp import analyse, measure
from wireshark import BACKWARD, BASE, EVENT, MARKER, NOISE, REPEAT

FIGURES = ("jitter_mean", "jitter_max", "delta_max")
REGISTER = "register"
ORDER = (
    MARKER, NOISE, EVENT, REPEAT, BASE, judged.RESTARTS, judged.ELSEWHERE, judged.LATE, judged.REFUSED, judged.FEW, judged.COPIES,
    REGISTER, judged.USERS, judged.HOSTS, judged.LENIENT,
)
HEAD = "| capture | record | field | reference | ours | why ours is right |\n|---|---|---|---|---|---|"


def shared():
    default = Path(__file__).resolve().parent.parent.parent.parent / "shared"
    return Path(os.environ.get("RINGTAP_SHARED", default)) / "captures"


def rows(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "/" in line:
            cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split(" | ")]
            yield tuple(cells[:5])


def near(ours, oracle):
    """The bar for figures: 1 %, or the rounding of microseconds."""
    return oracle is not None and abs(ours - oracle) <= 0.01 * abs(oracle) + 0.0006


class Capture:
    """What the oracle says of one capture, worked out once."""

    def __init__(self, name):
        self.path = str(shared() / name)
        self.streams = None
        self.messages = None

    def stream(self, record):
        if self.streams is None:
            found = streams(self.path)
            self.streams = {str(key): evidence.Stream(key, packets, measure(key, packets)) for key, packets in found.items()}
        return self.streams.get(record)

    def figure(self, field, record, ours):
        stream = self.stream(record)
        if stream is None or not near(float(ours), getattr(stream.figures, field)):
            return None
        explained = stream.explain(field)
        if explained is None:
            return None
        section, why = explained
        return (BASE if section == BACKWARD else section), why

    def count(self, record, reference, ours):
        """Messages of a call: without mirrored copies, without REGISTER."""
        if self.messages is None:
            self.messages = sip.messages(self.path)
        found = [message for message in self.messages if message.call_id == record]
        copies = [message for message in found if message.copy_of]
        registers = [message for message in found if message.method == "REGISTER"]
        if len(found) != int(reference):
            return None
        if copies and len(found) - len(copies) == int(ours):
            shown = [f"frame {message.frame} copies {message.copy_of}" for message in copies[: evidence.SHOWN]]
            shown += ["..."] if len(copies) > evidence.SHOWN else []
            return judged.COPIES, f"Copies: {len(copies)} of {len(found)} messages ({', '.join(shown)})."
        if registers and len(found) - len(registers) == int(ours):
            frames = evidence.some([message.frame for message in registers])
            return REGISTER, f"REGISTER and its answer: {frames}; the other {ours} messages are the call's."
        return None


def confirmed(row, capture):
    """Whether the oracle agrees with a judged row, where it has a figure."""
    if row.decoding is None:
        return True
    figures = {str(key): value for key, value in analyse(capture.path, more=row.decoding).items()}[row.record]
    own = figures.lost - figures.duplicates if row.field == "lost - duplicates" else getattr(figures, row.field)
    return str(own) == row.ours


def reason(row, capture):
    """Section and sentence of a row, or None."""
    _, record, field, reference, ours = row
    if field in FIGURES:
        return capture.figure(field, record, ours)
    known = next((each for each in judged.ROWS if (each.capture, each.record, each.field, each.reference, each.ours) == row), None)
    if known and confirmed(known, capture):
        return known.section, known.why
    if field == "messages":
        return capture.count(record, reference, ours)
    return None


def main():
    captures, sections, unexplained = {}, {name: [] for name in ORDER}, []
    for row in sorted(rows(sys.argv[1])):
        capture = captures.setdefault(row[0], Capture(row[0]))
        found = reason(row, capture)
        if found is None:
            unexplained.append(row)
        else:
            sections[found[0]].append((*row, found[1]))
    print(INTRODUCTION.strip())
    for name in ORDER:
        if not sections[name]:
            continue
        title, text = SECTIONS[name]
        print(f"\n## {title}\n\n{text.strip()}\n\n{HEAD}")
        for row in sections[name]:
            print(f"| {' | '.join(row)} |")
        print(f"{title}: {len(sections[name])} rows", file=sys.stderr)
    for row in unexplained:
        print(f"unexplained: | {' | '.join(row)} |", file=sys.stderr)
    sys.exit(bool(unexplained))


if __name__ == "__main__":
    main()
