#!/usr/bin/env python3
"""What the platform does for its users and against others: services.py [TEST...]. The platform is up before.

Each test asserts behaviour. Voicemail: a message that is left while a PBX and a database are lost is read on the other PBX from the
other database. Guesses, scans and floods are banned by both proxies.
"""

import argparse
import concurrent.futures
import contextlib
import json
import re
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import checks  # noqa: E402
import images  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402
import telephones  # noqa: E402

# Where who must be banned asks from: not where telephones are.
STRANGER = "10.77.1.42"
USER, CALLER = "1050", "1051"
# A telephone over TLS, one that calls over TLS, and one whose minutes end.
SECURE, SECURE_CALLER, TALKER = "1055", "1056", "1057"


class Wrong(Exception):
    """Behaviour that is not as it should be."""


def check(fact, message):
    if not fact:
        raise Wrong(message)


def command(folder, user, *words, address=telephones.ADDRESS, port=5400, password=None):
    word = password or telephones.password(folder, user)
    return [*telephones.INSIDE, "timeout", "300", sys.executable, str(HERE / "phone.py"), address, str(port), user, word, *map(str, words)]


def phone(folder, user, *words, **options):
    """Runs a telephone; returns what came of it."""
    done = subprocess.run(command(folder, user, *words, **options), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=True)
    return json.loads(done.stdout)


@contextlib.contextmanager
def stranger(folder):
    """Another address for the time of a test; its bans are lifted after it."""
    space, there = nodes.PREFIX + nodes.PHONES, f"{STRANGER}/24"
    nodes.ip("-n", space, "address", "add", there, "dev", "eth0")
    try:
        yield
    finally:
        nodes.ip("-n", space, "address", "delete", there, "dev", "eth0")
        for name in checks.PROXIES:
            for table in ("bans", "failures", "challenges"):
                nodes.Node(folder, name).ask("kamcmd", "htable.delete", table, STRANGER)
            nodes.Node(folder, name).ask("kamcmd", "htable.flush", "asked")


def banned(folder, name):
    """Whether a proxy bans the stranger."""
    return nodes.Node(folder, name).ask("kamcmd", "htable.dump", "bans").stdout.count(STRANGER) > 0


def assert_banned(folder, why):
    for name in checks.PROXIES:
        nodes.wait(lambda name=name: banned(folder, name), f"{name} does not ban who {why}")
    told = phone(folder, USER, "register", address=STRANGER)
    check(told["code"] == 0, f"who {why} is answered {told['code']}, also with the right password")
    told = phone(folder, USER, "register")
    check(told["code"] == 200, f"another telephone is answered {told['code']} while a source is banned")


def guessing(folder):
    """Wrong passwords: banned, by the other proxy too once it has the address."""
    with stranger(folder):
        for number in range(40):
            told = phone(folder, USER, "register", address=STRANGER, password=f"guess{number}")
            check(told["code"] in (0, 401), f"a wrong password is answered {told['code']}")
            if told["code"] == 0:
                break
        assert_banned(folder, "guesses passwords")
        move(folder)
        assert_banned(folder, "guessed passwords before a failover")


def scanning(folder):
    """One that calls itself a scanner, and one that tries numbers without a password; not one that repeats what nobody has answered."""
    with stranger(folder):
        phone(folder, USER, "request", "OPTIONS", "100", "User-Agent: friendly-scanner", address=STRANGER)
        assert_banned(folder, "calls itself a scanner")
    with stranger(folder):
        with Sender() as sender:
            for number in range(150):
                sender.send(invite(number))
                time.sleep(0.02)
        assert_banned(folder, "scans numbers")
    with stranger(folder):
        with Sender() as sender:
            for _ in range(150):
                sender.send(invite(1))
                time.sleep(0.02)
        told = phone(folder, USER, "register", address=STRANGER)
        check(told["code"] == 200, f"a telephone behind the address of one that repeats a request is answered {told['code']}")


class Sender:
    """A process in the namespace of telephones that sends what it is given, from the stranger's address."""

    PROGRAM = ("import socket, sys, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind((sys.argv[1], 5500))\n"
               "while True:\n    size = sys.stdin.buffer.read(4)\n    if len(size) < 4: break\n"
               "    s.sendto(sys.stdin.buffer.read(struct.unpack('!I', size)[0]), (sys.argv[2], 5060))\n")

    def __enter__(self):
        self.process = subprocess.Popen([*telephones.INSIDE, sys.executable, "-c", self.PROGRAM, STRANGER, telephones.VIRTUAL],
                                        stdin=subprocess.PIPE)
        return self

    def send(self, message):
        self.process.stdin.write(len(message).to_bytes(4, "big") + message)
        self.process.stdin.flush()

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def invite(number):
    return (f"INVITE sip:{100 + number}@{telephones.VIRTUAL} SIP/2.0\r\nVia: SIP/2.0/UDP {STRANGER}:5500;branch=z9hG4bKs{number}\r\n"
            f"From: <sip:{100 + number}@{telephones.VIRTUAL}>;tag=s\r\nTo: <sip:{100 + number}@{telephones.VIRTUAL}>\r\n"
            f"Call-ID: scan{number}\r\nCSeq: 1 INVITE\r\nContact: <sip:s@{STRANGER}:5500>\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n").encode()


