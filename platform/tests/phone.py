"""A telephone in one process, for tests of what a platform does for its users: registers, calls with sound and digits, hears.

It is run in the namespace of telephones: phone.py ADDRESS PORT USER PASSWORD COMMAND [ARGUMENT...]. It prints what came of it as JSON:

    request METHOD NUMBER [HEADER]   one request without a password; the code of the final answer, 0 if none came
    register                         the code
    call NUMBER SECONDS [DIGITS]     the code; whether the sound that it sent came back, and whether any other did. A digit is sent each 6 s
    wait NUMBER...                   registers, is busy for who calls, and prints each NOTIFY's body, until it is ended
    hold NUMBER COUNT [early]        COUNT calls at once; the code of each; then all are ended. `early`: sends an ACK for each while it rings
    unheard NUMBER                   calls, and takes the answer for lost: prints its code, and then what it hears until the call has failed and ended
    leave NUMBER COUNT MOMENT        COUNT calls at once that speak until MOMENT, in seconds since 1970, and are all ended at it; the code of each
"""

import hashlib
import json
import os
import random
import re
import socket
import struct
import sys
import threading
import time

SERVER = ("10.77.1.100", 5060)
# As in telephones.py: A-law that is not silence, in a pattern that nothing else sends.
PATTERN = bytes(0x55 ^ (index % 40) for index in range(160))
# Twice a failover.
PATIENCE = 16


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


class Message:
    def __init__(self, data):
        self.text = data.decode(errors="replace")
        head, _, self.body = self.text.partition("\r\n\r\n")
        self.first, *self.lines = head.split("\r\n")
        self.code = int(self.first.split(" ")[1]) if self.first.startswith("SIP/2.0") else 0

    def header(self, name):
        return next((line.split(":", 1)[1].strip() for line in self.lines if line.lower().startswith(name.lower() + ":")), "")

    def all(self, name):
        return [line for line in self.lines if line.lower().startswith(name.lower() + ":")]


