#!/usr/bin/env python3
"""A telephone over TLS with SRTP (SDES), for tests: secure.py ADDRESS PORT USER PASSWORD AUTHORITY COMMAND [ARGUMENT...].

It takes nothing from the platform but the certificate of its authority; the cipher is AES of another library, the rest of SRTP is written
from RFC 3711 here, and so a check of rtpengine's. It prints what came of it as JSON:

    register                        the code
    call NUMBER SECONDS [SEQUENCE]  the code; packets heard that are its own and are genuine, and that are not genuine; the longest gap and
                                    how many were heard in the last two seconds; whether sequence numbers wrapped; the code of its BYE; how
                                    often it connected. SEQUENCE is the number of the first packet
    wait SECONDS                    registers, answers who calls with SRTP and sends back what it hears; then what it heard. It registers
                                    again when its connection ends
"""

import base64
import contextlib
import hmac
import json
import math
import os
import random
import re
import select
import socket
import ssl
import struct
import sys
import threading
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import phone

SERVER = ("10.77.1.100", 5061)


def keystream(key, vector, length):
    return Cipher(algorithms.AES(key), modes.CTR(vector.to_bytes(16, "big"))).encryptor().update(bytes(length))


class Srtp:
    """One direction of AES_CM_128_HMAC_SHA1_80 (RFC 3711; RFC 4568, 6.2)."""

    TAG = 10

    def __init__(self, inline):
        material = base64.b64decode(inline)
        self.key, salt = material[:16], int.from_bytes(material[16:30], "big")

        def derived(label, length):
            return keystream(self.key, (salt ^ (label << 48)) << 16, length)
        self.session, self.authentic, self.salt = derived(0, 16), derived(1, 20), int.from_bytes(derived(2, 14), "big")
        self.rolls, self.highest = 0, None

    def body(self, packet, rolls):
        ssrc, sequence = int.from_bytes(packet[8:12], "big"), int.from_bytes(packet[2:4], "big")
        vector = (self.salt << 16) ^ (ssrc << 64) ^ ((rolls << 16 | sequence) << 16)
        stream = keystream(self.session, vector, len(packet) - 12)
        return bytes(a ^ b for a, b in zip(packet[12:], stream))

    def tag(self, packet, rolls):
        return hmac.digest(self.authentic, packet + struct.pack("!I", rolls), "sha1")[:self.TAG]

    def protect(self, packet, rolls):
        sealed = packet[:12] + self.body(packet, rolls)
        return sealed + self.tag(sealed, rolls)

    def unprotect(self, sealed):
        """The packet, or None if it is not genuine. Of the three counts of wraps that it may belong to, the likeliest (3.3.1)."""
        packet, tag = sealed[:-self.TAG], sealed[-self.TAG:]
        sequence = int.from_bytes(packet[2:4], "big")
        highest = sequence if self.highest is None else self.highest
        rolls = self.rolls + (1 if sequence - highest < -32768 else -1 if sequence - highest > 32768 else 0)
        if rolls < 0 or not hmac.compare_digest(self.tag(packet, rolls), tag):
            return None
        if (rolls, sequence) >= (self.rolls, highest):
            self.rolls, self.highest = rolls, sequence
        return packet[:12] + self.body(packet, rolls)