# Sends its standard input from the address that is named first, and prints the first line of the answer.
ASKS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 5500))
s.settimeout(3)
s.sendto(sys.stdin.buffer.read(), (sys.argv[2], 5060))
print(s.recv(4096).decode().split("\\r\\n")[0])
"""


def bars(folder):
    """Proxies put bars between what they remember of a call: who sends one there is refused, and cannot write another call's."""
    with stranger(folder):
        def asked(*replaced):
            return nodes.run(*telephones.INSIDE, sys.executable, "-c", ASKS, STRANGER, telephones.VIRTUAL, given=invite(1).decode().replace(*replaced)).strip()
        check(asked("", "").startswith("SIP/2.0 407"), "an INVITE without a bar is not asked for its password")
        for told in ("scan1", "tag=s", f"From: <sip:101@{telephones.VIRTUAL}>", f"To: <sip:101@{telephones.VIRTUAL}>"):
            barred = told.replace("101@", "101|1@") if "@" in told else told + "|1"
            got = asked(told, barred)
            check(got.startswith("SIP/2.0 400"), f"an INVITE with {barred!r} is answered {got!r}")


# Sends its standard input from the address that is named first; prints the first line of the answer, and that of what came to port 5501.
RELAYED = """
import socket, sys
s, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
for each, port in ((s, 5500), (other, 5501)):
    each.bind((sys.argv[1], port))
    each.settimeout(2)
s.sendto(sys.stdin.buffer.read(), (sys.argv[2], 5060))
for each in (s, other):
    try:
        print(each.recv(4096).decode().split("\\r\\n")[0])
    except TimeoutError:
        print("nothing")
"""


SOUND = f"v=0\r\no=- 1 1 IN IP4 {STRANGER}\r\ns=-\r\nc=IN IP4 {STRANGER}\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n"