class Phone:
    # In Via, and at the end of the URI in Contact.
    TRANSPORT, PARAMETERS = "UDP", ""
    # Sends an ACK for a call that rings.
    early = False

    def __init__(self, address, port, user, password):
        self.address, self.port, self.user, self.password = address, int(port), user, password
        self.sip = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sip.bind((address, self.port))

    def start(self, method, number, key, tag, sequence, target, to="", routes=(), extra=(), body=""):
        uri = target or (f"sip:{SERVER[0]}" if method == "REGISTER" else f"sip:{number}@{SERVER[0]}")
        lines = [f"{method} {uri} SIP/2.0", f"Via: SIP/2.0/{self.TRANSPORT} {self.address}:{self.port};rport;branch=z9hG4bK{os.urandom(6).hex()}",
                 *routes, f"From: <sip:{self.user}@{SERVER[0]}>;tag={tag}", f"To: {to or f'<sip:{number}@{SERVER[0]}>'}", f"Call-ID: {key}",
                 f"CSeq: {sequence} {method}", f"Contact: <sip:{self.user}@{self.address}:{self.port}{self.PARAMETERS}>", "Max-Forwards: 70", *extra]
        if body:
            lines.append("Content-Type: application/sdp")
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode(), uri

    def final(self, message, key, sequence):
        """Sends it until a final answer comes: at 0.5, 1.5, 3.5 s and so on (RFC 3261, 17.1.1.2)."""
        end, pause, answered = time.monotonic() + PATIENCE, 0.5, False
        while time.monotonic() < end:
            if not answered:
                self.sip.sendto(message, SERVER)
            again = time.monotonic() + pause
            while (left := again - time.monotonic()) > 0:
                self.sip.settimeout(left)
                try:
                    got = Message(self.sip.recv(65536))
                except OSError:
                    break
                if got.header("Call-ID") == key and got.header("CSeq").startswith(f"{sequence} ") and got.code:
                    answered = True
                    if self.early and got.code == 180:
                        ack, _ = self.start("ACK", self.user, key, got.header("From").rsplit("tag=", 1)[1], sequence, "", to=got.header("To"))
                        self.sip.sendto(ack, SERVER)
                    if got.code >= 200:
                        return got
            pause = min(2 * pause, 4)
        return None

    def authorization(self, got, method, uri):
        challenge = got.header("WWW-Authenticate") or got.header("Proxy-Authenticate")
        found = dict(re.findall(r'(realm|nonce)="([^"]*)"', challenge))
        name = "Proxy-Authorization" if got.header("Proxy-Authenticate") else "Authorization"
        secret = md5(f"{self.user}:{found['realm']}:{self.password}")
        response = md5(f"{secret}:{found['nonce']}:{md5(f'{method}:{uri}')}")
        return (f'{name}: Digest username="{self.user}", realm="{found["realm"]}", nonce="{found["nonce"]}", uri="{uri}", '
                f'response="{response}", algorithm=MD5')

    def ask(self, method, number, extra=(), body="", prove=True):
        """A request outside of a dialog, with the password if it is asked for; the final answer, and how to go on."""
        key, tag, sequence = f"{os.urandom(8).hex()}@{self.address}", os.urandom(4).hex(), 1
        while True:
            message, uri = self.start(method, number, key, tag, sequence, "", extra=extra, body=body)
            got = self.final(message, key, sequence)
            if method == "INVITE" and got and got.code >= 300:
                via = message.decode().split("\r\n")[1]
                ack, _ = self.start("ACK", number, key, tag, sequence, "", to=got.header("To"))
                self.sip.sendto(re.sub(rb"Via: [^\r]*", via.encode(), ack, count=1), SERVER)
            if not (prove and got and got.code in (401, 407) and sequence == 1):
                return got, (key, tag, sequence)
            sequence, extra = 2, [*extra, self.authorization(got, method, uri)]

    def register(self):
        got, _ = self.ask("REGISTER", self.user, ["Expires: 3600"])
        return got.code if got else 0

    def offer(self, media):
        return (f"v=0\r\no=- 1 1 IN IP4 {self.address}\r\ns=-\r\nc=IN IP4 {self.address}\r\nt=0 0\r\nm=audio {media or 9000} RTP/AVP 8 101\r\n"
                "a=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\n")

    def invite(self, number, media=0):
        body = self.offer(media)
        got, (key, tag, sequence) = self.ask("INVITE", number, body=body)
        if not got or got.code >= 300:
            return got, None
        target = re.search(r"<([^>]*)>", got.header("Contact"))[1]
        routes = ["Route:" + line.split(":", 1)[1] for line in reversed(got.all("Record-Route"))]
        ack, _ = self.start("ACK", number, key, tag, sequence, target, got.header("To"), routes)
        self.sip.sendto(ack, SERVER)

        def bye(wait=True):
            message, _ = self.start("BYE", number, key, tag, sequence + 1, target, got.header("To"), routes)
            if not wait:
                self.sip.sendto(message, SERVER)
                return message, key, sequence + 1
            return self.final(message, key, sequence + 1)
        return got, bye

    def call(self, number, seconds, digits=""):
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind((self.address, self.port + 1000))
        got, bye = self.invite(number, self.port + 1000)
        if bye is None:
            return {"code": got.code if got else 0}
        peer = (re.search(r"c=IN IP4 (\S+)", got.body)[1], int(re.search(r"m=audio (\d+)", got.body)[1]))
        heard, end = {"own": 0, "other": 0}, time.monotonic() + float(seconds)

        def listen():
            while time.monotonic() < end:
                media.settimeout(0.5)
                try:
                    sound = media.recv(2048)[12:]
                except OSError:
                    continue
                if len(sound) == 160 and sound in PATTERN * 2 + PATTERN[:40]:
                    heard["own"] += 1
                elif len(set(sound)) > 20:
                    heard["other"] += 1
        ear = threading.Thread(target=listen)
        ear.start()
        self.speak(media, peer, end, digits)
        ear.join()
        bye()
        return {"code": got.code, **heard}

    def speak(self, media, peer, end, digits):
        """Sound each 20 ms, and each 6 s a digit of 100 ms (RFC 4733)."""
        ssrc, sequence, stamp = random.getrandbits(32), random.getrandbits(15), random.getrandbits(31)
        begun, number = time.monotonic(), 0
        while time.monotonic() < end:
            place, of = number % 300, number // 300
            if of >= 1 and of <= len(digits) and place < 8:
                # Three of its eight packets say that it is over.
                event = struct.pack("!BBH", "0123456789*#".index(digits[of - 1]), 0x8A if place >= 5 else 0x0A, 160 * (min(place, 5) + 1))
                packet = struct.pack("!BBHII", 0x80, 101 | (0x80 if place == 0 else 0), sequence, stamp + 160 * 300 * of, ssrc) + event
            else:
                packet = struct.pack("!BBHII", 0x80, 8, sequence, stamp + 160 * number, ssrc) + PATTERN
            media.sendto(packet, peer)
            number, sequence = number + 1, (sequence + 1) % 65536
            time.sleep(max(0, begun + 0.02 * number - time.monotonic()))

    def answer(self, data, peer, status, extra=(), body=""):
        got = Message(data)
        lines = [line for name in ("Via", "From", "To", "Call-ID", "CSeq") for line in got.all(name)]
        lines = [f"{line};tag=phone" if line.lower().startswith("to:") and ";tag=" not in line else line for line in lines]
        self.sip.sendto("\r\n".join([f"SIP/2.0 {status}", *lines, *extra, f"Content-Length: {len(body)}", "", body]).encode(), peer)
        return got

    def wait(self):
        print(json.dumps({"code": self.register()}), flush=True)
        while True:
            self.sip.settimeout(None)
            data, peer = self.sip.recvfrom(65536)
            if data.startswith(b"INVITE"):
                self.answer(data, peer, "486 Busy Here")
            elif data.startswith(b"NOTIFY"):
                print(json.dumps({"body": self.answer(data, peer, "200 OK").body}), flush=True)

    def unheard(self, number):
        """A call whose 200 is lost on its way: what comes after it, until its INVITE is refused and its other end has sent BYE."""
        got, (key, tag, sequence) = self.ask("INVITE", number, body=self.offer(0))
        print(json.dumps({"code": got.code if got else 0}), flush=True)
        heard, end = set(), time.monotonic() + PATIENCE
        while len(heard) < 2 and time.monotonic() < end:
            self.sip.settimeout(max(0.01, end - time.monotonic()))
            try:
                data, peer = self.sip.recvfrom(65536)
            except OSError:
                break
            got = Message(data)
            if got.header("Call-ID") != key:
                continue
            if data.startswith(b"BYE"):
                heard.add("BYE")
                self.answer(data, peer, "200 OK")
            elif got.code >= 300:
                heard.add(got.code)
                ack, _ = self.start("ACK", number, key, tag, sequence, "", to=got.header("To"))
                self.sip.sendto(ack, SERVER)
        return {"heard": sorted(map(str, heard))}

    def leave(self, number, count, moment):
        """Speaks to COUNT mailboxes, or to one in as many calls, and ends all of them in the same instant."""
        calls, end = [], time.monotonic() + float(moment) - time.time()
        for index in range(int(count)):
            media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            media.bind((self.address, self.port + 1000 + 2 * index))
            got, bye = self.invite(number, self.port + 1000 + 2 * index)
            calls.append((got.code if got else 0, bye))
            if bye:
                peer = (re.search(r"c=IN IP4 (\S+)", got.body)[1], int(re.search(r"m=audio (\d+)", got.body)[1]))
                # A # skips what the mailbox says before the tone.
                threading.Thread(target=self.speak, args=(media, peer, end, "#")).start()
        time.sleep(max(0, end - time.monotonic()))
        for sent in [bye(wait=False) for _, bye in calls if bye]:
            self.final(*sent)
        return [code for code, _ in calls]

    def hold(self, number, count, early=""):
        self.early = bool(early)
        calls = [self.invite(number) for _ in range(int(count))]
        codes = [got.code if got else 0 for got, _ in calls]
        for _, bye in calls:
            if bye:
                bye()
        return codes


def main():
    phone, command, arguments = Phone(*sys.argv[1:5]), sys.argv[5], sys.argv[6:]
    if command == "wait":
        phone.wait()
    elif command == "request":
        got, _ = phone.ask(arguments[0], arguments[1], arguments[2:], prove=False)
        print(json.dumps({"code": got.code if got else 0}))
    elif command == "register":
        print(json.dumps({"code": phone.register()}))
    else:
        print(json.dumps({"call": phone.call, "hold": phone.hold, "leave": phone.leave, "unheard": phone.unheard}[command](*arguments)))


if __name__ == "__main__":
    main()
