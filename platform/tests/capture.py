"""A bounded capture of what telephones send and receive, and what ringtap makes of it."""

import json
import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import nodes

VIRTUAL = "10.77.1.100"
# No run needs as much; a capture that is not ended ends itself.
MOST_KILOBYTES, MOST_SECONDS = 500_000, 1800


class Capture:
    """Packets at the telephones' cable, in `path`, from now on; `only` those that a filter of tcpdump lets in."""

    def __init__(self, path, interface=f"{nodes.PHONES}-eth0", only=""):
        self.path = Path(path)
        self.log = self.path.with_suffix(".log")
        with open(self.log, "w") as log:
            command = ["ip", "netns", "exec", nodes.PREFIX + nodes.OUTSIDE, "dumpcap", "-P", "-i", interface, "-B", "64",
                       "-w", str(self.path), "-a", f"filesize:{MOST_KILOBYTES}", "-a", f"duration:{MOST_SECONDS}",
                       *(["-f", only] if only else [])]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        nodes.wait(lambda: "File:" in self.log.read_text() or self.process.poll() is not None, "dumpcap does not begin")
        if self.process.poll() is not None:
            raise nodes.Failure(f"dumpcap does not capture: {self.log.read_text().strip()}")

    def reaches(self, moment):
        """Whether what was sent until `moment` is in the file: packets wait in buffers. There is traffic all the time."""
        return any(when > moment for when, _ in senders(self.path, VIRTUAL))

    def stop(self):
        if self.process.poll() is None:
            # As by Ctrl-C: it writes what it has and says what it lost.
            os.kill(self.process.pid, signal.SIGINT)
        self.process.wait()

    def dropped(self):
        """Packets that this capture lost, as dumpcap counts them."""
        line = next(line for line in self.log.read_text().splitlines() if "received/dropped" in line)
        return int(line.rsplit(": ", 1)[1].split("/")[1].split()[0])


def frames(path):
    """The frames of a capture, in order, each with its time in seconds."""
    with open(path, "rb") as file:
        magic = file.read(24)[:4]
        fraction = {b"\xd4\xc3\xb2\xa1": 1e6, b"\x4d\x3c\xb2\xa1": 1e9}[magic]
        while len(header := file.read(16)) == 16:
            seconds, part, length, _ = struct.unpack("<IIII", header)
            frame = file.read(length)
            if len(frame) < length:
                return
            yield seconds + part / fraction, frame


def senders(path, address):
    """Of each IPv4 packet with this source, in order: its time in seconds and the MAC address that sent it."""
    wanted = bytes(map(int, address.split(".")))
    for when, frame in frames(path):
        if frame[12:14] == b"\x08\x00" and frame[26:30] == wanted:
            yield when, frame[6:12].hex(":")


def replies(path, address, codes):
    """Of each SIP reply with one of these codes that `address` gets, in order: its time in seconds and its Call-ID."""
    wanted, starts = bytes(map(int, address.split("."))), tuple(f"SIP/2.0 {code}".encode() for code in codes)
    for when, frame in frames(path):
        # IPv4 without options, UDP.
        if frame[12:14] == b"\x08\x00" and frame[30:34] == wanted and frame[42:].startswith(starts):
            found = re.search(rb"\r\ncall-id: *([^\r]+)", frame, re.IGNORECASE)
            if found:
                yield when, found[1].decode()


def acknowledgements(path, address):
    """Of each ACK that `address` sends, in order: its time in seconds and its Call-ID."""
    wanted = bytes(map(int, address.split(".")))
    for when, frame in frames(path):
        if frame[12:14] == b"\x08\x00" and frame[26:30] == wanted and frame[42:].startswith(b"ACK "):
            found = re.search(rb"\r\ncall-id: *([^\r]+)", frame, re.IGNORECASE)
            if found:
                yield when, found[1].decode()


def late_packets(path, address):
    """How many packets a former owner of the address sent after the first of the next owner."""
    current, former, late = None, set(), 0
    for _, mac in senders(path, address):
        if mac in former:
            late += 1
        elif mac != current:
            former |= {current}
            current = mac
    return late


def records(ringtap, path):
    """What `ringtap analyze` finds in a capture: calls by Call-ID, and streams."""
    done = subprocess.run([str(ringtap), "analyze", "--format", "jsonl", str(path)], stdout=subprocess.PIPE, check=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    calls = {each["call_id"]: each for each in found if each["type"] == "call"}
    return calls, [each for each in found if each["type"] == "stream"]
