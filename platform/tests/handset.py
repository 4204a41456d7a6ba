#!/usr/bin/env python3
"""A telephone that does as it is told while its calls go on: handset.py TRANSPORT ADDRESS USER PASSWORD SERVER AUTHORITY.

TRANSPORT is udp, tcp, tls, ws or wss. SERVER is the address of the platform. Each line on standard input is a command, each is answered by a line
of JSON. It answers who calls it. Its sound is its number again and again, so that whoever hears it knows whom. A call has the name that `call`
or `last` told.

    register [SECONDS]        the code; how often it has connected
    leave                     registers no longer
    mode MODE                 what it does when it is called: answer, be busy, ring, be slow, which says nothing at first, or barred: a `|` is in its tags;
                              and when it calls: patient, and sends each request once
    call NUMBER [CALL]        the code of the final answer, and the call, which may be named
    last                      the call that came in last; empty if none did
    hear CALL SECONDS         packets of each number that it hears meanwhile
    hold CALL, resume CALL    the code, and what the other side then does: recvonly, sendrecv
    digit CALL DIGIT          by RFC 4733; info CALL DIGIT by INFO, the code
    refer CALL NUMBER         the code of REFER, and of the new call as it is told by NOTIFY
    attended CALL OTHER       the same: who is in CALL and who is in OTHER are to talk with each other
    resend CALL               its INVITE once more, as if it had been on its way until now
    bye CALL                  the code
    answers CALL              how many others have answered it
    state CALL                up, ended (by itself) or released (by the other side)
    subscribe SECONDS [USER]  the code of SUBSCRIBE for its mailbox, or another's, and for how long it is; once more, and it is refreshed
    repeat                    the code of its last request, which it sends once more
    forget                    it knows its subscription no longer
    subscribed                the Call-ID of its subscription
    notes                     each NOTIFY since then: event, state of the subscription, body, and whether it is in the subscription's dialog
    connections               how often it has connected and has registered
    asked                     how many OPTIONS came
"""

import base64
import collections
import json
import os
import queue
import random
import re
import socket
import struct
import sys
import threading
import time

import phone
import secure

PORTS = {"udp": 5060, "tcp": 5060, "tls": 5061, "ws": 8080, "wss": 8443}
# Until a final answer: longer than a telephone rings here before its mailbox answers, and than any failover.
PATIENCE = 40
# Seconds in which a slow telephone says nothing: it answers the third repeat of its INVITE.
SLOW = 3


class Datagrams:
    connected = 0

    def __init__(self, address, server):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.server, self.port = server, self.socket.getsockname()[1]

    def send(self, data):
        self.socket.sendto(data, self.server)

    def recv(self):
        return self.socket.recv(65536)


class Connection(secure.Stream):
    """TCP or TLS. One that ended is made anew when something is sent."""

    def __init__(self, transport, address, server, authority):
        super().__init__(address, authority)
        self.transport, self.server = transport, server

    def connect(self):
        plain, self.rest = socket.create_connection(self.server, timeout=3, source_address=(self.address, 0)), b""
        self.connection = self.context.wrap_socket(plain, server_hostname=self.server[0]) if self.transport == "tls" else plain
        self.connected += 1

    def send(self, data):
        self.sendto(data, None)

    def recv(self):
        self.settimeout(2)
        return super().recv(65536)