def relay(folder):
    """A request that says that it belongs to a call goes from a telephone to the SIP of a PBX, and to nobody else, whatever its Route headers say;
    so does a reply to what nobody has asked, whatever its Via headers say. What does not is counted. A PBX has no such call."""
    route, third = f"Route: <sip:{telephones.VIRTUAL};lr>\r\n", f"sip:s@{STRANGER}:5501"
    with stranger(folder):
        def asked(first, path, method, body=""):
            """The first line of the answer, and of what came to the third."""
            unique = time.monotonic_ns()
            message = (f"{first}\r\n{path.format(branch=f'z9hG4bK{unique}')}From: <sip:101@{telephones.VIRTUAL}>;tag=s\r\n"
                       f"To: <sip:102@{telephones.VIRTUAL}>;tag=t\r\nCall-ID: relay{unique}\r\nCSeq: 1 {method}\r\n"
                       f"Contact: <sip:s@{STRANGER}:5500>\r\nMax-Forwards: 70\r\n"
                       f"Content-Type: application/sdp\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            return nodes.run(*telephones.INSIDE, sys.executable, "-c", RELAYED, STRANGER, telephones.VIRTUAL, given=message).splitlines()

        def request(method, uri, routes, body=""):
            return asked(f"{method} {uri} SIP/2.0", f"Via: SIP/2.0/UDP {STRANGER}:5500;branch={{branch}}\r\n{routes}", method, body)

        def sessions():
            return {name: checks.media_sessions(folder, name) for name in checks.PROXIES}

        def strays():
            return int(re.search(r"strays: (\d+)", nodes.Node(folder, checks.owner(folder))("kamcmd", "stats.fetch", "strays"))[1])
        pbx = f"{nodes.address('pbx1')}:5060"
        for method, uri, routes in (("BYE", third, route), ("INVITE", third, route), ("ACK", third, route),
                                    ("MESSAGE", f"sip:600@{pbx}", f"{route}Route: <{third};lr>\r\n"),
                                    ("BYE", f"{third};alias={STRANGER}~5501~1", route),
                                    ("BYE", f"sip:600@{pbx[:-1]}1", route), ("BYE", f"sip:600@{pbx};transport=tcp", route)):
            answer, reached = request(method, uri, routes)
            check(reached == "nothing", f"a stranger's {method} to {uri} by {routes.split()} is relayed: {reached}")
            check(answer.startswith("SIP/2.0 404") or method == "ACK" and answer == "nothing", f"a stranger's {method} to {uri} is answered {answer!r}")
        before = sessions()
        for method, body in (("BYE", ""), ("INVITE", SOUND), ("INVITE", SOUND)):
            answer, _ = request(method, f"sip:600@{pbx}", route, body)
            check(answer.startswith("SIP/2.0 481"), f"a PBX answers a {method} of a call that it does not have: {answer!r}")
        nodes.wait(lambda: sessions() == before, lambda: f"rtpengine has {sessions()} sessions for calls that nobody has, {before} before", patience=5)
        own = f"Via: SIP/2.0/UDP {telephones.VIRTUAL};branch={{branch}}"
        counted = strays()
        theirs = f"SIP/2.0/UDP {STRANGER}:5501;branch={{branch}}2"
        for number, path in enumerate((f"{own}\r\nVia: {theirs}\r\n", f"{own}, {theirs}\r\n",
                                       f"{own}\r\nVia: SIP/2.0/UDP {pbx};received={STRANGER};rport=5501;branch={{branch}}2\r\n"), 1):
            _, reached = asked("SIP/2.0 200 OK", path, "BYE")
            check(reached == "nothing", f"a stranger's reply by {path.split()} is relayed: {reached}")
            check(strays() == counted + number, f"a reply that is dropped is not counted: {counted} before, {strays()} after {number}")
        with Sender() as sender:
            for number in range(150):
                sender.send(invite(number).replace(b"INVITE", b"BYE").replace(b">\r\nCall-ID", b">;tag=t\r\n" + route.encode() + b"Call-ID")
                            .replace(telephones.VIRTUAL.encode() + b" SIP", STRANGER.encode() + b" SIP", 1))
                time.sleep(0.02)
        assert_banned(folder, "has requests relayed elsewhere")


def flood(folder):
    """More requests in two seconds than a source may make."""
    with stranger(folder), Sender() as sender:
        for number in range(2000):
            sender.send(invite(number).replace(b"INVITE", b"OPTIONS"))
        assert_banned(folder, "floods")


def prefixes(folder):
    """Premium numbers and other countries are closed."""
    for number in ("0900123456", "0033123456789", "+8816123456", "011441234567", "1900555123"):
        told = phone(folder, CALLER, "call", number, 1)
        check(told["code"] == 403, f"a call to {number} is answered {told['code']}, not 403")
    told = phone(folder, CALLER, "call", "600", 2)
    check(told["code"] == 200, f"a call to 600 is answered {told['code']} after that")


def limit(folder):
    """Four calls at once; the fifth is refused, and one that ends makes room."""
    for _ in range(2):
        codes = phone(folder, CALLER, "hold", "600", 6)
        check(codes == [200] * 4 + [486] * 2, f"six calls of one user at once are answered {codes}")
    # An ACK that belongs to nothing does not end what is counted.
    codes = phone(folder, CALLER, "hold", telephones.RINGS_SHORTLY, 6, "early")
    check(codes == [200] * 4 + [486] * 2, f"six calls at once of a user who acknowledges them while they ring are answered {codes}")


def menu(folder):
    """The menu: 1 is the echo."""
    told = phone(folder, CALLER, "call", "660", 14, "1")
    check(told["code"] == 200 and told["other"] > 50, f"the menu says nothing: {told}")
    check(told["own"] > 50, f"1 in the menu does not lead to the echo: {told}")


def music(folder):
    told = phone(folder, CALLER, "call", "670", 5)
    check(told["code"] == 200 and told["other"] > 100 and told["own"] == 0, f"there is no music: {told}")


def stop_pbx(folder, name):
    nodes.Node(folder, "arbiter")("crm_resource", "--ban", "--resource", "pbxs", "--node", name)
    nodes.wait(lambda: name not in checks.Cluster(folder).running("pbx"), f"the PBX of {name} does not stop")


def told_waits(waiting, waits, what):
    """Reads what a telephone is told of its mailbox until it is this: when it registers it is told what was there a few seconds before."""
    told = []
    for line in waiting.stdout:
        told.append(json.loads(line)["body"])
        if f"Voice-Message: {waits} " in told[-1]:
            return
    raise Wrong(f"{what} the telephone is never told {waits}, but {told}")


def voicemail(folder):
    """Left on one PBX while the other and a database are lost; read on the other while the first is stopped."""
    lost, other = checks.PBXS
    database = nodes.Node(folder, checks.DATABASES[0])
    # What earlier runs left.
    nodes.Node(folder, checks.DATABASES[1])("mysql", "--execute", f"DELETE FROM asterisk.voicemessages WHERE mailboxuser = '{USER}'")
    waiting = subprocess.Popen(command(folder, USER, "wait", port=5410), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        told = json.loads(waiting.stdout.readline())
        check(told["code"] == 200, f"the telephone cannot register: {told}")
        database.power_off()
        nodes.cable(lost, "down")
        told = phone(folder, CALLER, "call", USER, 25)
        check(told["code"] == 200, f"the mailbox of a busy telephone answers {told}")
        told_waits(waiting, "1/0", "when a message was left")
        nodes.wait(lambda: lost in checks.Cluster(folder).running("pbx"), f"the PBX of {lost} does not come back")
        stop_pbx(folder, other)
        check(not database.is_up(), "the database that was lost is up again: nothing is tested")
        nodes.wait(lambda: active_on_both(folder, 1), "the proxies do not see that a PBX stopped")
        # More than once: what is said before takes longer while the first database does not answer.
        told = phone(folder, USER, "call", "650", 60, "111")
        check(told["code"] == 200 and told["own"] > 100, f"the message is not heard on {lost}: {told}")
        told_waits(waiting, "0/1", "after it was heard")
    finally:
        waiting.terminate()
        waiting.wait()
        waiting.stdout.close()
        nodes.Node(folder, "arbiter").ask("crm_resource", "--clear", "--resource", "pbxs")
        if not database.is_up():
            database.boot(images.make(nodes.NODES[database.name][0], folder / "roots"))
        checks.wait(folder)


# Sends OPTIONS, 50 times a second, from the address that is named first to the PBX at the second.
ASKS_ON = """
import socket, sys, time
own, pbx = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((own, 0))
for number in range(10000):
    lines = [f"OPTIONS sip:check@{pbx} SIP/2.0", f"Via: SIP/2.0/UDP {own}:{s.getsockname()[1]};rport;branch=z9hG4bKon{number}",
             f"From: <sip:check@{own}>;tag=on", f"To: <sip:check@{pbx}>",
             f"Call-ID: on{number}", "CSeq: 1 OPTIONS", "Max-Forwards: 5", "Content-Length: 0", "", ""]
    s.sendto("\\r\\n".join(lines).encode(), (pbx, 5060))
    time.sleep(0.02)
"""


def busy(folder):
    """A PBX that answers its check late, while it answers others, is not restarted, and all its calls with it; one that does not answer its check for
    longer is."""
    name = checks.PBXS[0]
    node, proxy = nodes.Node(folder, name), checks.PROXIES[0]

    def process():
        return node("systemctl", "show", "--property=MainPID", "asterisk")

    def loses(which):
        """The PBX loses these of the packets of its check."""
        node("nft", f"flush chain inet lost in; add rule inet lost in iif lo udp dport 5060 {which} drop")
    before = process()
    others = subprocess.Popen(["nsenter", f"--net=/run/netns/{nodes.PREFIX}{proxy}", sys.executable, "-c", ASKS_ON, nodes.address(proxy), nodes.address(name)])
    try:
        node("nft", "add table inet lost { chain in { type filter hook input priority -300; }; }")
        # A check sends four in its second, and one 0.3 s after the first of the next three.
        loses("numgen inc mod 8 < 5")
        time.sleep(15)
        check(others.poll() is None, "nobody asks the PBX any more")
        check(process() == before, "a PBX that answers its check late, and others at once, is restarted")
        said = node("journalctl", "--quiet", "--no-pager", "--since=-15s", "--identifier=platform")
        check("answered late" in said, f"that the check is answered late is not said: {said}")
        loses("")
        nodes.wait(lambda: process() != before, "a PBX that never answers its check, though it answers others, is not restarted", patience=15)
    finally:
        others.terminate()
        others.wait()
        node.ask("nft", "delete table inet lost")
    checks.wait(folder)


def together(folder):
    """Many messages for one mailbox that end in the same instant on both PBXs: none is lost, none replaces another, all are read."""
    database, callers, each = nodes.Node(folder, checks.DATABASES[1]), range(1060, 1063), 4
    ask = ("mysql", "--batch", "--skip-column-names", "--execute")
    database(*ask, f"DELETE FROM asterisk.voicemessages WHERE mailboxuser = '{USER}'")
    waiting = subprocess.Popen(command(folder, USER, "wait", port=5410), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        told = json.loads(waiting.stdout.readline())
        check(told["code"] == 200, f"the telephone cannot register: {told}")
        moment = time.time() + 40
        leaving = [subprocess.Popen(command(folder, str(caller), "leave", USER, each, moment, port=5500 + 10 * number), stdout=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, text=True) for number, caller in enumerate(callers)]
        codes = [code for process in leaving for code in json.loads(process.communicate()[0])]
        # Some find it busy. Who was answered has left a message.
        codes = [code for code in codes if code != 486]
        check(codes == [200] * len(codes) and len(codes) > 5, f"{len(callers) * each} calls to a mailbox at once are answered {codes}")
        left = f"SELECT COUNT(*), MIN(LENGTH(recording)) > 10000 FROM asterisk.voicemessages WHERE mailboxuser = '{USER}'"
        wanted = [str(len(codes)), "1"]
        nodes.wait(lambda: database(*ask, left).split() == wanted,
                   lambda: f"of {len(codes)} messages that ended together there are (number, all with sound): {database(*ask, left)}", patience=60)
        through = set(database(*ask, f"SELECT DISTINCT msgnum % 2 FROM asterisk.voicemessages WHERE mailboxuser = '{USER}'").split())
        check(through == {"0", "1"}, "all messages were left on the same PBX: nothing is tested")
        # The first is heard; that closes the folder, which Asterisk numbers anew before.
        told = phone(folder, USER, "call", "650", 30, "1")
        check(told["code"] == 200 and told["own"] > 50, f"the first of many messages is not heard: {told}")
        nodes.wait(lambda: database(*ask, left).split() == wanted, lambda: f"after one of {len(codes)} was heard there are {database(*ask, left)}",
                   patience=60)
    finally:
        waiting.terminate()
        waiting.wait()
        waiting.stdout.close()


def secure_command(folder, user, *words, port):
    return [*telephones.INSIDE, "timeout", "300", sys.executable, str(HERE / "secure.py"), telephones.ADDRESS, str(port), user,
            telephones.password(folder, user), str(folder / "secrets/authority.pem"), *map(str, words)]


def begin(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def called(folder):
    """A telephone without TLS calls the one with it, and hears its own sound."""
    told = phone(folder, CALLER, "call", SECURE, 6)
    check(told["code"] == 200 and told["own"] > 100, f"a call to a telephone over TLS with SRTP: {told}")


def move(folder):
    owner = checks.owner(folder)
    peer = next(name for name in checks.PROXIES if name != owner)
    arbiter = nodes.Node(folder, "arbiter")
    arbiter("crm_resource", "--move", "--resource", "address", "--node", peer)
    try:
        nodes.wait(lambda: checks.owner(folder) == peer, f"the address does not move to {peer}")
    finally:
        arbiter("crm_resource", "--clear", "--resource", "address")


def lose(folder):
    owner = checks.owner(folder)
    nodes.cable(owner, "down")
    nodes.wait(lambda: checks.owner(folder) not in (None, owner), f"the address does not leave {owner}, whose cables are pulled")


def secure(folder):
    """TLS and SRTP: calls both ways, and one whose sequence numbers have wrapped when the address moves, and when the proxy is lost.
    Its sound goes on; its connection ends with the proxy, so the telephone connects again for its next request. One that is called
    registers again once it sees that its connection has ended."""
    called_one = begin(secure_command(folder, SECURE, "wait", 250, port=5440))
    try:
        told = json.loads(called_one.stdout.readline())
        check(told["code"] == 200, f"a telephone cannot register over TLS: {told}")
        called(folder)
        for number, fail in enumerate((move, lose), 2):
            # Wraps after three seconds.
            call = begin(secure_command(folder, SECURE_CALLER, "call", "600", 30, 65536 - 150, port=5450))
            time.sleep(8)
            fail(folder)
            told = json.loads(call.communicate()[0])
            kept = told["code"] == 200 and told["wrapped"] and told["own"] > 700 and told["last"] > 80
            check(kept, f"a call with SRTP after {fail.__name__}: {told}")
            check(told["forged"] == 0, f"after {fail.__name__} sound is not genuine, its count of wraps was lost: {told}")
            check(told["bye"] == 200, f"BYE over a new connection after {fail.__name__}: {told}")
            print(f"services: secure: {fail.__name__}: gap of {told['gap']} s, connections {told['connected']}", flush=True)
            lines = []
            while not lines or "connected" not in lines[-1] or lines[-1]["connected"] < number:
                lines.append(json.loads(called_one.stdout.readline()))
            check(lines[-1]["code"] == 200, f"a telephone does not register over a new connection: {lines}")
            called(folder)
            checks.wait(folder)
    finally:
        called_one.terminate()
        called_one.communicate()
        checks.wait(folder)


def spent(folder, name, day):
    """By the proxy `name`, a user's seconds today."""
    told = nodes.Node(folder, name).ask("kamcmd", "htable.get", "spent", day).stdout
    return int(told.rsplit("value: ", 1)[1].split()[0]) if "value: " in told else 0


def minutes(folder):
    """What a user has spoken today is counted on both proxies; a call beyond it is ended, the next refused, also after a failover."""
    day = f"{TALKER}/{time.strftime('%F')}"
    before = spent(folder, checks.PROXIES[0], day)
    told = phone(folder, TALKER, "call", "600", 5)
    check(told["code"] == 200, f"a call within a user's minutes is answered {told}")
    for name in checks.PROXIES:
        nodes.wait(lambda name=name: 4 <= spent(folder, name, day) - before <= 15, f"{name} does not count 5 s of a call", patience=20)
    try:
        left = 600 * 60 - 8
        nodes.Node(folder, checks.owner(folder))("kamcmd", "htable.seti", "spent", day, left)
        for name in checks.PROXIES:
            nodes.wait(lambda name=name: spent(folder, name, day) == left, f"{name} does not have what the other counts", patience=20)
        told = phone(folder, TALKER, "call", "600", 40)
        check(told["code"] == 200 and 200 < told["own"] < 1500, f"a call beyond a user's minutes is not ended: {told}")
        told = phone(folder, TALKER, "call", "600", 1)
        check(told["code"] == 403, f"a call of a user without minutes is answered {told}")
        move(folder)
        told = phone(folder, TALKER, "call", "600", 1)
        check(told["code"] == 403, f"after a failover a call of a user without minutes is answered {told}")
    finally:
        for name in checks.PROXIES:
            nodes.Node(folder, name).ask("kamcmd", "htable.delete", "spent", day)
    told = phone(folder, TALKER, "call", "600", 1)
    check(told["code"] == 200, f"a call of a user with minutes is answered {told}")


# Ends answered calls that nobody made, one after another for some seconds.
ENDS = """
import subprocess, sys, time
with subprocess.Popen("kamcmd", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1) as told:
    for row in range(int(sys.argv[1])):
        print("htable.delete answered ends-" + str(row), file=told.stdin)
        time.sleep(0.0005)
"""


def beside(folder):
    """Calls that end in the middle of a count of minutes, which is made each five seconds, do not make it a wrong one: it would end others of their
    user."""
    node, rows, day = nodes.Node(folder, checks.owner(folder)), 10000, f"{TALKER}/{time.strftime('%F')}"
    begun = int(time.time())
    node("sh", "-c", f"for row in $(seq 0 {rows - 1}); do echo 'htable.sets answered ends-'$row '{day}|{begun}|600'; done | kamcmd >/dev/null")
    counts = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ends = pool.submit(node, "python3", "-c", ENDS, str(rows))
        while not ends.done():
            told = node.ask("kamcmd", "htable.get", "running", day).stdout
            counts += re.findall(r"value: (-?[0-9]+)", told)
            time.sleep(0.2)
        ends.result()
    most = rows * (int(time.time()) - begun + 1)
    check(counts, "no minutes were counted while calls ended")
    check(all(0 <= int(count) <= most for count in counts), f"{rows} calls since {begun} are counted as {sorted(set(counts))} s, not {most} at most")


def broken(folder):
    """A configuration that `kamailio -c` takes and Kamailio does not start with is not put in place; what runs goes on, and would start."""
    node = nodes.Node(folder, next(name for name in checks.PROXIES if name != checks.owner(folder)))
    good = node("cat", "/etc/kamailio/kamailio.cfg")
    database = 'modparam("htable", "htable", "none=>size=2;dbtable=none")\nmodparam("htable", "db_url", "mysql://none@127.0.0.1/none")\n'
    for wrong in (database + "request_route {", 'request_route {\n\tif ($rU =~ "^([") exit;\n'):
        text = good.replace("request_route {", wrong, 1)
        path = folder / "nodes" / node.name / "root/etc/kamailio/next/kamailio.cfg"
        path.write_text(text)
        check(node.ask("kamailio", "-c", "-f", "/etc/kamailio/next/kamailio.cfg").returncode == 0, "kamailio -c refuses it: nothing is tested")
        done = node.ask("install-kamailio")
        path.write_text(good)
        check(done.returncode == 1 and "does not work" in done.stdout, f"a configuration that does not start is taken: {wrong}{done.stdout}")
        check(node("cat", "/etc/kamailio/kamailio.cfg") == good, "a configuration that does not start is put in place")
        check(node.ask("platform-service", "check", "proxy").returncode == 0, "the proxy that runs was touched")


def alarms(folder):
    """A standby that would not work, and a member that is missing, are said in the journal and as a metric, and that they end."""
    standby = nodes.Node(folder, next(name for name in checks.PROXIES if name != checks.owner(folder)))
    database, arbiter = nodes.Node(folder, checks.DATABASES[0]), nodes.Node(folder, "arbiter")

    def raised(node, name):
        return f'alarm="{name}"}} 1' in node.ask("cat", "/var/lib/platform/alarms.prom").stdout
    nodes.wait(lambda: not any(raised(node, name) for node in (standby, database) for name in ("replication", "units", "database")),
               "there is an alarm before anything is wrong")
    standby("systemctl", "stop", "redis-server@replica")
    arbiter("systemctl", "stop", "garb")
    try:
        for node, name in ((standby, "replication"), (database, "database"), (arbiter, "units")):
            nodes.wait(lambda node=node, name=name: raised(node, name), f"{node.name} raises no alarm {name}", patience=180)
            journal = node("journalctl", "-u", "platform-alarms", "-o", "cat", "--since", "-5min")
            check(f"alarm: {name}: " in journal, f"the alarm {name} is not in the journal of {node.name}: {journal}")
    finally:
        standby("systemctl", "start", "redis-server@replica")
        arbiter("systemctl", "start", "garb")
    for node, name in ((standby, "replication"), (database, "database"), (arbiter, "units")):
        nodes.wait(lambda node=node, name=name: not raised(node, name), f"the alarm {name} of {node.name} does not end", patience=180)


def blackout(folder):
    """All nodes lose their power at once and get it again: without a hand the database begins with the node that came farthest, and who
    calls is answered. What was committed is there."""
    ask = ("mysql", "--batch", "--skip-column-names", "--execute")
    row = "SELECT recording FROM asterisk.voicemessages WHERE dir = '/blackout'"
    ahead, behind = (nodes.Node(folder, name) for name in checks.DATABASES)
    ahead(*ask, "DELETE FROM asterisk.voicemessages WHERE dir = '/blackout'")
    check(phone(folder, USER, "register")["code"] == 200, "a telephone cannot register")
    # One falls behind before, so that the two do not come equally far.
    behind.power_off()
    left = f"REPLACE INTO asterisk.voicemessages (dir, msgnum, recording) VALUES ('/blackout', 0, '{time.time()}')"
    nodes.wait(lambda: ahead.ask(*ask, left).returncode == 0, "one database and the arbitrator do not go on")
    wanted = ahead(*ask, row)
    # Galera commits at once; the disk has it a second later.
    time.sleep(3)
    for name in nodes.NODES:
        nodes.Node(folder, name).power_off()
    begun = time.monotonic()
    for name, (root, _) in nodes.NODES.items():
        nodes.Node(folder, name).boot(images.make(root, folder / "roots"))
    nodes.wait(lambda: phone(folder, USER, "call", "600", 3).get("own", 0) > 50, "a telephone cannot call after all nodes lost their power")
    called_after = time.monotonic() - begun
    checks.wait(folder)
    for node in (ahead, behind):
        check(node(*ask, row) == wanted, f"{node.name} does not have what was committed before all nodes lost their power")
    ahead(*ask, "DELETE FROM asterisk.voicemessages WHERE dir = '/blackout'")
    print(f"services: blackout: calls again after {called_after:.0f} s, all of it after {time.monotonic() - begun:.0f} s", flush=True)


def upgrade(folder):
    """Nothing is touched while anything is not well. Else a PBX and the proxy that has the address are made new, and who calls hears nothing."""
    arbiter = nodes.Node(folder, "arbiter")
    arbiter("systemctl", "stop", "garb")
    try:
        machine.playbook(folder, "--limit", f"{checks.PBXS[0]},{checks.owner(folder)}", book="upgrade.yml")
        raise Wrong("an upgrade goes on while the database's arbitrator is missing")
    except nodes.Failure as failure:
        check("All is well before" in str(failure), f"an upgrade ends for another reason: {failure}")
    finally:
        arbiter("systemctl", "start", "garb")
    standby = arbiter.ask("crm_mon", "-1").stdout
    check("standby" not in standby.lower(), f"a node was drained before all was well: {standby}")
    checks.wait(folder)
    owner = checks.owner(folder)
    upgraded(folder, "--limit", f"{checks.PBXS[0]},{owner}")
    check(checks.owner(folder) != owner, "the proxy that had the address was not drained")


def upgraded(folder, *options):
    """Upgrades while two users call all the time, one for 4 s each, one for 25 s: each call is answered and hears itself until it ends."""
    over, told = threading.Event(), []

    def calls(user, port, seconds):
        while not over.is_set():
            told.append((seconds, phone(folder, user, "call", "600", seconds, port=port)))
    callers = [threading.Thread(target=calls, args=each) for each in ((CALLER, 5400, 4), (SECURE_CALLER, 5460, 25))]
    for each in callers:
        each.start()
    try:
        machine.playbook(folder, *options, book="upgrade.yml")
    finally:
        over.set()
        for each in callers:
            each.join()
    checks.wait(folder)
    # 50 packets a second; those of one move of the address may be missing.
    wrong = [(seconds, call) for seconds, call in told if call["code"] != 200 or call["own"] < (seconds - 3) * 50]
    check(len(told) > 5 and not wrong, f"{len(wrong)} of {len(told)} calls during an upgrade fail: {wrong[:3]}")
    print(f"services: upgrade: {len(told)} calls during it, all heard themselves", flush=True)


def upgrade_all(folder):
    """Every node is made new in turn, and who calls hears nothing."""
    upgraded(folder)


def backup(folder):
    """What is deleted after a backup is there again after it is put back, with its bytes."""
    first, second = (nodes.Node(folder, name) for name in checks.DATABASES)
    ask = ("mysql", "--batch", "--skip-column-names", "--execute")
    row = "SELECT HEX(recording), mailboxuser FROM asterisk.voicemessages WHERE dir = '/backup'"
    first(*ask, "REPLACE INTO asterisk.voicemessages (dir, msgnum, recording, mailboxuser) VALUES ('/backup', 0, X'00ff0d0a27', '1099')")
    program, where = [sys.executable, HERE.parent / "machine.py", "--folder", folder], folder / "backup"
    nodes.run(*program, "backup", where)
    first(*ask, "DELETE FROM asterisk.voicemessages WHERE dir = '/backup'; DELETE FROM kamailio.subscriber")
    # The proxies read the users every few seconds.
    nodes.wait(lambda: phone(folder, USER, "register")["code"] == 401, "a telephone registers without a row in the database", 1)
    nodes.run(*program, "restore", where)
    nodes.wait(lambda: second(*ask, row).split() == ["00FF0D0A27", "1099"], "the other database does not have what was put back")
    nodes.wait(lambda: phone(folder, USER, "register")["code"] == 200, "a telephone cannot register after the databases were put back", 1)
    first(*ask, "DELETE FROM asterisk.voicemessages WHERE dir = '/backup'")
    with tarfile.open(where / "secrets.tar.gz") as archive:
        check("./authority.key" in archive.getnames(), "the key of the authority is not in the backup")


def serials(folder):
    """Of the certificates that each database and the Redis of each proxy show to who connects."""
    found = {}
    for name, peer in ((checks.PROXIES[0], checks.PROXIES[1]), (checks.PROXIES[1], checks.PROXIES[0])):
        found[name] = nodes.Node(folder, peer)("sh", "-c", f"openssl s_client -connect {nodes.address(name, 'eth1')}:6390 </dev/null 2>/dev/null | "
                                               "openssl x509 -noout -serial").strip()
    for name in checks.DATABASES:
        shows = f"openssl s_client -starttls mysql -connect {nodes.address(name, 'eth1')}:3306 </dev/null 2>/dev/null"
        # From where users of it may be: it refuses others before it shows anything.
        found[name] = nodes.Node(folder, checks.PROXIES[0])("sh", "-c", f"{shows} | openssl x509 -noout -serial").strip()
    return found


def renewal(folder):
    """Certificates that end soon are made anew, and are in use at once, without a restart of what uses them."""
    before = serials(folder)
    watched = {**dict.fromkeys(checks.DATABASES, "mariadb"), **dict.fromkeys(checks.PROXIES, "redis-server@own")}

    def processes():
        return {name: nodes.Node(folder, name)("systemctl", "show", "--property=MainPID", unit) for name, unit in watched.items()}
    units = processes()
    # Longer than they are valid at all.
    machine.playbook(folder, "--tags", "base", "--extra-vars", '{"certificate_days_left": 900}')
    after = serials(folder)
    same = [name for name in after if after[name] == before[name] or not after[name].startswith("serial=")]
    check(not same, f"these still show the certificate from before: {', '.join(same)}")
    check(processes() == units, "a service was started again for its certificate")
    checks.wait(folder)


def active_on_both(folder, count):
    return all(nodes.Node(folder, name).ask("kamcmd", "dispatcher.list").stdout.count("FLAGS: AP") == count for name in checks.PROXIES)


TESTS = {test.__name__: test for test in (prefixes, limit, menu, music, scanning, bars, relay, busy, flood, guessing, minutes, beside, together, secure, broken,
                                         alarms, backup, renewal, voicemail, blackout, upgrade, upgrade_all)}
# Takes up to half an hour: only when it is named.
LONG = ("upgrade_all",)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("tests", nargs="*", metavar="TEST", help=", ".join(TESTS))
    options = parser.parse_args()
    unknown = [name for name in options.tests if name not in TESTS]
    if unknown:
        sys.exit(f"services: there is no test {unknown[0]!r}: {', '.join(TESTS)}")
    folder = options.folder.resolve()
    try:
        checks.wait(folder)
        for name in options.tests or [name for name in TESTS if name not in LONG]:
            try:
                TESTS[name](folder)
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong}") from wrong
            print(f"services: {name} holds", flush=True)
    except (nodes.Failure, Wrong) as failure:
        sys.exit(f"services: {failure}")


if __name__ == "__main__":
    main()
