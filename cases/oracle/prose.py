"""The text of differences.md around its rows."""

from judged import COPIES, ELSEWHERE, FEW, HOSTS, LATE, LENIENT, REFUSED, RESTARTS, USERS
from wireshark import BASE, EVENT, MARKER, NOISE, REPEAT

INTRODUCTION = """
# Differences

The conformance test (`cases/tests/conformance.rs`) runs every reference capture through the engine and compares the records
with tshark's. For each difference, this page has a row that says why ours is right. The test fails for a difference without a
row, for a row without a difference, and for a row that names no frame.

The columns: the capture; the Call-ID, or source, destination and SSRC of the stream; the field; tshark's value; ours; the
reason, with the numbers of frames that show it. Durations are in ms, times in us since 1970. `lost - duplicates` is what
tshark calls lost: it subtracts duplicates. Jitter and the longest gap count as equal within 1 %.

This file is generated. `cases/oracle/` is a second implementation of the figures, written from the definitions. It uses
tshark's fields of each packet and shares no code with the engine:

| program | does |
|---|---|
| rtp.py | calculates the stream figures as the records define them: the oracle's values below |
| wireshark.py | implements the rules of tshark's statistics, each of which can be switched off. With all rules it gives tshark's figure, without any the oracle's; the smallest set of rules to switch off is the reason |
| sip.py | lists the messages of each call, and separates mirrored copies |
| judged.py | holds differences that no rule explains, judged by inspecting the packets; each entry is valid only for the two values of its row |
| compare.py | compares ringtap with the oracle for every stream of every capture, also where tshark agrees |
| differences.py | writes this file; it adds a row only if the oracle agrees with ours |

To generate it again:

```
RINGTAP_DIFFERENCES=/dev/null cargo test --release -p ringtap-cases --test conformance -- --nocapture > rows.txt
cases/oracle/differences.py rows.txt > cases/differences.md
```

Differences without an explanation are printed and not added: either ours is wrong, or the capture must be inspected.
"""

SECTIONS = {
    MARKER: (
        "Packets with the marker bit",
        """
By definition, every packet counts. tshark measures packets with the marker bit but excludes them from its maxima and means.
In audio this is the first packet after a pause, which has the longest gap and shows the delay of a starting sender or jitter
buffer; in video it is the last packet of each picture, which may be every packet. tshark's longest gap is then the longest one
within a talkspurt, and 0.000 if all packets are marked.
""",
    ),
    NOISE: (
        "Comfort noise",
        """
Comfort noise (RFC 3389; types 13 and 19) uses the clock and the sequence numbers of its stream, so its packets have gaps and
jitter like any other. tshark excludes them and the packet after them from its maxima and means. Most rows of this section also
need the rule of the marker bit: with voice activity detection, it marks the first packet of the talkspurt after the noise.
""",
    ),
    EVENT: (
        "Telephone-events as the reference of jitter",
        """
The timestamp of a telephone-event does not advance during the event (RFC 4733 section 2.2.1), so its packets say nothing about
jitter. tshark does not measure them, but measures the next audio packet against their arrival time and against the timestamp of
the audio packet before the event. That packet then seems early or late by the length of the event, and the figure needs dozens
of packets to decay. Ours compares audio with audio. The same applies to Cisco's named signalling events (X-NSE), which have the
form of telephone-events, and to packets of a type without a clock.
""",
    ),
    REPEAT: (
        "Repeats in jitter and gaps",
        """
Duplicates, whether made by the mirror or by the network, are excluded from jitter and gaps: only the first copies count. tshark
measures a duplicate like any packet. Its timestamp does not advance, or goes back, so it seems early or late by as much, and
packets that arrive three times have two gaps of almost zero for each true one. In the VoLTE captures each packet appears three
times: in GTP-U on two hops, and without a tunnel.
""",
    ),
    BASE: (
        "New time bases",
        """
If the numbering restarts, or if the timestamp and the elapsed time differ by more than 3 s, the sender has started a new time
base, and its distance from the old one is not jitter. tshark measures across the change, or, if the new timestamps are before
the stream's first, excludes all later packets.
""",
    ),
    RESTARTS: (
        "Numbering that restarts",
        """
A restart of the numbering begins a new run, and each call has its own streams. tshark has one stream for each source,
destination and SSRC, whatever calls it belongs to, and expects as many packets as there are numbers between its lowest and its
highest one.
""",
    ),
    ELSEWHERE: (
        "Numbers spent elsewhere",
        """
Three kinds of missing numbers are not lost: numbers that the same source sent to another destination, numbers used while the
call had switched to T.38, and, if only the telephone-events of a stream were captured, the numbers of the voice between them.
The oracle implements the first kind; the rows of the others were judged by inspecting the packets.
""",
    ),
    LATE: (
        "A late first packet",
        """
A stream starts at its lowest number, whenever that arrived. tshark counts from the number of the first packet to arrive.
""",
    ),
    REFUSED: (
        "RTP that tshark takes for something else",
        """
tshark decides for each packet whether it is RTP: its heuristic rejects single packets in the middle of a stream, and its T.38
dissector takes over an endpoint for which T.38 was offered, even if the offer was refused. With an explicit decoding
(`-d ...,rtp`) it counts the same packets as ringtap and the oracle.
""",
    ),
    FEW: (
        "Streams of one to four packets",
        """
Without signalling, a stream is confirmed when five of its packets have followed their predecessors in number, with consistent
timestamps. tshark's heuristic accepts every single packet whose first bytes could be RTP. Packets of streams that are never
confirmed are counted (`rtp_unconfirmed`) but have no record.
""",
    ),
    COPIES: (
        "Mirrored copies of messages",
        """
A message that is repeated within 10 ms, with the same addresses, ports and bytes, is treated as a copy made by the mirror port
and not counted. tshark counts it.
""",
    ),
    "register": (
        "REGISTER under a call's Call-ID",
        """
The senders of these captures use one Call-ID for a registration and for the call after it. The registration has a record of
its own, and its messages do not count for the call.
""",
    ),
    USERS: (
        "Users that tshark does not show",
        """
tshark 4.0 shows no user for a tel: URI (RFC 3966), whose user is the number, and none if the user is a single character.
""",
    ),
    HOSTS: (
        "IPv6 hosts without brackets",
        """
RFC 3261 section 25.1 requires brackets around an IPv6 address. This sender omitted them. Ours takes the whole address as the
host and adds the brackets; tshark ends the host at the first colon.
""",
    ),
    LENIENT: (
        "Messages that tshark cannot read",
        """
A single bad line end must not lose a message (RFC 3261 section 7.5 allows empty lines before a message, and RFC 4475 expects
as much tolerance).
""",
    ),
}
