"""What a telephone in a browser has beside others: SIP over WebSocket (RFC 7118), and sound by ICE and DTLS-SRTP (RFC 8445, 5764).

WebSocket and DTLS are of libraries, STUN and SRTP are written from their RFCs: what is needed of a host with one address, and no more.
"""

import base64
import binascii
import contextlib
import hmac
import os
import random
import re
import ssl
import struct
import threading
import time

import websocket
from OpenSSL import SSL, crypto

import handset
import secure

COOKIE = 0x2112A442
BINDING, SUCCESS = 0x0001, 0x0101
USERNAME, INTEGRITY, MAPPED, PRIORITY, USE, CONTROLLED, CONTROLLING, FINGERPRINT = 0x0006, 0x0008, 0x0020, 0x0024, 0x0025, 0x8029, 0x802A, 0x8028


class WebSocket(handset.Connection):
    def __init__(self, transport, address, server, authority):
        super().__init__(transport, address, server, authority)
        self.url = f"{transport}://{server[0]}:{server[1]}/"
        self.options = {"ca_certs": authority, "cert_reqs": ssl.CERT_REQUIRED} if transport == "wss" else {}

    def connect(self):
        with errors():
            self.connection, self.rest = websocket.create_connection(self.url, timeout=3, subprotocols=["sip"], sslopt=self.options), b""
        if self.connection.subprotocol != "sip":
            raise SystemExit(f"the server speaks {self.connection.subprotocol}, not SIP")
        self.connected += 1

    def write(self, data):
        with errors():
            self.connection.settimeout(3)
            self.connection.send(data.decode())

    def beat(self):
        with errors():
            self.connection.settimeout(3)
            self.connection.ping()

    def read(self):
        """Answers pings."""
        with errors():
            self.connection.settimeout(0.1)
            with contextlib.suppress(websocket.WebSocketTimeoutException):
                data = self.connection.recv()
                self.rest = data.encode() if isinstance(data, str) else data

    def end(self):
        """Without a word to the other end, which may not hear it."""
        if self.connection is not None:
            self.connection.shutdown()
        self.connection = None

    def message(self):
        found, self.rest = self.rest, b""
        return found or None

    def pending(self):
        return self.connection.sock.pending() if self.connection.is_ssl() else 0


@contextlib.contextmanager
def errors():
    """Those of the library as others have them."""
    try:
        yield
    except websocket.WebSocketException as error:
        raise ConnectionError(str(error)) from error


def attribute(kind, value):
    return struct.pack("!HH", kind, len(value)) + value + bytes(-len(value) % 4)


def stun(kind, key, attributes, password):
    """A message with its integrity and its fingerprint (RFC 8489, 14.5 and 14.7)."""
    def head(more):
        return struct.pack("!HHI", kind, len(attributes) + more, COOKIE) + key + attributes
    sealed = head(24) + attribute(INTEGRITY, hmac.digest(password.encode(), head(24), "sha1"))
    body = sealed[:2] + struct.pack("!H", len(sealed) - 20 + 8) + sealed[4:]
    return body + attribute(FINGERPRINT, struct.pack("!I", binascii.crc32(body) ^ 0x5354554E))


def attributes_of(message):
    found, place = {}, 20
    while place + 4 <= len(message):
        kind, length = struct.unpack("!HH", message[place:place + 4])
        found.setdefault(kind, (place, message[place + 4:place + 4 + length]))
        place += 4 + length + -length % 4
    return found


def genuine(message, password):
    found = attributes_of(message)
    if INTEGRITY not in found:
        return False
    place, value = found[INTEGRITY]
    covered = message[:2] + struct.pack("!H", place - 20 + 24) + message[4:place]
    return hmac.compare_digest(hmac.digest(password.encode(), covered, "sha1"), value)


