"""Differences that no arithmetic explains: each was judged by looking at the packets in tshark.

A row holds for the two values that it names and for no others: when either changes, it must be judged again. `decoding` are
tshark arguments with which the oracle sees what tshark by itself does not; `None` says that the oracle has no figure.
"""

from dataclasses import dataclass

FEW, RESTARTS, ELSEWHERE, REFUSED, LATE, COPIES, USERS, HOSTS, LENIENT = (
    "few", "restarts", "elsewhere", "refused", "late", "copies", "users", "hosts", "lenient",
)


@dataclass(frozen=True)
class Judged:
    section: str
    capture: str
    record: str
    field: str
    reference: str
    ours: str
    why: str
    decoding: tuple | None = None


GAME = "carries SSRC 0, number 0 and timestamp 0, and nothing follows it: a datagram of a game, not a stream"
MEET = "webrtc-srtp/ndpi-stun_google_meet.pcapng"
MEET_V4 = "142.250.82.76:19305 > 192.168.12.156:38152 0x00000000"
MEET_V6 = "[2001:4860:4864:6::81]:19305 > [2001:b07:a3d:c112:48a1:1094:1227:281e]:45572 0x00000000"
FAX = "fax/ndpi-FAX-Call-t38-CA-TDM-SIP-FB-1.pcap"
SIPZAMINE = "sip-nasty/sipzamine-sip-invites-with-utf8-and-latin1.pcap"
SIPZAMINE_STREAM = "127.0.1.1:6000 > 127.0.1.254:6000 0xca110000"
FIVE_CALLS = "five calls (INVITEs in frames 1, 207, 411, 616, 821) send the numbers 0-149 each (from frames 6, 211, 415, 620, 825)"
DIGIUM = "sip-ipv6-frag/digium-digium.pcap"
DIGIUM_CALL = "2e48d1153c4ad9145ace323d4fb6eb55@172.16.8.103"
DOUBLED = "has a second carriage return after Call-ID; tshark ends the header there and knows no CSeq"
HEPLIFY = "sip-ipv6-frag/heplify-sip_ipv6_udp.pcap"
HEPLIFY_CALL = "c3eF6f58-363323Cd-8058EB88-10300252@fe80:0:0:0:21a:a0ff:fe07:32e0"
EXTENSION = "sip-basic/goffinet-voip-extension.pcap"
EXTENSION_CALL = "673b0437-dc3f99dd-699f99a7-92fd8066@192.168.5.10"
IPHONE = "volte/gtp-iphone-gtp-iphone.pcap"
IPHONE_CALL = "zTHDK1uOm6wLihi3m15pRfSR"


def crynet(stream, packets, sentence):
    return Judged(FEW, "not-voip/ndpi-crynet.pcap", f"{stream} 0x00000000", "stream", packets, "absent", sentence)


