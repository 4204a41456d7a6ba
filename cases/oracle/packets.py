"""RTP packets of a capture, field by field as tshark dissects them, and what its SDP says of payload types.

Nothing here measures: `rtp.py` does, by the definitions, and `wireshark.py`, by the rules of Wireshark's RTP statistics.
"""

import subprocess
from collections import defaultdict
from dataclasses import dataclass
from xml.etree import ElementTree

# SDP first, then the RTP heuristics on whatever nothing named, within TURN as well; ESP without encryption is read.
ARGUMENTS = [
    "-n", "-o", "udp.try_heuristic_first:FALSE", "--enable-heuristic", "rtp_udp", "--enable-heuristic", "rtp_stun",
    "-o", "esp.enable_null_encryption_decode_heuristic:TRUE",
]

# RFC 3551 section 6, tables 4 and 5; G.722 is 8000 by section 4.5.2.
STATIC_CLOCKS = {
    0: 8000, 2: 8000, 3: 8000, 4: 8000, 5: 8000, 6: 16000, 7: 8000, 8: 8000, 9: 8000, 10: 44100, 11: 44100, 12: 8000,
    13: 8000, 14: 90000, 15: 8000, 16: 11025, 17: 22050, 18: 8000, 19: 8000, 25: 90000, 26: 90000, 28: 90000,
    31: 90000, 32: 90000, 33: 90000, 34: 90000,
}
COMFORT_NOISE = (13, 19)
# RFC 4733, and Cisco's named signalling events, which have its form: their timestamps stand still.
EVENTS = ("telephone-event", "tone", "x-nse")
# RFC 4733 section 2.3: four bytes, and no codec's packets are all that short.
EVENT_BYTES = 4


@dataclass(frozen=True)
class Key:
    """One SSRC from one endpoint to another."""

    src: str
    dst: str
    ssrc: int

    def __str__(self):
        return f"{self.src} > {self.dst} 0x{self.ssrc:08x}"


@dataclass
class Packet:
    """`clock` is None where nothing says what the payload type is; `event` marks telephone-event and its like.
    `receiver_clock` is what the receiver's own SDP says, where it is known: Wireshark then looks no further.
    """

    frame: int
    time: int  # ns since 1970
    sequence: int
    timestamp: int
    payload_type: int
    marker: bool
    payload_bytes: int
    name: str | None = None
    clock: int | None = None
    event: bool = False
    receiver_clock: int | None = None


@dataclass
class Announcement:
    """A media section of SDP: where it wants media, and its rtpmap lines."""

    endpoint: str
    types: dict  # payload type -> (name, clock)


def fields(capture, display_filter, names, arguments=ARGUMENTS):
    """Rows of fields, each field a list of its occurrences in the frame."""
    command = ["tshark", *arguments, "-r", capture, "-Y", display_filter, "-T", "fields"]
    command += ["-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=;"]
    for name in names:
        command += ["-e", name]
    # tshark ends with 2 when a capture is cut short in its last record, after all rows.
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    for line in output.decode("utf-8", "replace").splitlines():
        yield [cell.split(";") if cell else [] for cell in line.split("\t")]