class Sound:
    """The sound of a call: each 20 ms its own number, and counts of what is heard."""

    PROFILE = "RTP/AVP"

    def __init__(self, address, user):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.settimeout(0.5)
        self.address, self.port = address, self.socket.getsockname()[1]
        self.pattern, self.peer, self.speaks, self.open = user.encode() * 40, None, True, True
        self.heard, self.digits = collections.Counter(), queue.SimpleQueue()
        for each in (self.speak, self.listen):
            threading.Thread(target=each, daemon=True).start()

    def describe(self, direction, _):
        return (f"v=0\r\no=- 1 {random.getrandbits(31)} IN IP4 {self.address}\r\ns=-\r\nc=IN IP4 {self.address}\r\nt=0 0\r\n"
                f"m=audio {self.port} {self.PROFILE} 8 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\n"
                f"a=fmtp:101 0-15\r\na={direction}\r\n")

    def take(self, body):
        """Speaks to whom another one's description names."""
        where = re.search(r"^c=IN IP4 (\S+)", body, re.MULTILINE), re.search(r"^m=audio (\d+) (\S+)", body, re.MULTILINE)
        if where[1][2] != self.PROFILE:
            raise SystemExit(f"sound would be {where[1][2]}, not {self.PROFILE}: {body}")
        self.peer = (where[0][1], int(where[1][1]))

    def seal(self, packet):
        return packet

    def unseal(self, packet):
        return packet

    def packets(self, number, stamp):
        """What is sent at a moment: sound, or one of the eight packets of a digit of 100 ms (RFC 4733), three of which say that it is over."""
        begun = None
        while True:
            if begun is None and not self.digits.empty():
                digit, begun, place = self.digits.get(), stamp + 160 * number, 0
            if begun is not None:
                event = struct.pack("!BBH", "0123456789*#".index(digit), 0x8A if place >= 5 else 0x0A, 160 * (min(place, 5) + 1))
                yield 101 | (0x80 if place == 0 else 0), begun, event
                place += 1
                begun = None if place == 8 else begun
            else:
                yield 8, stamp + 160 * number, self.pattern
            number += 1

    def speak(self):
        ssrc, sequence, stamp = random.getrandbits(32), random.getrandbits(14), random.getrandbits(31)
        begun, made = time.monotonic(), self.packets(0, stamp)
        for number, (kind, when, payload) in enumerate(made, 1):
            if not self.open:
                return
            if self.peer and self.speaks:
                packet = self.seal(struct.pack("!BBHII", 0x80, kind, sequence, when % 2**32, ssrc) + payload)
                sequence = (sequence + 1) % 65536
                if packet:
                    self.socket.sendto(packet, self.peer)
            time.sleep(max(0, begun + 0.02 * number - time.monotonic()))

    def listen(self):
        while self.open:
            try:
                packet = self.unseal(self.socket.recv(2048))
            except OSError:
                continue
            if packet and len(packet) == 172 and packet[1] & 0x7F == 8:
                word = packet[12:16]
                own = packet[12:] == word * 40 and word.isdigit()
                self.heard[word.decode() if own else "other"] += 1
            elif packet is None:
                self.heard["forged"] += 1


class Sealed(Sound):
    """With SRTP, its keys in the description (SDES)."""

    PROFILE = "RTP/SAVP"

    def __init__(self, address, user):
        self.inline = base64.b64encode(os.urandom(30)).decode()
        self.own, self.other, self.rolls, self.last = secure.Srtp(self.inline), None, 0, None
        super().__init__(address, user)

    def describe(self, direction, tag):
        return super().describe(direction, tag) + f"a=crypto:{tag or 1} AES_CM_128_HMAC_SHA1_80 inline:{self.inline}\r\n"

    def take(self, body):
        super().take(body)
        found = re.search(r"a=crypto:(\d+) AES_CM_128_HMAC_SHA1_80 inline:([A-Za-z0-9+/=]+)", body)
        if self.other is None or self.other.inline != found[2]:
            self.other = secure.Srtp(found[2])
            self.other.inline = found[2]
        return found[1]

    def seal(self, packet):
        return self.own.protect(packet, 0)

    def unseal(self, packet):
        return self.other.unprotect(packet) if self.other else b""


class Call:
    """A call, or a subscription: what a request within it needs."""

    def __init__(self, key, near, far, sequence=0):
        self.key, self.near, self.far, self.sequence = key, near, far, sequence
        self.target, self.routes, self.state, self.sound, self.told, self.reply = "", [], "up", None, queue.SimpleQueue(), None
        # As it was sent or came.
        self.invite, self.acknowledged = None, False