class Stream:
    """A TLS connection that is used as a datagram socket: each message is one. One that ended is made anew when something is sent."""

    def __init__(self, address, authority):
        self.address, self.context = address, ssl.create_default_context(cafile=authority)
        self.connection, self.rest, self.connected, self.timeout = None, b"", 0, None
        # Who reads takes it too: of OpenSSL's connections, one that was read while another thread wrote seemed to have ended.
        self.lock = threading.Lock()

    def connect(self):
        plain = socket.create_connection(SERVER, timeout=3, source_address=(self.address, 0))
        # The certificate has to name the address that was connected to.
        self.connection, self.rest = self.context.wrap_socket(plain, server_hostname=SERVER[0]), b""
        self.connected += 1

    def settimeout(self, timeout):
        self.timeout = timeout

    def write(self, data):
        self.connection.settimeout(3)
        self.connection.sendall(data)

    def beat(self):
        """Two line ends (RFC 5626, 3.5.1)."""
        self.write(b"\r\n\r\n")

    def read(self):
        """Adds what came to `rest`; OSError if the connection ended. What can be read may be no whole record of TLS yet."""
        self.connection.settimeout(0.1)
        with contextlib.suppress(TimeoutError):
            data = self.connection.recv(65536)
            if not data:
                raise ConnectionError("the connection ended")
            self.rest += data

    def message(self):
        """The next one of `rest`, or None."""
        head, found, rest = self.rest.lstrip(b"\r\n").partition(b"\r\n\r\n")
        if found:
            length = int(re.search(rb"\r\n(?:content-length|l) *: *(\d+)", head, re.IGNORECASE)[1])
            if len(rest) >= length:
                self.rest = rest[length:]
                return head + found + rest[:length]
        return None

    def sendto(self, message, _):
        with self.lock:
            for _ in range(2):
                try:
                    if self.connection is None:
                        self.connect()
                    self.write(message)
                    return
                except OSError:
                    self.end()

    def ping(self):
        """Whether the connection still is one."""
        with self.lock:
            try:
                if self.connection is not None:
                    self.beat()
            except OSError:
                self.end()

    def end(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def recv(self, _):
        """The next message; OSError if none comes in time or the connection ends."""
        until = math.inf if self.timeout is None else time.monotonic() + self.timeout
        with self.lock:
            connection = self.connection
        if connection is None:
            time.sleep(0.05)
            raise ConnectionError("there is no connection")
        while True:
            with self.lock:
                if self.connection is not connection:
                    raise ConnectionError("the connection ended, and what was sent since went over another one")
                message = self.message()
                held = message or self.pending()
            if message:
                return message
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("nothing came in time")
            # Others may end the connection meanwhile, and then it cannot be asked.
            with contextlib.suppress(OSError, ValueError):
                if not held and not select.select([connection], [], [], min(left, 0.2))[0]:
                    continue
            with self.lock:
                if self.connection is connection:
                    try:
                        self.read()
                    except OSError:
                        self.end()

    def pending(self):
        """How many bytes were decrypted and not read yet."""
        return self.connection.pending() if isinstance(self.connection, ssl.SSLSocket) else 0

    def recvfrom(self, size):
        return self.recv(size), None


class Secure(phone.Phone):
    TRANSPORT, PARAMETERS = "TLS", ";transport=tls"

    def __init__(self, address, port, user, password, authority):
        self.address, self.port, self.user, self.password = address, int(port), user, password
        self.sip = Stream(address, authority)
        self.inline = base64.b64encode(os.urandom(30)).decode()
        self.media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media.bind((address, self.port + 1000))

    def offer(self, media, tag="1"):
        return super().offer(media).replace("RTP/AVP", "RTP/SAVP") + f"a=crypto:{tag} AES_CM_128_HMAC_SHA1_80 inline:{self.inline}\r\n"

    @staticmethod
    def peer(body):
        """Where the other side hears, its key, and the tag of that, which an answer has to name (RFC 4568, 5.1.2)."""
        if "RTP/SAVP" not in body:
            raise SystemExit(f"sound would not be encrypted: {body}")
        crypto = re.search(r"a=crypto:(\d+) AES_CM_128_HMAC_SHA1_80 inline:([A-Za-z0-9+/=]+)", body)
        return (re.search(r"c=IN IP4 (\S+)", body)[1], int(re.search(r"m=audio (\d+)", body)[1])), crypto[2], crypto[1]

    def call(self, number, seconds, sequence="1"):
        got, bye = self.invite(number, self.port + 1000)
        if bye is None:
            return {"code": got.code if got else 0}
        place, inline, _ = self.peer(got.body)
        own, other, first = Srtp(self.inline), Srtp(inline), int(sequence)
        begun, seconds, heard, forged = time.monotonic(), float(seconds), [], 0
        end = begun + seconds

        def speak():
            ssrc = random.getrandbits(32)
            for number in range(int(seconds * 50)):
                count = first + number
                packet = struct.pack("!BBHII", 0x80, 8, count % 65536, 160 * number, ssrc) + phone.PATTERN
                self.media.sendto(own.protect(packet, count // 65536), place)
                time.sleep(max(0, begun + 0.02 * (number + 1) - time.monotonic()))
        mouth = threading.Thread(target=speak)
        mouth.start()
        while time.monotonic() < end:
            self.media.settimeout(0.5)
            try:
                packet = other.unprotect(self.media.recv(2048))
            except OSError:
                continue
            if packet is None:
                forged += 1
            elif packet[12:172] in phone.PATTERN * 2:
                heard.append(time.monotonic())
        mouth.join()
        gone = bye()
        gaps = [after - before for before, after in zip(heard, heard[1:])]
        return {"code": got.code, "own": len(heard), "forged": forged, "gap": round(max(gaps, default=0), 3),
                "last": sum(when > end - 2 for when in heard), "wrapped": first + int(seconds * 50) > 65536,
                "bye": gone.code if gone else 0, "connected": self.sip.connected}

    def wait(self, seconds="60"):
        """Says when it is registered, and again when it is so over another connection."""
        def registers():
            while True:
                code = self.register()
                print(json.dumps({"code": code, "connected": self.sip.connected}), flush=True)
                if code == 200:
                    return
        registers()
        end, heard = time.monotonic() + float(seconds), {"own": 0, "forged": 0, "calls": 0}
        while time.monotonic() < end:
            self.sip.settimeout(2)
            try:
                data, _ = self.sip.recvfrom(65536)
            except TimeoutError:
                self.sip.ping()
                continue
            except ConnectionError:
                registers()
                continue
            if data.startswith(b"INVITE"):
                _, inline, tag = self.peer(phone.Message(data).body)
                self.answer(data, None, "200 OK", [f"Contact: <sip:{self.user}@{self.address}:{self.port};transport=tls>", "Content-Type: application/sdp",
                                                   *phone.Message(data).all("Record-Route")], self.offer(self.port + 1000, tag))
                # One call at a time: the sound of the one before ends.
                heard["calls"] += 1
                threading.Thread(target=self.echo, args=(inline, end, heard, heard["calls"]), daemon=True).start()
            elif data.startswith((b"BYE", b"OPTIONS", b"NOTIFY")):
                self.answer(data, None, "200 OK")
                if data.startswith(b"BYE"):
                    print(json.dumps(heard), flush=True)
        print(json.dumps(heard), flush=True)

    def echo(self, inline, end, heard, call):
        own, other, rolls, last = Srtp(self.inline), Srtp(inline), 0, None
        while time.monotonic() < end and heard["calls"] == call:
            self.media.settimeout(0.5)
            try:
                sealed, place = self.media.recvfrom(2048)
            except OSError:
                continue
            packet = other.unprotect(sealed)
            if packet is None:
                heard["forged"] += 1
                continue
            heard["own"] += packet[12:172] in phone.PATTERN * 2
            sequence = int.from_bytes(packet[2:4], "big")
            rolls, last = rolls + (last is not None and sequence < last - 32768), sequence
            self.media.sendto(own.protect(packet, rolls), place)


def main():
    telephone, command, arguments = Secure(*sys.argv[1:6]), sys.argv[6], sys.argv[7:]
    if command == "wait":
        telephone.wait(*arguments)
    else:
        print(json.dumps({"register": lambda: {"code": telephone.register()}, "call": telephone.call}[command](*arguments)))


if __name__ == "__main__":
    main()