def endpoint(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def nanos(text):
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


FIELDS = [
    "frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "tcp.srcport",
    "udp.dstport", "tcp.dstport", "rtp.ssrc", "rtp.seq", "rtp.timestamp", "rtp.p_type", "rtp.marker", "rtp.payload",
    "frame.protocols",
]


def innermost(v4, v6, protocols):
    """The address of the innermost IP header: tunnels show one for each layer."""
    layers = [layer for layer in protocols.split(":") if layer in ("ip", "ipv6")]
    return v6[-1] if layers and layers[-1] == "ipv6" else v4[-1]


def streams(capture, ports=(), more=()):
    """The RTP packets by stream, in order of arrival. RTP quoted in ICMP errors is not traffic.

    `ports` are decoded as RTP where tshark recognises none; `more` are further arguments for tshark.
    """
    arguments = [*ARGUMENTS, *more]
    for port in ports:
        arguments += ["-d", f"udp.port=={port},rtp"]
    found = defaultdict(list)
    display_filter = "rtp && rtp.version == 2 && !icmp && !icmpv6"
    for row in fields(capture, display_filter, FIELDS, arguments):
        frame, time, src4, src6, dst4, dst6, udp_src, tcp_src, udp_dst, tcp_dst = row[:10]
        ssrcs, sequences, timestamps, types, markers, payloads, protocols = row[10:]
        src = endpoint(innermost(src4, src6, protocols[0]), (udp_src or tcp_src)[-1])
        dst = endpoint(innermost(dst4, dst6, protocols[0]), (udp_dst or tcp_dst)[-1])
        for index, ssrc in enumerate(ssrcs):
            if index >= min(len(sequences), len(timestamps), len(types), len(markers)):
                break
            payload = payloads[index] if index < len(payloads) else ""
            packet = Packet(
                frame=int(frame[0]),
                time=nanos(time[0]),
                sequence=int(sequences[index]),
                timestamp=int(timestamps[index]),
                payload_type=int(types[index]),
                marker=markers[index] in ("1", "True"),
                payload_bytes=len(payload) // 2,
            )
            found[Key(src, dst, int(ssrc, 16))].append(packet)
    if found:
        name_types(found, announcements(capture, arguments))
    return dict(found)


def announcements(capture, arguments):
    """Every media section of every SDP body: where it wants media, and what its numbers mean there."""
    command = ["tshark", *arguments, "-r", capture, "-Y", "sdp", "-T", "pdml"]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        try:
            for _, element in ElementTree.iterparse(tshark.stdout):
                if element.tag == "proto" and element.get("name") == "sdp":
                    found += sections(element)
                if element.tag == "packet":
                    element.clear()
        except ElementTree.ParseError:
            # A capture cut short ends its listing without the closing tag.
            pass
    return found


def sections(body):
    """The media sections of one SDP body, whose fields PDML keeps in order."""
    address, found = "", []
    for line in body.iter("field"):
        name, text = line.get("name"), line.get("show", "")
        if name == "sdp.connection_info":
            host = text.split()[-1].partition("/")[0]
            if found:
                # A section's own address comes before the session's.
                found[-1].endpoint = endpoint(host, found[-1].endpoint.rpartition(":")[2])
            else:
                address = host
        elif name == "sdp.media":
            port = text.split()[1].partition("/")[0]
            found.append(Announcement(endpoint(address, port), {}))
        elif name == "sdp.media_attr" and found and text.startswith("rtpmap:"):
            number, _, encoding = text.removeprefix("rtpmap:").strip().partition(" ")
            encoding, rate, *_ = [*encoding.strip().split("/"), ""]
            if number.isdigit() and rate.isdigit():
                found[-1].types[int(number)] = (encoding, int(rate))
    return found


def name_types(found, announced):
    """Gives each packet its clock: from the SDP of the receiver, else of the sender, else of any, else RFC 3551."""
    for key, packets in found.items():
        of = {end: [each.types for each in announced if end in (None, each.endpoint)] for end in (None, key.src, key.dst)}
        known = merged(of[None] + of[key.src] + of[key.dst])
        receiver = merged(of[key.dst]) if of[key.dst] else known
        lengths = defaultdict(set)
        for packet in packets:
            lengths[packet.payload_type].add(packet.payload_bytes)
        for packet in packets:
            unnamed = (None, STATIC_CLOCKS.get(packet.payload_type))
            packet.name, packet.clock = known.get(packet.payload_type, unnamed)
            _, packet.receiver_clock = receiver.get(packet.payload_type, unnamed)
            short = packet.payload_type >= 96 and lengths[packet.payload_type] == {EVENT_BYTES}
            packet.event = packet.name.lower() in EVENTS if packet.name else short


def merged(maps):
    """Later maps over earlier ones."""
    return {number: meaning for types in maps for number, meaning in types.items()}
