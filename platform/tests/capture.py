"""A bounded capture of what telephones send and receive, and what ringtap makes of it."""

import argparse
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
MOST_KILOBYTES, MOST_SECONDS = 3_000_000, 1800


class Capture:
    """Packets at a cable, that of the telephones, in `path`, from now on. `only`: a filter as dumpcap has them."""

    def __init__(self, path, interface=f"{nodes.PHONES}-eth0", only=""):
        self.path = Path(path)
        self.log = self.path.with_suffix(".log")
        # How far `reaches` has read.
        self.read = 0
        with open(self.log, "w") as log:
            command = ["ip", "netns", "exec", nodes.PREFIX + nodes.OUTSIDE, "dumpcap", "-P", "-i", interface, "-B", "64", "-f", only,
                       "-w", str(self.path), "-a", f"filesize:{MOST_KILOBYTES}", "-a", f"duration:{MOST_SECONDS}"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        nodes.wait(lambda: "File:" in self.log.read_text() or self.process.poll() is not None, "dumpcap does not begin")
        if self.process.poll() is not None:
            raise nodes.Failure(f"dumpcap does not capture: {self.log.read_text().strip()}")

    def reaches(self, moment):
        """Whether what was sent until `moment` is in the file: packets wait in buffers. There is traffic all the time."""
        for when, _, self.read in frames(self.path, self.read):
            if when > moment:
                return True
        return False

    def stop(self):
        if self.process.poll() is None:
            # As by Ctrl-C: it writes what it has and says what it lost.
            os.kill(self.process.pid, signal.SIGINT)
        self.process.wait()

    def dropped(self):
        """Packets that this capture lost, as dumpcap counts them."""
        line = next(line for line in self.log.read_text().splitlines() if "received/dropped" in line)
        return int(line.rsplit(": ", 1)[1].split("/")[1].split()[0])


def frames(path, begin=0):
    """The frames of a capture, in order, from the byte `begin` on: of each its time in seconds, itself, and where the next begins."""
    with open(path, "rb") as file:
        header = file.read(24)
        if len(header) < 24:
            return
        fraction = {b"\xd4\xc3\xb2\xa1": 1e6, b"\x4d\x3c\xb2\xa1": 1e9}[header[:4]]
        next_one = max(begin, 24)
        file.seek(next_one)
        while len(header := file.read(16)) == 16:
            seconds, part, length, _ = struct.unpack("<IIII", header)
            frame = file.read(length)
            if len(frame) < length:
                return
            next_one += 16 + length
            yield seconds + part / fraction, frame, next_one


def packed(address):
    return bytes(map(int, address.split(".")))


def senders(path, address):
    """Of each IPv4 packet with this source, and of each ARP that says who has it, in order: its time in seconds and the MAC address that sent it."""
    wanted = packed(address)
    for when, frame, _ in frames(path):
        source = {b"\x08\x00": frame[26:30], b"\x08\x06": frame[28:32]}.get(frame[12:14])
        if source == wanted:
            yield when, frame[6:12].hex(":")


def messages(path, begins):
    """SIP messages over UDP whose first line begins with one of `begins`, in order: time in seconds, source, destination (packed), text,
    and Call-ID."""
    begins = tuple(each.encode() for each in begins)
    for when, frame, _ in frames(path):
        # IPv4 without options, UDP.
        if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[42:].startswith(begins):
            found = re.search(rb"\r\ncall-id: *([^\r]+)", frame, re.IGNORECASE)
            if found:
                yield when, frame[26:30], frame[30:34], frame[42:], found[1].decode()


def replies(path, codes):
    """Of each SIP reply with one of these codes that the platform gives, in order: its time in seconds and its Call-ID."""
    virtual = packed(VIRTUAL)
    for when, src, _, _, call in messages(path, [f"SIP/2.0 {code}" for code in codes]):
        if src == virtual:
            yield when, call


def acknowledgements(path):
    """Of each ACK that the platform gets, in order: its time in seconds and its Call-ID. One that is sent to a MAC address from which the
    platform does not send any more reaches nobody: a reply of the next owner may come before its announcement."""
    virtual, owner = packed(VIRTUAL), None
    for when, frame, _ in frames(path):
        if frame[12:14] == b"\x08\x00" and frame[26:30] == virtual:
            owner = frame[6:12]
        elif frame[:6] == owner and frame[30:34] == virtual and frame[42:46] == b"ACK ":
            found = re.search(rb"\r\ncall-id: *([^\r]+)", frame, re.IGNORECASE)
            if found:
                yield when, found[1].decode()


class Known:
    """What a PBX knew of its calls at a moment, by Call-ID, from the packets at its cable: with those who call, with telephones that are
    called, and those that ring. `instant`: calls that changed in the moment itself, of which either may be true."""

    def __init__(self, path, pbx, since, until):
        self.callers, self.callees, self.ringing, self.instant = set(), set(), set(), set()
        own = packed(pbx)
        incoming = set()
        for when, src, dst, text, call in messages(path, ["INVITE ", "SIP/2.0 ", "BYE ", "CANCEL "]):
            if when > until:
                break
            if own not in (src, dst):
                continue
            if text.startswith(b"INVITE "):
                if dst == own:
                    incoming.add(call)
                continue
            established = self.callers if call in incoming else self.callees
            before = call in established, call in self.ringing
            is_reply = text.startswith(b"SIP/2.0 ")
            if is_reply and not re.search(rb"\r\ncseq: *\d+ INVITE", text, re.IGNORECASE):
                continue
            if is_reply and text[8:9] == b"1":
                if text[8:11] == b"180" and not before[0]:
                    self.ringing.add(call)
            else:
                self.ringing.discard(call)
                (established.add if is_reply and text[8:9] == b"2" else established.discard)(call)
            if when > since and before != (call in established, call in self.ringing):
                self.instant.add(call)
        # Of a telephone that is called the other half rings, which is the one that is told.
        self.ringing &= incoming


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


def program(text):
    """The ringtap that an option names: a run takes minutes before it is asked for anything."""
    path = Path(text)
    if not os.access(path, os.X_OK) or path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is no program: `make release` makes target/release/ringtap, `cargo build -p ringtap` target/debug/ringtap")
    return path


def records(ringtap, path):
    """What `ringtap analyze` finds in a capture: calls by Call-ID, and streams."""
    done = subprocess.run([str(ringtap), "analyze", "--format", "jsonl", str(path)], stdout=subprocess.PIPE, check=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    calls = {each["call_id"]: each for each in found if each["type"] == "call"}
    return calls, [each for each in found if each["type"] == "stream"]
