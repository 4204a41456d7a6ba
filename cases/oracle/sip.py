#!/usr/bin/env python3
"""The SIP messages of each call of a capture, mirrored copies set apart.

    sip.py CAPTURE [CALL-ID]

A mirrored copy is the same message again within 10 ms: same addresses, ports and bytes. It is not counted. Messages of
other methods under the Call-ID of a call (REGISTER, OPTIONS outside of it) are listed apart as well: whether they belong
to the call is for whoever reads the list.
"""

import sys
from collections import defaultdict
from dataclasses import dataclass

from packets import endpoint, fields, innermost, nanos

MIRROR = 10 * 10**6
FIELDS = [
    "frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "tcp.srcport",
    "udp.dstport", "tcp.dstport", "sip.Call-ID", "sip.Request-Line", "sip.Status-Line", "sip.CSeq", "udp.payload",
    "tcp.payload", "frame.protocols",
]


@dataclass
class Message:
    frame: int
    time: int
    src: str
    dst: str
    call_id: str
    line: str
    method: str  # of CSeq
    payload: str
    copy_of: int | None = None


def messages(capture):
    """Every SIP message with a Call-ID; copies name the frame that they copy."""
    found, seen = [], {}
    for row in fields(capture, "sip && !icmp && !icmpv6", FIELDS):
        frame, time, src4, src6, dst4, dst6, udp_src, tcp_src, udp_dst, tcp_dst = row[:10]
        call_ids, requests, statuses, cseqs, udp, tcp, protocols = row[10:]
        ports = (udp_src or tcp_src or ["0"])[-1], (udp_dst or tcp_dst or ["0"])[-1]
        for index, call_id in enumerate(call_ids):
            message = Message(
                int(frame[0]),
                nanos(time[0]),
                endpoint(innermost(src4, src6, protocols[0]), ports[0]),
                endpoint(innermost(dst4, dst6, protocols[0]), ports[1]),
                call_id,
                " ".join((requests + statuses)[index : index + 1]),
                cseqs[index].split()[-1] if index < len(cseqs) and cseqs[index] else "",
                (udp or tcp or [""])[-1],
            )
            key = (message.src, message.dst, message.call_id, message.line, message.method, message.payload)
            before = seen.get(key)
            if message.payload and before and message.time - before.time <= MIRROR:
                message.copy_of = before.copy_of or before.frame
            seen[key] = message
            found.append(message)
    return found


def main():
    capture, *wanted = sys.argv[1:]
    calls = defaultdict(list)
    for message in messages(capture):
        calls[message.call_id].append(message)
    for call_id, found in calls.items():
        if wanted and call_id not in wanted:
            continue
        copies = sum(message.copy_of is not None for message in found)
        print(f"{call_id}: {len(found)} messages, {copies} of them mirrored copies")
        if wanted:
            for message in found:
                copied = f" copies frame {message.copy_of}" if message.copy_of else ""
                print(f"  {message.frame} {message.src} > {message.dst} {message.line} ({message.method}){copied}")


if __name__ == "__main__":
    main()
