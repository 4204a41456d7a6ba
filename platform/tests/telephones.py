"""Telephones for the tests: SIPp processes in the namespace of telephones, calling with sound or answering, and a probe that asks SIP
OPTIONS."""

import csv
import hashlib
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "here"))

import nodes  # noqa: E402
from capture import VIRTUAL  # noqa: E402

ADDRESS = nodes.address(nodes.PHONES)
# Each process has an address of its own: a proxy bans one that asks as much as all of them together.
ADDRESSES = [ADDRESS, *(f"10.77.1.{number}" for number in range(141, 156))]
INSIDE = ["ip", "netns", "exec", nodes.PREFIX + nodes.PHONES]
# Extensions of the PBXs: echo at once, after ringing for 10 s, after as many seconds of nothing as the PBX is told, and after ringing for
# a moment. And the telephone that answers.
ECHO, RINGS, SILENT, RINGS_SHORTLY, RINGS_LATE, ANSWERS = "600", "601", "602", "603", "604", "1100"
USERS = range(1001, 1101)


def password(folder, user):
    """As the roles derive it from the generated one."""
    generated = (folder / "secrets/subscribers").read_text().strip()
    return hashlib.sha256(f"{generated}{user}".encode()).hexdigest()[:24]


class Calls:
    """SIPp with `count` calls of `seconds` each, `rate` of them begun a second, at most `active` at once; all from one process, at an
    address of its own if it is not ADDRESS."""

    def __init__(self, folder, where, count, rate, seconds, service=ECHO, port=5070, media=20000, users=USERS, address=ADDRESS, active=None):
        self.where = Path(where)
        self.where.mkdir(parents=True, exist_ok=True)
        self.count = count
        # Those of a run before are not this one's.
        for name in ("statistics.csv", "errors.log"):
            (self.where / name).unlink(missing_ok=True)
        nodes.ip("-n", nodes.PREFIX + nodes.PHONES, "address", "replace", f"{address}/24", "dev", "eth0")
        # A tone that is not silence in A-law, 20 s of it.
        (self.where / "sound.alaw").write_bytes(bytes((0x55 ^ (index % 40)) for index in range(160000)))
        # Half of them send no ACK to 503: of each two, since the proxies give calls to the PBXs in turn.
        lines = [f"{user};[authentication username={user} password={password(folder, user)}];{round(seconds)};{'silent' if user % 4 < 2 else 'acknowledges'}"
                 for user in users]
        (self.where / "users.csv").write_text("SEQUENTIAL\n" + "\n".join(lines) + "\n")
        # It ends by itself: SIPp by -timeout, and by the kernel if SIPp does not.
        limit = int(seconds + count / rate + 90)
        command = [*INSIDE, "timeout", str(limit + 10), "sipp", "-sf", HERE / "call.xml", "-inf", "users.csv", "-s", service,
                   "-i", address, "-p", port, "-mi", address, "-mp", media, "-m", count, "-l", active or count, "-r", rate, "-timeout", limit, "-nostdin",
                   "-trace_stat", "-stf", "statistics.csv", "-fd", "1", "-trace_err", "-error_file", "errors.log",
                   f"{VIRTUAL}:5060"]
        self.output = open(self.where / "sipp.log", "w")
        self.process = subprocess.Popen(list(map(str, command)), cwd=self.where, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.output)

    def statistics(self):
        """The last line of SIPp's statistics, by column."""
        try:
            rows = list(csv.DictReader(open(self.where / "statistics.csv"), delimiter=";"))
        except OSError:
            return {}
        return rows[-1] if rows else {}

    def figure(self, name):
        return int(self.statistics().get(name) or 0)

    def wait(self):
        """Waits until all calls have ended; returns how many succeeded and failed."""
        status = self.process.wait()
        self.output.close()
        # SIPp crashes at times; its calls get no answer then, in which the platform has no part. 124: it was ended by `timeout`, as it does not
        # hang up a call that it forgot; what became of that is in the packets.
        if not 0 <= status <= 124:
            raise nodes.Failure(f"SIPp ended with {status}, its calls show nothing, see {self.where / 'sipp.log'}")
        return self.figure("SuccessfulCall(C)"), self.figure("FailedCall(C)")

    def complaints(self):
        """What SIPp says of calls that it aborted, a line each."""
        try:
            told = (self.where / "errors.log").read_text(errors="replace")
        except OSError:
            return []
        return re.findall(r"Aborting call on [^\n\r]*|Call-Id: [^\n\r]*?aborting call", told)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.output.close()


