"""The text of differences.md around its rows."""

from judged import COPIES, ELSEWHERE, FEW, HOSTS, LATE, LENIENT, REFUSED, RESTARTS, USERS
from wireshark import BASE, EVENT, MARKER, NOISE, REPEAT

INTRODUCTION = """
# Differences

The conformance test (`cases/tests/conformance.rs`) runs every reference capture through the engine and compares the records
with the reference answers, which are tshark's. Where the two differ, this list has a row that says why ours is right. A
difference without a row fails the test, and so does a row without its difference, or one that names no frame.

The columns: the capture; the Call-ID, or source, destination and SSRC of the stream; the field; tshark's value; ours; the
reason, with frame numbers of the capture that show it. Times are in ms, instants in us since 1970. `lost - duplicates` is
what tshark calls lost: it subtracts repeats. Jitter and the longest gap count as equal within 1 %.

Nobody writes this file by hand. `cases/oracle/` holds a second implementation of the figures, from the definitions and from
tshark's fields of each packet, with nothing shared with the engine:

| program | does |
|---|---|
| rtp.py | the stream figures as the records define them: the value called oracle below |
| wireshark.py | the rules of tshark's own statistics, each of which can be left out: all of them give tshark's figure, none of them the oracle's, and the fewest that must go are the reason |
| sip.py | the messages of each call, mirrored copies set apart |
| judged.py | what no arithmetic explains, judged by looking at the packets; it holds for the two values of its row only |
| compare.py | every stream of every capture, ringtap against the oracle, also where tshark agrees |
| differences.py | writes this file; a row enters only if the oracle agrees with ours |

To write it again:

```
RINGTAP_DIFFERENCES=/dev/null cargo test --release -p ringtap-cases --test conformance -- --nocapture > rows.txt
cases/oracle/differences.py rows.txt > cases/differences.md
```

Rows that nothing explains are printed and left out: there ours is wrong, or the capture has to be looked at.
"""

SECTIONS = {
    MARKER: (
        "Packets with the marker bit",
        """
The definitions count every packet. tshark measures packets with the marker bit but leaves them out of its maxima and means:
the first packet after a pause, whose gap is the longest and whose delay shows a sender's or a jitter buffer's start, and in
video the last packet of each picture, which may be every packet there is. Its longest gap is then the longest within a
talkspurt, down to 0.000 where all packets are marked.
""",
    ),
    NOISE: (
        "Comfort noise",
        """
Comfort noise (RFC 3389; types 13 and 19) runs on the clock and in the numbering of its stream: its packets have gaps and
jitter like any other. tshark leaves them and the packet after them out of its maxima and means. With voice activity
detection most rows of this section need the marker bit's rule as well: the talkspurt after the noise begins with it.
""",
    ),
    EVENT: (
        "Telephone-events as the reference of jitter",
        """
The timestamp of a telephone-event stands still while it lasts (RFC 4733 section 2.2.1): its packets say nothing of jitter.
tshark does not measure them, but takes their arrival as the time against which the next audio packet is measured, with the
timestamp of the audio packet before the event: that packet then seems early or late by the length of the event, and the
figure needs dozens of packets to decay. Ours compares audio with audio. The same goes for Cisco's named signalling events
(X-NSE), which have the form of telephone-events, and for any packet of a type without a clock.
""",
    ),
    REPEAT: (
        "Repeats in jitter and gaps",
        """
Repeats, the mirror's or the network's, take no part in jitter and gaps: these are those of the first copies. tshark
measures a repeat like any packet: its timestamp does not advance, or goes back, so it seems early or late by as much, and
packets that arrive three times have two gaps of nearly nothing for each true one. In the VoLTE captures each packet is seen
three times: in GTP-U on two hops, and bare.
""",
    ),
    BASE: (
        "New time bases",
        """
When numbering restarts, or when the timestamp and the time that passed disagree by more than 3 s, the sender has begun a
new time base, and the distance between it and the old one is not jitter. tshark measures across it, or, where the new
timestamps lie before the stream's first, leaves all later packets out.
""",
    ),
    RESTARTS: (
        "Numbering that restarts",
        """
A restart of the numbering begins a new run, and each call has its own streams. tshark knows one stream to each source,
destination and SSRC, whatever calls it served, and expects as many packets as there are numbers between its lowest and its
highest.
""",
    ),
    ELSEWHERE: (
        "Numbers spent elsewhere",
        """
Numbers that the same source sent to another destination are not lost, nor those that passed while the call had turned to
T.38, nor, in a stream of which only the telephone-events were captured, those of the voice between them. The oracle knows the
first of these three; the rows of the others were judged from the packets.
""",
    ),
    LATE: (
        "A late first packet",
        """
The lowest number counts, whenever it came. tshark counts from the number of the first packet to arrive.
""",
    ),
    REFUSED: (
        "RTP that tshark takes for something else",
        """
tshark decides packet by packet what is RTP: its heuristic refuses single packets in the middle of a stream, and its T.38
dissector takes over an endpoint for which T.38 was offered, even if that was refused. With the decoding said explicitly, it
counts what we count, and so does the oracle.
""",
    ),
    FEW: (
        "Streams of one to four packets",
        """
Without signalling, a stream is believed when five of its packets have followed their predecessors in number, with timestamps
that do not contradict. tshark's heuristic believes each single packet whose first bytes could be RTP's. Packets that nothing
confirms are counted (`rtp_unconfirmed`), but are no stream.
""",
    ),
    COPIES: (
        "Mirrored copies of messages",
        """
The same message again within 10 ms, with the same addresses, ports and bytes, is taken for a copy made by the mirror port
and not counted. tshark counts it.
""",
    ),
    "register": (
        "REGISTER under a call's Call-ID",
        """
The senders of these captures use one Call-ID for a registration and for the call after it. The registration is a record of
its own; its messages are not the call's.
""",
    ),
    USERS: (
        "Users that tshark does not show",
        """
tshark 4.0 shows no user of a tel: URI (RFC 3966), which is its number, and no user of a single character.
""",
    ),
    HOSTS: (
        "IPv6 hosts without brackets",
        """
RFC 3261 section 25.1 wants an IPv6 address in brackets. This sender left them out; the whole address is its host, and ours
puts the brackets on. tshark ends the host at the first colon.
""",
    ),
    LENIENT: (
        "Messages that tshark cannot read",
        """
One bad line end does not lose a message (RFC 3261 section 7.5 lets empty lines come before a message; RFC 4475 asks for no
less tolerance).
""",
    ),
}