ROWS = [
    Judged(
        FEW, "formats/packetnet-ipv6_rtp.pcap",
        "[fd01:abab:cdcd:efe0:8655:ab4d:6299:e315]:40004 > [fd01:cafe::1]:6000 0x359f41e4", "stream", "1 packets", "absent",
        "Frame 1 is all there is: no second packet, no signalling.",
    ),
    crynet("78.159.118.97:25383 > 192.168.2.100:61837", "1 packets", f"Frame 2 {GAME}."),
    crynet("37.58.56.245:20250 > 192.168.2.100:56333", "2 packets", f"Each of frames 18 and 26 {GAME}."),
    crynet("84.16.230.222:28665 > 192.168.2.100:56970", "1 packets", f"Frame 33 {GAME}."),
    crynet("78.159.98.94:28375 > 192.168.2.100:55645", "1 packets", f"Frame 47 {GAME}."),
    crynet("84.16.248.143:30098 > 192.168.2.100:60751", "1 packets", f"Frame 62 {GAME}."),
    crynet("78.159.106.139:28343 > 192.168.2.100:60224", "2 packets", f"Each of frames 78 and 86 {GAME}."),
    crynet("78.159.118.143:21931 > 192.168.2.100:55460", "3 packets", f"Each of frames 94, 103 and 105 {GAME}."),
    Judged(
        FEW, "rtp-quality/asterisk-ssrc1.pcap", "127.0.0.1:6001 > 127.0.0.1:17854 0x00273aab", "stream", "1 packets", "absent",
        "Frame 1 is all there is: no second packet, no signalling.",
    ),
    Judged(
        FEW, "rtp-quality/asterisk-ssrc2.pcap", "127.0.0.1:6001 > 127.0.0.1:17854 0x001471b8", "stream", "2 packets", "absent",
        "Frames 1 and 2 are all there is: one step from number 0 to 1, no signalling.",
    ),
    Judged(
        FEW, "volte/zeek-gtp4_udp_2152_inside.pcap", "74.125.216.149:2152 > 10.131.138.69:2152 0x6ed9277c", "stream",
        "1 packets", "absent", "Frame 1, a datagram within GTP-U, is all there is: no second packet, no signalling.",
    ),
    Judged(
        FEW, "webrtc-srtp/libjitsi-chrome_single_flexfec03_packet.pcap",
        "172.29.63.56:65135 > 172.29.32.113:59759 0xc6236c24", "stream", "1 packets", "absent",
        "Frame 1 is all there is: no second packet, no signalling.",
    ),
    Judged(
        FEW, "webrtc-srtp/ndpi-stun_dtls_rtp.pcapng", "142.250.82.249:3478 > 192.168.12.182:50221 0x2f696c70", "stream",
        "2 packets", "absent", "Frames 83 and 87 are all there is: one step from number 31404 to 31405, no signalling.",
    ),
    Judged(
        FEW, MEET, "192.168.12.156:38152 > 142.250.82.76:3478 0xc362591e", "stream", "4 packets", "absent",
        "Frames 168-171 are all there is: four probes within 1.3 ms, numbers 29482-29485, all with timestamp 0.",
    ),
    Judged(
        RESTARTS, "rtp-quality/rtpproxy-sess6.a.rtp.pcap", "97.93.61.248:61390 > 244.50.221.222:16778 0x49954fd1",
        "lost - duplicates", "-475", "0",
        "Numbers 5-174 (from frame 1), 0-299 (from frame 171) and 0-2075 (from frame 471) are three runs without a gap. tshark "
        "expects 2071 numbers for 2546 packets.",
        (),
    ),
    Judged(
        RESTARTS, SIPZAMINE, SIPZAMINE_STREAM, "lost - duplicates", "-600", "0",
        f"One SSRC, but {FIVE_CALLS}: all 750 came once. tshark expects 150.", (),
    ),
    Judged(
        RESTARTS, SIPZAMINE, SIPZAMINE_STREAM, "records", "1", "5", f"One stream to each call: {FIVE_CALLS}.",
    ),
    Judged(
        ELSEWHERE, "sip-reinvite/russo-sip_hold_resume.pcapng", "10.180.110.58:8380 > 192.168.136.40:23890 0x00007a8e",
        "lost - duplicates", "384", "0",
        "Number 7371 is frame 38, number 7756 frame 1253; the 384 between went to 10.180.110.48:24646 while on hold, all of "
        "them (frames 238-1154).",
        (),
    ),
    Judged(
        FEW, MEET, MEET_V4, "stream", "25 packets", "absent",
        "Frames 15-48 have SSRC 0, payload type 99 and timestamp 0 throughout, all within 67 ms: padding that probes the bandwidth.",
    ),
    Judged(
        FEW, MEET, MEET_V6, "stream", "93 packets", "absent",
        "Frames 224-350 have SSRC 0, payload type 97 and timestamp 0 throughout, all within 205 ms: padding that probes the "
        "bandwidth.",
    ),
    Judged(
        ELSEWHERE, FAX, "10.35.60.100:15580 > 10.23.1.52:16756 0x0eaf0eaf", "lost - duplicates", "1712", "0",
        "Numbers 126-1837 lie between frames 240 and 1419, a pause of 34.26 s in which the call turned to fax: T.38 is offered "
        "in frame 1394, before the RTP comes back. The sender numbered on, but nothing of it passed here.",
    ),
    Judged(
        ELSEWHERE, "dtmf/rtpproxy-dtmf.pcap", "10.10.0.82:19438 > 127.0.0.1:24272 0x37ed87f3", "lost - duplicates", "141", "-52",
        "All 151 packets are events (payload type 101), 52 of them repeats. Frame 10 ends one digit with number 27142, frame 11 "
        "begins the next with 27152: the numbers between were the voice, which the capture left out.",
    ),
    Judged(
        ELSEWHERE, "dtmf/rtpproxy-dtmf.pcap", "10.10.0.84:56890 > 127.0.0.1:24270 0xee693e61", "lost - duplicates", "50", "0",
        "All 45 packets are events (payload type 101), as frames 191 and 192; the numbers between them were the voice.",
    ),
    Judged(
        ELSEWHERE, "dtmf/russo-sip_dtmf_nte_rfc4733.pcapng", "192.168.136.40:25126 > 10.180.110.58:8384 0x4092c643",
        "lost - duplicates", "195", "0",
        "All 86 packets are events. Frames 6-9 carry the numbers 14627, 14629, 14631 and 14633 of one event every 20 ms: the "
        "numbers between were the voice, which the capture left out.",
    ),
    Judged(
        REFUSED, FAX, "10.35.60.100:15580 > 10.23.1.52:16756 0x0eaf0eaf", "packets", "132", "159",
        "After T.38 was offered (frame 1394) and refused with 488 (frame 1404), tshark reads the RTP of frames 1436-1488 as "
        "T.38: 27 packets with this SSRC, numbers 1844-1870.",
        ("--disable-protocol", "t38"),
    ),
    Judged(
        LATE, "volte/open5gs-ipsec_to_nonipsec_call.pcapng", "10.4.128.21:30328 > 192.168.101.8:50014 0x0029b45f",
        "lost - duplicates", "-203", "-202",
        "Number 44295 (frame 352) comes after 44296 (frame 351): 101 numbers, none lost, 202 repeats. tshark counts from the "
        "number of frame 351 and expects one less.",
        (),
    ),
    Judged(
        COPIES, "sip-basic/ptavi-sip.cap", "1c16e956-b29e-db11-82ee-0013ce8c7c2b@japi", "messages", "15", "14",
        "Copies: 1 of 15 messages. Frame 927 is frame 925 again after 0.024 ms, byte for byte. The four answers to four BYEs "
        "(frames 938-941) hint that it was sent, but nothing in the packet tells it from a copy.",
    ),
    Judged(
        USERS, EXTENSION, EXTENSION_CALL, "to_user", "", "0", 'Frame 1: `To: "Auto Attendant"<sip:0@192.168.5.11>`.',
    ),
    Judged(
        USERS, EXTENSION, EXTENSION_CALL, "ruri_user", "", "0", "Frame 1: `INVITE sip:0@192.168.5.11`.",
    ),
    Judged(USERS, IPHONE, IPHONE_CALL, "from_user", "", "+88270006", "Frame 40: `From: <tel:+88270006>`."),
    Judged(USERS, IPHONE, IPHONE_CALL, "ruri_user", "", "122", "Frame 40: `INVITE tel:122`."),
    Judged(USERS, IPHONE, IPHONE_CALL, "to_user", "", "122", "Frame 40: `To: <tel:122>`."),
    Judged(
        USERS, "volte/open5gs-volte.pcapng", "401181964_495972856@192.168.101.3", "from_user", "", "0298765432100",
        "Frame 34: `From: <tel:0298765432100>`.",
    ),
    Judged(
        HOSTS, HEPLIFY, HEPLIFY_CALL, "from_host", "fe80", "[fe80:0:0:0:21a:a0ff:fe07:32e0]",
        "Frame 1: `From: <sip:9876@fe80:0:0:0:21a:a0ff:fe07:32e0>`.",
    ),
    Judged(
        HOSTS, HEPLIFY, HEPLIFY_CALL, "to_host", "fec0", "[fec0:0:0:0:216:d3ff:fe0d:22c]",
        "Frame 1: `To: <sip:4321@fec0:0:0:0:216:d3ff:fe0d:22c>`.",
    ),
    Judged(
        LENIENT, DIGIUM, DIGIUM_CALL, "ringing", "-", "1299021639501410",
        f"Frame 6, 180 Ringing, {DOUBLED}. The next line is `CSeq: 102 INVITE`.",
    ),
    Judged(
        LENIENT, DIGIUM, DIGIUM_CALL, "answer", "-", "1299021639502567",
        f"Frame 8, 200 OK, {DOUBLED}. The next line is `CSeq: 102 INVITE`.",
    ),
    Judged(
        LENIENT, DIGIUM, DIGIUM_CALL, "final_code", "0", "200",
        f"Frame 8, 200 OK, {DOUBLED}. The next line is `CSeq: 102 INVITE`.",
    ),
    Judged(
        LENIENT, "sip-nasty/aflnet-sip-afl.pcap", "1-670@127.0.0.1", "messages", "9", "8",
        "Frames 11 and 12 are ACKs behind an empty line, which tshark does not take for SIP; frames 3, 4 and 15 are REGISTER "
        "and are not the call's.",
    ),
]
