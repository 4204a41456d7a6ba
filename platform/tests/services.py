#!/usr/bin/env python3
"""What the platform does for its users and against others: services.py [TEST...]. The platform is up before.

Each test asserts behaviour. Voicemail: a message that is left while a PBX and a database are lost is read on the other PBX from the
other database. Guesses, scans and floods are banned by both proxies.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tarfile
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
        owner = checks.owner(folder)
        peer = next(name for name in checks.PROXIES if name != owner)
        arbiter = nodes.Node(folder, "arbiter")
        arbiter("crm_resource", "--move", "--resource", "service", "--node", peer)
        try:
            nodes.wait(lambda: checks.owner(folder) == peer, f"the address does not move to {peer}")
        finally:
            arbiter("crm_resource", "--clear", "--resource", "service")
        assert_banned(folder, "guessed passwords before a failover")


def scanning(folder):
    """One that calls itself a scanner, and one that tries numbers without a password."""
    with stranger(folder):
        phone(folder, USER, "request", "OPTIONS", "100", "User-Agent: friendly-scanner", address=STRANGER)
        assert_banned(folder, "calls itself a scanner")
    with stranger(folder):
        with Sender() as sender:
            for number in range(150):
                sender.send(invite(number))
                time.sleep(0.02)
        assert_banned(folder, "scans numbers")


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
        told = json.loads(waiting.stdout.readline())
        check("Voice-Message: 1/0" in told["body"], f"the telephone is told {told}")
        nodes.wait(lambda: lost in checks.Cluster(folder).running("pbx"), f"the PBX of {lost} does not come back")
        stop_pbx(folder, other)
        check(not database.is_up(), "the database that was lost is up again: nothing is tested")
        nodes.wait(lambda: active_on_both(folder, 1), "the proxies do not see that a PBX stopped")
        # More than once: what is said before takes longer while the first database does not answer.
        told = phone(folder, USER, "call", "650", 60, "111")
        check(told["code"] == 200 and told["own"] > 100, f"the message is not heard on {lost}: {told}")
        told = json.loads(waiting.stdout.readline())
        check("Voice-Message: 0/1" in told["body"], f"after it was heard the telephone is told {told}")
    finally:
        waiting.terminate()
        waiting.wait()
        waiting.stdout.close()
        nodes.Node(folder, "arbiter").ask("crm_resource", "--clear", "--resource", "pbxs")
        if not database.is_up():
            database.boot(images.make(nodes.NODES[database.name][0], folder / "roots"))
        checks.wait(folder)


def backup(folder):
    """What is deleted after a backup is there again after it is put back, with its bytes."""
    first, second = (nodes.Node(folder, name) for name in checks.DATABASES)
    ask = ("mysql", "--batch", "--skip-column-names", "--execute")
    row = "SELECT HEX(recording), mailboxuser FROM asterisk.voicemessages WHERE dir = '/backup'"
    first(*ask, "REPLACE INTO asterisk.voicemessages (dir, msgnum, recording, mailboxuser) VALUES ('/backup', 0, X'00ff0d0a27', '1099')")
    program, where = [sys.executable, HERE.parent / "machine.py", "--folder", folder], folder / "backup"
    nodes.run(*program, "backup", where)
    first(*ask, "DELETE FROM asterisk.voicemessages WHERE dir = '/backup'; DELETE FROM kamailio.subscriber")
    check(phone(folder, USER, "register")["code"] == 401, "a telephone registers without a row in the database")
    nodes.run(*program, "restore", where)
    nodes.wait(lambda: second(*ask, row).split() == ["00FF0D0A27", "1099"], "the other database does not have what was put back")
    check(phone(folder, USER, "register")["code"] == 200, "a telephone cannot register after the databases were put back")
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


TESTS = {test.__name__: test for test in (prefixes, limit, menu, music, scanning, flood, guessing, backup, renewal, voicemail)}


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
        for name in options.tests or TESTS:
            try:
                TESTS[name](folder)
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong}") from wrong
            print(f"services: {name} holds", flush=True)
    except (nodes.Failure, Wrong) as failure:
        sys.exit(f"services: {failure}")


if __name__ == "__main__":
    main()