class Private(handset.Sound):
    """Sound whose keys come from DTLS on its own path, which ICE has checked."""

    PROFILE = "UDP/TLS/RTP/SAVPF"

    def __init__(self, address, user):
        key = crypto.PKey()
        key.generate_key(crypto.TYPE_RSA, 2048)
        self.certificate = crypto.X509()
        self.certificate.set_serial_number(random.getrandbits(60))
        self.certificate.get_subject().CN = self.certificate.get_issuer().CN = user
        self.certificate.gmtime_adj_notBefore(-3600)
        self.certificate.gmtime_adj_notAfter(86400)
        self.certificate.set_pubkey(key)
        self.certificate.sign(key, "sha256")
        self.context = SSL.Context(SSL.DTLS_METHOD)
        self.context.use_privatekey(key)
        self.context.use_certificate(self.certificate)
        self.context.set_tlsext_use_srtp(b"SRTP_AES128_CM_SHA1_80")
        self.context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        self.own_name, self.own_word = os.urandom(4).hex(), os.urandom(12).hex()
        self.name = self.word = self.digest = self.tls = self.own = self.other = None
        self.offers, self.active, self.checked, self.lock = True, False, False, threading.Lock()
        super().__init__(address, user)
        threading.Thread(target=self.connect, daemon=True).start()

    def describe(self, direction, tag):
        # Who is called begins DTLS; who calls leaves it to the other (RFC 5763, 5).
        setup = "actpass" if self.name is None or tag is None else "active"
        return super().describe(direction, None) + (
            f"a=ice-ufrag:{self.own_name}\r\na=ice-pwd:{self.own_word}\r\na=candidate:1 1 udp 2130706431 {self.address} {self.port} typ host\r\n"
            f"a=fingerprint:sha-256 {self.certificate.digest('sha256').decode()}\r\na=setup:{setup}\r\na=rtcp-mux\r\n")

    def take(self, body):
        super().take(body)
        self.place, self.peer = self.peer, None
        told = {name: re.search(rf"^a={name}:(\S+)(?: (\S+))?", body, re.MULTILINE) for name in ("ice-ufrag", "ice-pwd", "fingerprint", "setup")}
        if told["setup"][1] == "actpass":
            self.offers, self.active = False, True
        else:
            self.active = told["setup"][1] == "passive"
        self.digest, self.word, self.name = told["fingerprint"][2], told["ice-pwd"][1], told["ice-ufrag"][1]
        if self.own:
            self.peer = self.place
        return "1"

    def connect(self):
        """Checks the path until it is one, then makes keys."""
        while self.open and self.own is None:
            if self.name and not self.checked:
                self.check()
            if self.checked and self.tls is None:
                with self.lock:
                    self.tls = SSL.Connection(self.context, None)
                    self.tls.set_ciphertext_mtu(1200)
                    self.tls.set_connect_state() if self.active else self.tls.set_accept_state()
            if self.tls:
                self.shake()
            time.sleep(0.1)

    def check(self):
        role = attribute(CONTROLLING if self.offers else CONTROLLED, os.urandom(8)) + (attribute(USE, b"") if self.offers else b"")
        names = attribute(USERNAME, f"{self.name}:{self.own_name}".encode()) + attribute(PRIORITY, struct.pack("!I", 1862270975))
        self.socket.sendto(stun(BINDING, os.urandom(12), names + role, self.word), self.place)

    def shake(self, data=b""):
        with self.lock:
            if self.own:
                return
            if data:
                self.tls.bio_write(data)
            done = True
            try:
                # Repeats what was lost, when its time has come.
                self.tls.do_handshake()
            except SSL.WantReadError:
                done = False
            try:
                while True:
                    self.socket.sendto(self.tls.bio_read(2048), self.place)
            except SSL.WantReadError:
                pass
            if done:
                self.keys()

    def keys(self):
        """Of either direction (RFC 5764, 4.2)."""
        shown = self.tls.get_peer_certificate().digest("sha256").decode()
        if shown.upper() != self.digest.upper():
            raise SystemExit(f"the certificate is {shown}, SDP said {self.digest}")
        told = self.tls.export_keying_material(b"EXTRACTOR-dtls_srtp", 60)
        sides = [base64.b64encode(told[16 * side:16 * side + 16] + told[32 + 14 * side:46 + 14 * side]).decode() for side in (0, 1)]
        mine, theirs = sides if self.active else sides[::-1]
        self.other, self.own, self.peer = secure.Srtp(theirs), secure.Srtp(mine), self.place

    def seal(self, packet):
        return self.own.protect(packet, 0)

    def unseal(self, packet):
        if packet[0] < 4:
            self.answer(packet)
        elif 20 <= packet[0] < 64:
            if self.tls:
                self.shake(packet)
        elif self.other and packet[1] & 0x7F == 8:
            return self.other.unprotect(packet)
        return b""

    def answer(self, message):
        kind, key = struct.unpack("!H", message[:2])[0], message[8:20]
        if kind == SUCCESS and self.word and genuine(message, self.word):
            self.checked = True
        elif kind == BINDING and self.name and genuine(message, self.own_word):
            mapped = struct.pack("!BBH", 0, 1, self.place[1] ^ (COOKIE >> 16)) + struct.pack("!I", int.from_bytes(
                bytes(map(int, self.place[0].split("."))), "big") ^ COOKIE)
            self.socket.sendto(stun(SUCCESS, key, attribute(MAPPED, mapped), self.own_word), self.place)