class Handset:
    def __init__(self, transport, address, user, password, server, authority):
        self.transport, self.address, self.user, self.server = transport, address, user, server
        self.prove = phone.Phone.authorization.__get__(self)
        self.password = password
        place = (server, PORTS[transport])
        where = f"{address}:5099"
        if transport in ("ws", "wss"):
            # What it needs of others is needed by nobody else.
            import browser
            self.wire, self.sound, where = browser.WebSocket(transport, address, place, authority), browser.Private, f"{os.urandom(6).hex()}.invalid"
        elif transport == "udp":
            self.wire, self.sound = Datagrams(address, place), Sound
            where = f"{address}:{self.wire.port}"
        else:
            self.wire, self.sound = Connection(transport, address, place, authority), {"tls": Sealed}.get(transport, Sound)
        self.where = where
        # Of a browser it is ws, with TLS too (RFC 7118, 5.2).
        parameter = {"udp": "", "wss": ";transport=ws"}.get(transport, f";transport={transport}")
        self.contact = f"<sip:{user}@{where}{parameter}>"
        self.waiting, self.calls, self.notes, self.options, self.answered = {}, {}, [], 0, collections.defaultdict(set)
        self.rung, self.results = set(), {}
        # By Call-ID, when it was asked first by those that it is slow to answer.
        self.asked_first = {}
        self.mode, self.latest, self.registered, self.registrations, self.subscription = "answer", "", False, 0, None
        threading.Thread(target=self.listen, daemon=True).start()

    def message(self, method, uri, call, sequence, extra=(), body="", kind="application/sdp"):
        lines = [f"{method} {uri} SIP/2.0",
                 f"Via: SIP/2.0/{self.transport.upper()} {self.where};rport;branch=z9hG4bK{os.urandom(6).hex()}", *call.routes,
                 f"From: {call.near}", f"To: {call.far}", f"Call-ID: {call.key}", f"CSeq: {sequence} {method}", f"Contact: {self.contact}",
                 "Max-Forwards: 70", *extra]
        if body:
            lines.append(f"Content-Type: {kind}")
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode()

    def transact(self, message, key, request, patience=PATIENCE):
        """The final answer. Over UDP it asks again (RFC 3261, 17.1.1.2), over a connection only when that is another one."""
        answers = self.waiting[key, request] = queue.SimpleQueue()
        end, pause, answered, over = time.monotonic() + patience, 0.5, False, None
        again = self.mode != "patient"
        while (left := end - time.monotonic()) > 0:
            if self.transport == "udp" and not answered and (again or over is None) or self.transport != "udp" and over != self.wire.connected:
                self.wire.send(message)
                over = self.wire.connected
            try:
                got = answers.get(timeout=min(left, pause))
            except queue.Empty:
                if self.transport != "udp":
                    self.wire.ping()
                    over = None if self.wire.connection is None else over
                pause = min(2 * pause, 4 if self.transport == "udp" else 1)
                continue
            answered = True
            if got.code >= 200:
                del self.waiting[key, request]
                return got
        return None

    def ask(self, method, uri, call, extra=(), body="", kind="application/sdp", patience=PATIENCE):
        """A request; the final answer to it, with the password if that was asked for."""
        proof = []
        for _ in range(2):
            call.sequence += 1
            message = self.message(method, uri, call, call.sequence, [*extra, *proof], body, kind)
            if method == "INVITE":
                call.invite = message
            self.sent = message, call.key, f"{call.sequence} {method}"
            got = self.transact(*self.sent, patience)
            if method == "INVITE" and got and got.code >= 300:
                via = message.split(b"\r\n")[1]
                ack = Call(call.key, call.near, got.header("To"))
                ack.routes = call.routes
                self.wire.send(re.sub(rb"Via: [^\r]*", via, self.message("ACK", uri, ack, call.sequence), count=1))
            if not got or got.code not in (401, 407) or proof:
                return got
            proof = [self.prove(got, method, uri)]
        return got

    def outside(self, number):
        """What requests outside of a dialog belong to."""
        near = f"<sip:{self.user}@{self.server}>;tag={os.urandom(4).hex()}"
        return Call(f"{os.urandom(8).hex()}@{self.address}", near, f"<sip:{number}@{self.server}>")

    def listen(self):
        while True:
            try:
                data = self.wire.recv()
            except TimeoutError:
                if self.transport != "udp":
                    self.wire.ping()
                continue
            except OSError:
                # It registers again, as who is to be called has to, over a new connection.
                if self.registered:
                    self.registered = False
                    threading.Thread(target=self.again, daemon=True).start()
                continue
            got = phone.Message(data)
            if got.code:
                if 200 <= got.code < 300 and got.header("CSeq").endswith(" INVITE"):
                    self.answered[got.header("Call-ID")].add(got.header("To"))
                if 180 <= got.code < 200:
                    self.rung.add(got.header("Call-ID"))
                waiting = self.waiting.get((got.header("Call-ID"), got.header("CSeq")))
                if waiting:
                    waiting.put(got)
            # Its port may be the one after that of a call's sound, where RTCP goes.
            elif got.first.endswith(" SIP/2.0"):
                threading.Thread(target=self.serve, args=(got,), daemon=True).start()

    def again(self):
        while not self.registered:
            self.register()
            time.sleep(0.2)

    def answer(self, got, status, extra=(), body=""):
        lines = [line for name in ("Via", "From", "To", "Call-ID", "CSeq") for line in got.all(name)]
        tag = "phone" + got.header("Call-ID")[:8].encode().hex() + ("|1" if self.mode == "barred" else "")
        lines = [f"{line};tag={tag}" if line.lower().startswith("to:") and ";tag=" not in line else line for line in lines]
        reply = "\r\n".join([f"SIP/2.0 {status}", *lines, *extra, f"Content-Length: {len(body)}", "", body]).encode()
        self.wire.send(reply)
        return reply, next(line.split(":", 1)[1].strip() for line in lines if line.lower().startswith("to:"))

    def serve(self, got):
        """A request of another one."""
        method, call = got.first.split(" ")[0], self.calls.get(got.header("Call-ID"))
        if method == "INVITE":
            self.invited(got, call)
        elif method == "OPTIONS":
            self.options += 1
            self.answer(got, "200 OK")
        elif method == "NOTIFY":
            self.notified(got, call)
        elif method == "BYE" and call:
            call.state, call.sound.open = "released", False
            self.answer(got, "200 OK")
        elif method == "CANCEL":
            self.answer(got, "200 OK")
            if call and call.state == "rings":
                call.state = "released"
                self.answer(call.invite, "487 Request Terminated")
        elif method == "ACK":
            if call:
                call.acknowledged = True
        else:
            self.answer(got, "481 No Such Call")

    def invited(self, got, call):
        extra = [f"Contact: {self.contact}", *got.all("Record-Route")]
        if call is None:
            if self.mode == "busy":
                self.answer(got, "486 Busy Here")
                return
            now = time.monotonic()
            if self.mode == "slow" and now - self.asked_first.setdefault(got.header("Call-ID"), now) < SLOW:
                return
            call = self.calls[got.header("Call-ID")] = Call(got.header("Call-ID"), "", got.header("From"))
            call.routes, call.target = ["Route:" + line.split(":", 1)[1] for line in got.all("Record-Route")], self.uri(got)
            call.sound, self.latest, call.state = self.sound(self.address, self.user), call.key, "rings"
            call.invite = got
            self.answer(got, "180 Ringing", extra)
            if self.mode == "ring":
                return
        elif call.reply and call.reply[0] == got.header("CSeq"):
            self.wire.send(call.reply[1])
            return
        elif call.state == "rings":
            self.answer(got, "180 Ringing", extra)
            return
        self.accepts(got, call, extra)

    def accepts(self, got, call, extra):
        tag = call.sound.take(got.body) if got.body else None
        offered = re.search(r"^a=(sendonly|recvonly|inactive)", got.body, re.MULTILINE)
        direction = {"sendonly": "recvonly", "recvonly": "sendonly", "inactive": "inactive"}[offered[1]] if offered else "sendrecv"
        reply, call.near = self.answer(got, "200 OK", [*extra, "Content-Type: application/sdp"], call.sound.describe(direction, tag))
        call.reply, call.state = (got.header("CSeq"), reply), "up"

    def notified(self, got, call):
        _, sequence = self.answer(got, "200 OK"), int(got.header("CSeq").split(" ")[0])
        if got.header("Event").startswith("refer") and call:
            call.told.put(got)
            return
        of, end = self.subscription, time.monotonic() + 2
        # It may come before the answer, which gives the dialog its name.
        while of and got.header("Call-ID") == of.key and not self.tag(of.far) and time.monotonic() < end:
            time.sleep(0.02)
        # By its tags (RFC 6665, 4.1.3), and each once.
        inside = bool(of) and got.header("Call-ID") == of.key and sequence > of.heard and (
            self.tag(got.header("From")), self.tag(got.header("To"))) == (self.tag(of.far), self.tag(of.near))
        if inside:
            of.heard = sequence
        self.notes.append({"event": got.header("Event"), "state": got.header("Subscription-State"), "body": got.body, "inside": inside})

    @staticmethod
    def tag(name):
        return (re.search(r";tag=([^;]*)", name) or ("", ""))[1]

    @staticmethod
    def uri(got):
        return re.search(r"<([^>]*)>", got.header("Contact"))[1]

    def register(self, seconds="3600"):
        got = self.ask("REGISTER", f"sip:{self.server}", self.outside(self.user), [f"Expires: {seconds}"])
        self.registered = bool(got) and got.code == 200 and seconds != "0"
        self.registrations += self.registered
        granted = re.search(r"expires=(\d+)", got.header("Contact")) if got else None
        return {"code": got.code if got else 0, "seconds": int(granted[1]) if granted else 0, "connected": self.wire.connected}

    def leave(self):
        """Nobody calls it any more."""
        self.registered, of = False, self.outside(self.user)
        got = self.ask("REGISTER", f"sip:{self.server}", of, ["Expires: 0"], patience=3)
        return {"code": got.code if got else 0}

    def call(self, number, key=None):
        call = self.outside(number)
        call.key = key or call.key
        return self.invites(call, number)

    def invites(self, call, number):
        self.calls[call.key] = call
        call.sound = self.sound(self.address, self.user)
        got = self.ask("INVITE", f"sip:{number}@{self.server}", call, body=call.sound.describe("sendrecv", None))
        if not got or got.code >= 300:
            call.sound.open = False
            return {"code": got.code if got else 0}
        call.far, call.target = got.header("To"), self.uri(got)
        call.routes = ["Route:" + line.split(":", 1)[1] for line in reversed(got.all("Record-Route"))]
        call.sound.take(got.body)
        self.wire.send(self.message("ACK", call.target, call, call.sequence))
        return {"code": got.code, "call": call.key}

    def dial(self, number):
        """Makes a call and returns it once it rings; `outcome` waits for what becomes of it."""
        call = self.outside(number)
        self.results[call.key] = queue.SimpleQueue()
        threading.Thread(target=lambda: self.results[call.key].put(self.invites(call, number)), daemon=True).start()
        end = time.monotonic() + PATIENCE
        while call.key not in self.rung and time.monotonic() < end:
            time.sleep(0.01)
        return {"rings": call.key in self.rung, "call": call.key}

    def resend(self, key):
        self.wire.send(self.calls[key].invite)
        return {}

    def outcome(self, key):
        return self.results[key].get(timeout=PATIENCE)

    def cancel(self, key, branch=None):
        """Gives up a call that rings (RFC 3261, 9.1), or tries to by another branch than that of its INVITE."""
        call = self.calls[key]
        words, _, _ = call.invite.decode().partition("\r\n\r\n")
        same = [line for line in words.split("\r\n") if line.split(":")[0] in ("Via", "From", "To", "Call-ID", "Max-Forwards")]
        message = "\r\n".join([words.split("\r\n")[0].replace("INVITE", "CANCEL", 1), *same, f"CSeq: {call.sequence} CANCEL", "Content-Length: 0", "", ""])
        if branch:
            message = re.sub("branch=[^;\r]*", f"branch={branch}", message, count=1)
        got = self.transact(message.encode(), key, f"{call.sequence} CANCEL", 10)
        return {"code": got.code if got else 0}

    def accept(self, key):
        """Answers a call that rings here."""
        got = self.calls[key].invite
        self.accepts(got, self.calls[key], [f"Contact: {self.contact}", *got.all("Record-Route")])
        return {}

    def decline(self, key):
        """Refuses a call that rings here."""
        self.answer(self.calls[key].invite, "486 Busy Here")
        self.calls[key].state = "declined"
        return {}

    def last(self):
        return {"call": self.latest}

    def hear(self, key, seconds):
        sound = self.calls[key].sound
        before = sound.heard.copy()
        time.sleep(float(seconds))
        return dict(sound.heard - before)

    def invite_again(self, call, direction):
        got = self.ask("INVITE", call.target, call, body=call.sound.describe(direction, None))
        if not got or got.code >= 300:
            return {"code": got.code if got else 0}
        self.wire.send(self.message("ACK", call.target, call, call.sequence))
        call.sound.take(got.body)
        call.sound.speaks = direction == "sendrecv"
        told = re.search(r"^a=(sendrecv|sendonly|recvonly|inactive)", got.body, re.MULTILINE)
        return {"code": got.code, "other": told[1] if told else "sendrecv"}

    def hold(self, key):
        return self.invite_again(self.calls[key], "sendonly")

    def resume(self, key):
        return self.invite_again(self.calls[key], "sendrecv")

    def digit(self, key, digit):
        self.calls[key].sound.digits.put(digit)
        return {}

    def info(self, key, digit):
        got = self.ask("INFO", self.calls[key].target, self.calls[key], body=f"Signal={digit}\r\nDuration=160\r\n", kind="application/dtmf-relay")
        return {"code": got.code if got else 0}

    def refer(self, key, number, more=""):
        call = self.calls[key]
        got = self.ask("REFER", call.target, call, [f"Refer-To: <sip:{number}@{self.server}{more}>", f"Referred-By: <sip:{self.user}@{self.server}>"])
        told, end = 0, time.monotonic() + 20
        while got and got.code == 202 and told < 200 and time.monotonic() < end:
            try:
                told = int(call.told.get(timeout=1).body.split(" ")[1])
            except queue.Empty:
                pass
        return {"code": got.code if got else 0, "told": told}

    def attended(self, key, other):
        second = self.calls[other]
        tags = [self.tag(name) for name in (second.far, second.near)]
        number = re.search(r"sip:([^@>]*)@", second.far)[1]
        return self.refer(key, number, f"?Replaces={second.key.replace('@', '%40')}%3Bto-tag%3D{tags[0]}%3Bfrom-tag%3D{tags[1]}")

    def bye(self, key):
        call = self.calls[key]
        got = self.ask("BYE", call.target, call)
        call.state, call.sound.open = "ended", False
        return {"code": got.code if got else 0}

    def state(self, key):
        return {"state": self.calls[key].state, "acknowledged": self.calls[key].acknowledged}

    def subscribe(self, seconds, user=None):
        if self.subscription is None:
            self.subscription = self.outside(user or self.user)
            self.subscription.heard = 0
        call = self.subscription
        got = self.ask("SUBSCRIBE", call.target or f"sip:{user or self.user}@{self.server}", call,
                       ["Event: message-summary", "Accept: application/simple-message-summary", f"Expires: {seconds}"])
        if got and got.code < 300:
            call.far, call.target = got.header("To"), self.uri(got)
        elif not call.target:
            self.subscription = None
        return {"code": got.code if got else 0, "seconds": got.header("Expires") if got else ""}

    def repeat(self):
        got = self.transact(*self.sent)
        return {"code": got.code if got else 0}

    def subscribed(self):
        return {"key": self.subscription.key}

    def forget(self):
        self.subscription = None
        return {}

    def drain(self):
        found, self.notes = self.notes, []
        return found

    def answers(self, key):
        return {"count": len(self.answered[key])}

    def connections(self):
        return {"connected": self.wire.connected, "registered": self.registrations}

    def asked(self):
        return {"count": self.options}

    def be(self, mode):
        self.mode = mode
        return {}


def main():
    handset = Handset(*sys.argv[1:7])
    commands = {"notes": handset.drain, "mode": handset.be}
    for line in sys.stdin:
        name, *words = line.split()
        try:
            told = (commands.get(name) or getattr(handset, name))(*words)
        except Exception as error:  # Of a test: whatever it is, who asked is to know it.
            told = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