class Answering:
    """The telephone ANSWERS: registered, answers each call, sends its sound back, and hangs up when it is told to."""

    PORT, MEDIA = 5090, 30000

    def __init__(self, folder, where):
        self.where = Path(where)
        self.where.mkdir(parents=True, exist_ok=True)
        # From the port that it is called at, which is free until SIPp has it.
        nodes.run(*INSIDE, sys.executable, __file__, "register", ANSWERS, password(folder, ANSWERS), self.PORT)
        command = [*INSIDE, "timeout", 600, "sipp", "-sf", HERE / "answer.xml", "-i", nodes.address(nodes.PHONES), "-p", self.PORT,
                   "-mi", nodes.address(nodes.PHONES), "-mp", self.MEDIA, "-rtp_echo", "-nostdin"]
        self.output = open(self.where / "sipp.log", "w")
        self.process = subprocess.Popen(list(map(str, command)), cwd=self.where, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.output)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.output.close()


class Probe:
    """Asks the virtual address by OPTIONS, 50 times a second, from its own namespace; keeps the times of answers."""

    def __init__(self, where):
        self.answers = Path(where) / "options.txt"
        command = [*INSIDE, sys.executable, __file__, "probe", self.answers]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL)

    def times(self):
        try:
            return [float(line) for line in self.answers.read_text().split("\n")[:-1]]
        except OSError:
            return []

    def last(self):
        times = self.times()
        return times[-1] if times else 0.0

    def outage(self, since):
        """Seconds of the longest time without an answer that ended after `since`."""
        times = self.times()
        return max((b - a for a, b in zip(times, times[1:]) if b > since), default=None)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def probe(path):
    """What the probe's process does: requests leave each 20 ms whether or not there are answers."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((nodes.address(nodes.PHONES), 6060))
    host, port = sock.getsockname()

    def ask():
        number = 0
        while True:
            number += 1
            message = (f"OPTIONS sip:{VIRTUAL} SIP/2.0\r\nVia: SIP/2.0/UDP {host}:{port};rport;branch=z9hG4bKp{number}\r\n"
                       f"From: <sip:probe@{host}>;tag=p\r\nTo: <sip:{VIRTUAL}>\r\nCall-ID: probe{number}\r\nCSeq: 1 OPTIONS\r\n"
                       "Max-Forwards: 5\r\nContent-Length: 0\r\n\r\n")
            try:
                sock.sendto(message.encode(), (VIRTUAL, 5060))
            except OSError:
                pass
            time.sleep(0.02)
    threading.Thread(target=ask, daemon=True).start()
    with open(path, "w", buffering=1) as out:
        while True:
            try:
                if sock.recv(4096).startswith(b"SIP/2.0 200"):
                    out.write(f"{time.time():.3f}\n")
            except OSError:
                pass


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def register(user, word, port):
    """Registers a telephone at `port` of this namespace for an hour; asks again while nothing answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((nodes.address(nodes.PHONES), int(port)))
        sock.settimeout(1)
        uri, authorization, key = f"sip:{VIRTUAL}", "", f"register{user}-{time.time()}"
        for number in range(1, 61):
            message = (f"REGISTER {uri} SIP/2.0\r\nVia: SIP/2.0/UDP {nodes.address(nodes.PHONES)}:{port};branch=z9hG4bKr{number}\r\n"
                       f"From: <sip:{user}@{VIRTUAL}>;tag=r\r\nTo: <sip:{user}@{VIRTUAL}>\r\nCall-ID: {key}\r\n"
                       f"CSeq: {number} REGISTER\r\nContact: <sip:{user}@{nodes.address(nodes.PHONES)}:{port}>\r\nExpires: 3600\r\n"
                       f"Max-Forwards: 70\r\n{authorization}Content-Length: 0\r\n\r\n")
            sock.sendto(message.encode(), (VIRTUAL, 5060))
            try:
                answer = sock.recv(4096).decode()
            except TimeoutError:
                continue
            if answer.startswith("SIP/2.0 200"):
                return
            challenge = dict(re.findall(r'(realm|nonce)="([^"]*)"', answer))
            if challenge:
                secret = md5(f"{user}:{challenge['realm']}:{word}")
                response = md5(f"{secret}:{challenge['nonce']}:{md5(f'REGISTER:{uri}')}")
                authorization = (f'Authorization: Digest username="{user}", realm="{challenge["realm"]}", nonce="{challenge["nonce"]}", '
                                 f'uri="{uri}", response="{response}"\r\n')
    sys.exit(f"telephone {user} cannot register")


if __name__ == "__main__":
    {"probe": probe, "register": register}[sys.argv[1]](*sys.argv[2:])
