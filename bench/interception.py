#!/usr/bin/env python3
"""Measures lawful interception over a veth pair, with the packets of a FreeRADIUS that radclient asks.

First all users log on, and `ringtap run` follows: each session in its database must have the name and the addresses that FreeRADIUS
gave. Then, at several rates, users log on and off as fast again while 100,000 packets a second of internet traffic pass, a few of them
those of targets: the product of each warrant must have every packet from the Access-Accept until the report of the stop, and no other.
Packets to and from the same addresses before and after are among the traffic. At the end the same again on two: a probe that sees
RADIUS alone, and a sniffer that sees everything else and is told by the probe.

FreeRADIUS answers in real time only while users log on: its packets are sent again, in the same order, among the traffic, by tcpreplay.
Prints one line of JSON, whatever is missing, and draws two figures with `--svg DIR`. The exit status is 77 if something that it needs is
not there: root, FreeRADIUS, tcpreplay, dumpcap. Namespaces and processes are its own and end with it.
"""

import argparse
import collections
import ipaddress
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from live import Pair

SECRET, PASSPHRASES = "testing123", ("first horse battery", "correct horse battery")
SERVER, CLIENT = "10.9.0.1", "10.9.0.2"
IPV4, IPV6 = ipaddress.ip_address("100.64.0.1"), ipaddress.ip_address("2001:db8:1::")
# Of one warrant, at most 256.
TARGETS_OF_A_WARRANT = 250
MARK = b"ringtap1"
# Of each user's time at least this much lies between the answers of FreeRADIUS and the next request.
SESSION = 1.0
LET_IN, STARTED, STOPPED = "let in", "started", "stopped"


def name(user):
    return f"user{user:05}"


def addresses(user):
    """The IPv4 address and the IPv6 prefix (/64) of a user."""
    return IPV4 + user, ipaddress.ip_network((int(IPV6) + (user << 64), 64))


class Server:
    """FreeRADIUS at one end, and requests from the other."""

    CONFIG = """
prefix = /usr
name = radius
logdir = {dir}
run_dir = {dir}
libdir = /usr/lib/freeradius
pidfile = {dir}/pid
max_requests = 65536
max_request_time = 30
cleanup_delay = 0
log {{
    destination = files
    file = {dir}/log
}}
security {{
    max_attributes = 200
    reject_delay = 0
    status_server = no
}}
proxy_requests = no
client nas {{
    ipaddr = {client}
    secret = {secret}
}}
thread pool {{
    start_servers = 2
    max_servers = 2
    max_queue_size = 65536
}}
modules {{
    pap {{
    }}
    files {{
        usersfile = {dir}/users
    }}
    detail {{
        filename = {dir}/detail
        permissions = 0600
    }}
}}
server default {{
    listen {{
        type = auth
        ipaddr = {server}
        port = 1812
    }}
    listen {{
        type = acct
        ipaddr = {server}
        port = 1813
    }}
    authorize {{
        files
        pap
    }}
    authenticate {{
        Auth-Type PAP {{
            pap
        }}
    }}
    accounting {{
        detail
    }}
}}
"""

    def __init__(self, pair, folder, users):
        self.pair, self.folder, self.users = pair, folder, users
        (folder / "radiusd.conf").write_text(self.CONFIG.format(dir=folder, client=CLIENT, server=SERVER, secret=SECRET))
        (folder / "dictionary").write_text("$INCLUDE /usr/share/freeradius/dictionary\n")
        with open(folder / "users", "w") as lines:
            for user in range(users):
                address, prefix = addresses(user)
                lines.write(f'{name(user)} Cleartext-Password := "secret"\n\tFramed-IP-Address = {address},\n\tFramed-IPv6-Prefix = {prefix}\n\n')

    def __enter__(self):
        command = self.pair.inside("receiver", "freeradius", "-f", "-d", self.folder, "-l", self.folder / "log")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait("FreeRADIUS is ready", lambda: "Ready to process" in (self.folder / "log").read_text() if (self.folder / "log").exists() else False)
        return self

    def __exit__(self, *_):
        end(self.process)

    def ask(self, kind):
        """Has radclient send one request for each user; answers a second."""
        requests, port = self.folder / "requests", 1812 if kind == LET_IN else 1813
        with open(requests, "w") as lines:
            for user in range(self.users):
                address, prefix = addresses(user)
                lines.write(f'User-Name = "{name(user)}"\nNAS-IP-Address = {CLIENT}\nNAS-Port = {user}\nCalling-Station-Id = "{station(user)}"\n')
                if kind == LET_IN:
                    lines.write('User-Password = "secret"\n\n')
                else:
                    status = "Start" if kind == STARTED else "Stop"
                    lines.write(
                        f'Acct-Status-Type = {status}\nAcct-Session-Id = "{user:08x}"\nFramed-IP-Address = {address}\n'
                        f"Framed-IPv6-Prefix = {prefix}\n\n"
                    )
        began = time.monotonic()
        asked = self.pair.inside(
            "sender", "radclient", "-q", "-s", "-D", "/usr/share/freeradius", "-p", "64", "-r", "10", "-t", "2", "-f", requests,
            f"{SERVER}:{port}", "auth" if kind == LET_IN else "acct", SECRET,
        )
        done = subprocess.run(asked, capture_output=True, text=True)
        took = time.monotonic() - began
        answered = re.search(r"(?:Accepted|Success|Passed filter)\D*(\d+)", done.stdout)
        if not answered or int(answered[1]) != self.users:
            sys.exit(f"FreeRADIUS did not answer all: {done.stdout} {done.stderr[-2000:]}")
        return self.users / took

    def reported(self):
        """What FreeRADIUS wrote of each accounting request: (session, status) to the user, IPv4 address and IPv6 prefix in it."""
        found = {}
        for entry in (self.folder / "detail").read_text().split("\n\n"):
            fields = dict(re.findall(r"^\t([\w-]+) = \"?([^\"\n]*)", entry, re.M))
            if fields:
                key = fields["Acct-Session-Id"], fields["Acct-Status-Type"]
                found[key] = fields["User-Name"], fields["Framed-IP-Address"], fields["Framed-IPv6-Prefix"]
        return found


def station(user):
    return "02-" + "-".join(f"{byte:02X}" for byte in user.to_bytes(5, "big"))


class Officers:
    """A register of warrants, and two officers."""

    def __init__(self, ringtap, folder):
        self.ringtap, self.register, self.key = ringtap, folder / "register", folder / "register-key"
        self.entered = 0
        first, own = PASSPHRASES
        self.act("ana", ["setup"], own)
        self.act("ana", ["people", "add", "ben", "--role", "officer"], own, first)
        self.act("ben", ["people", "passphrase"], first, own)

    def act(self, who, command, *passphrases):
        done = subprocess.run(
            [self.ringtap, "warrant", *command, "--as", who, "--passphrase-fd", "0", "--register", self.register, "--master-key", self.key],
            input="".join(f"{one}\n" for one in passphrases or PASSPHRASES[1:]), capture_output=True, text=True,
        )
        if done.returncode != 0:
            sys.exit(f"ringtap warrant {' '.join(map(str, command))}: {done.stderr}")
        return done.stdout

    def order(self, liid, users, folder):
        """A warrant for these users, entered by one officer and approved by the other."""
        path = folder / "warrant.toml"
        targets = ", ".join(f"'user:{name(user)}'" for user in users)
        path.write_text(
            f"liid = '{liid}'\ncase = 'C'\nauthority = 'Court'\nlegal_basis = 'Act 1'\nrequester = 'A'\nauthorisation_country = 'GB'\n"
            f"agency = 'agency-a'\noperator = 'operator'\nends = '2100-01-01'\ndelivers = 'both'\ntarget = [{targets}]\n"
        )
        os.chmod(path, 0o600)
        self.act("ana", ["enter", path])
        self.entered += 1
        number = str(self.entered)
        digest = self.act("ben", ["show", number, "--why", "approval"]).split()[-1]
        self.act("ben", ["approve", number, "--hash", digest[:16]])


class Certificates:
    """Of an authority that vouches for a probe and a sniffer."""

    def __init__(self, folder):
        self.folder = folder
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=authority",
                     "-keyout", "authority.key", "-out", "authority.pem")
        for name in ("probe", "sniffer"):
            (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}.example.org\n")
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                         "-out", f"{name}.csr")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2",
                         "-extfile", f"{name}.ext", "-out", f"{name}.pem")
        (folder / "product.key").write_text("5a" * 32)
        os.chmod(folder / "product.key", 0o600)

    def openssl(self, *command):
        done = subprocess.run(["openssl", *command], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"openssl {' '.join(command)}: {done.stderr}")

    def keys(self, name):
        place = self.folder
        keys = f'authorities = "{place}/authority.pem"\ncertificate = "{place}/{name}.pem"\ncertificate_key = "{place}/{name}.key"\n'
        if name == "probe":
            return keys + 'listen = "127.0.0.1:9443"\nsniffers = ["sniffer.example.org"]\n'
        return keys + f'probe = "127.0.0.1:9443"\nprobe_name = "probe.example.org"\nkey = "{place}/product.key"\npoint = "BENCH"\n'


class Daemon:
    """`ringtap run` at the receiving end. `keys` are more of `[intercept]`; a sniffer has no officers."""

    def __init__(self, ringtap, pair, folder, officers=None, keys="", filter="", port=9464):
        self.ringtap, self.pair, self.folder, self.port = ringtap, pair, folder, port
        folder.mkdir()
        text = f"""[capture]
interfaces = ["veth0"]
ring = "256MiB"
latency = "1ms"
filter = "{filter}"
[radius]
follow = {'false' if keys and not officers else 'true'}
[store]
directory = "{folder}/records"
outbox = "{folder}/outbox"
[journal]
path = "{folder}/journal"
[metrics]
listen = "127.0.0.1:{port}"
[process]
control = "{folder}/control"
"""
        if officers or keys:
            self.product = folder / "product"
            text += f'[intercept]\nproduct = "{self.product}"\n{keys}'
        if officers:
            text += f'register = "{officers.register}"\nkey = "{officers.key}"\n'
        self.config = folder / "ringtap.toml"
        self.config.write_text(text)

    def __enter__(self):
        path = tempfile.mkdtemp()
        self.said = open(self.folder / "said", "w+")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(f"{path}/ready")
            ready.settimeout(30)
            self.process = subprocess.Popen(
                self.pair.inside("receiver", self.ringtap, "run", "-c", self.config), stdout=self.said, stderr=self.said,
                env=os.environ | {"NOTIFY_SOCKET": f"{path}/ready"},
            )
            try:
                while b"READY=1" not in ready.recv(4096):
                    pass
            except TimeoutError:
                sys.exit(f"ringtap run did not begin: {(self.folder / 'said').read_text()}")
            finally:
                shutil.rmtree(path)
        return self

    def __exit__(self, *_):
        end(self.process)
        self.said.close()

    def metric(self, wanted):
        page = subprocess.run(
            self.pair.inside("receiver", sys.executable, "-c", f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{self.port}/metrics').read().decode())"),
            capture_output=True, text=True, check=True,
        ).stdout
        return int(sum(float(value) for value in re.findall(rf"^{wanted}(?:\{{.*\}})? (\S+)", page, re.M)))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=120) != 0:
            sys.exit(f"ringtap run failed: {(self.folder / 'said').read_text()}")


def wait(what, done, seconds=60):
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            sys.exit(f"never: {what}")
        time.sleep(0.1)


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def frames(path):
    """Frames of a capture file without options, microseconds or nanoseconds, little endian: what dumpcap and ringtap write."""
    data = pathlib.Path(path).read_bytes()
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        sys.exit(f"{path} is no capture of little endian")
    place = 24
    while place < len(data):
        length = struct.unpack_from("<I", data, place + 8)[0]
        yield data[place + 16 : place + 16 + length]
        place += 16 + length


def follow_all(options, pair, folder):
    """All users log on and are started and stopped, by FreeRADIUS. What `ringtap identity` found is what FreeRADIUS gave. Returns figures, and
    the frames of each user: request and answer of each of the three."""
    trace = folder / "radius.pcap"
    with Daemon(options.ringtap, pair, folder / "followed") as daemon, Server(pair, folder, options.users) as server:
        dumpcap = subprocess.Popen(
            pair.inside("receiver", "dumpcap", "-q", "-P", "-i", "veth0", "-B", "64", "-f", "udp", "-w", trace), stderr=subprocess.PIPE, text=True
        )
        while "File:" not in dumpcap.stderr.readline():
            pass
        rates = {}
        for kind in (LET_IN, STARTED, STOPPED):
            rates[kind] = server.ask(kind)
            print(f"    {kind}: {rates[kind]:.0f} users/s", file=sys.stderr)
            time.sleep(1)
        time.sleep(2)
        dumpcap.send_signal(signal.SIGINT)
        dumpcap.wait(timeout=30)
        drops = daemon.metric("ringtap_ring_drops_total")
        daemon.stop()
        reported = server.reported()
    return {"users_per_s": rates, "ring_drops": drops} | compared(options, folder, trace, reported), trace


def compared(options, folder, trace, reported):
    """Whether the capture's sessions are those that FreeRADIUS reported, and those in the database, of which some are asked for, too."""
    run = lambda *command: subprocess.run([options.ringtap, "identity", *command, "--format", "jsonl"], capture_output=True, text=True)
    differ = []
    done = run(trace)
    found = {one["session"]: one for one in map(json.loads, done.stdout.splitlines())}
    if len(found) != options.users or len(reported) != 2 * options.users:
        sys.exit(f"{len(found)} sessions found and {len(reported)} reports of FreeRADIUS, of {options.users} users: {done.stderr}")
    for (session, status), (user, address, prefix) in reported.items():
        one = found.get(session)
        told = one and (one["user"], one["ipv4"], one["ipv6_prefixes"])
        if told != (user, [address], [prefix]):
            differ.append(f"{session} {status}: {told}, {user} {address} {prefix} by FreeRADIUS")
    took = []
    for user in range(0, options.users, max(1, options.users // 200)):
        began = time.monotonic()
        done = run(str(addresses(user)[0]), "--store", folder / "followed" / "records")
        took.append(time.monotonic() - began)
        told = [(one["user"], one["session"], one["ipv4"]) for one in map(json.loads, done.stdout.splitlines())]
        if told != [(name(user), f"{user:08x}", [str(addresses(user)[0])])]:
            differ.append(f"{name(user)}: the database has {told or done.stderr}")
    for line in differ[:20]:
        print(line, file=sys.stderr)
    return {"users": options.users, "differ": len(differ), "look_up_ms": round(statistics.median(took) * 1e3, 1)}


def exchanges(trace, users):
    """Of each user: the frames of its three requests, each with the answer to it."""
    of, waiting = collections.defaultdict(dict), {}
    for frame in frames(trace):
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        source, target, _, _ = struct.unpack_from(">HHHH", frame, 34)
        code, identifier = frame[42], frame[43]
        if target in (1812, 1813):
            told = attributes(frame[42:])
            user = int(told[1][4:])
            kind = LET_IN if target == 1812 else STARTED if told[40] == b"\0\0\0\1" else STOPPED
            # A repeated request changes nothing.
            of[user].setdefault(kind, [frame])
            waiting[source, target, identifier] = of[user][kind]
        elif source in (1812, 1813) and code in (2, 5):
            pair = waiting.get((target, source, identifier), [])
            if len(pair) == 1:
                pair.append(frame)
    whole = [user for user in range(users) if len(of[user]) == 3 and all(len(pair) == 2 for pair in of[user].values())]
    return {user: of[user] for user in whole}


def attributes(packet):
    found, place = {}, 20
    while place + 2 <= struct.unpack_from(">H", packet, 2)[0]:
        found.setdefault(packet[place], packet[place + 2 : place + packet[place + 1]])
        place += packet[place + 1]
    return found


def packet(number, address, out, size):
    """A frame of internet traffic of an address, with a number that no other has."""
    body = MARK + struct.pack(">Q", number)
    body += bytes(size - len(body))
    if address.version == 4:
        ends = [address.packed, b"\xc6\x33\x64\x01"]
        source, target = ends if out else reversed(ends)
        header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(body), 0, 0, 64, 17, 0, source, target)
        total = sum(struct.unpack(">10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        header = header[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
        return b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0" + header + struct.pack(">HHHH", 40000, 443, 8 + len(body), 0) + body
    # A protocol for experiments (RFC 3692), which has no checksum.
    ends = [address.packed, ipaddress.ip_address("2001:db8:ffff::1").packed]
    source, target = ends if out else reversed(ends)
    header = struct.pack(">IHBB16s16s", 0x60000000, len(body), 253, 64, source, target)
    return b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x86\xdd" + header + body


def traffic(options, exchanged, users, rate, path):
    """Writes a capture in which these users log on and off, so many a second, among internet traffic. The numbers of the packets of each,
    and of all frames."""
    events, wanted, number = [], collections.defaultdict(set), 0
    each = max(1, round(options.share * options.packets / rate))
    for place, user in enumerate(users):
        begin, pairs = 0.1 + place / rate, exchanged[user]
        ends = addresses(user)
        of = [ends[0], ends[1].network_address + 1]
        for kind, at in ((LET_IN, 0), (STARTED, 0.001), (STOPPED, SESSION)):
            events += [(begin + at, pairs[kind][0]), (begin + at + 50e-6, pairs[kind][1])]
        # Of the same addresses, before and after: nobody's.
        for at in (-0.01, SESSION + 0.01):
            for address in of:
                events.append((begin + at, packet(number, address, True, options.size)))
                number += 1
        for index in range(each):
            at = 60e-6 + (SESSION - 120e-6) * index / each
            events.append((begin + at, packet(number, of[index % 2], index // 2 % 2 == 0, options.size)))
            wanted[user].add(number)
            number += 1
    length = max(time for time, _ in events) + 0.5
    others = int(options.packets * length) - len(events)
    strangers = [packet(number + index, ipaddress.ip_address("198.18.0.0") + index, True, options.size) for index in range(1 << 14)]
    events += [(length * index / others, strangers[index % len(strangers)]) for index in range(others)]
    events.sort(key=lambda event: event[0])
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for at, frame in events:
            seconds, micros = divmod(round(at * 1e6), 1_000_000)
            out.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)
    return wanted, len(events)


def send(options, pair, path, total):
    """Sends a capture as fast as is asked for; frames a second."""
    sent = subprocess.run(
        pair.inside("sender", "tcpreplay", "-q", "--preload-pcap", "-i", "veth0", f"--pps={options.packets}", path), capture_output=True, text=True
    )
    told = re.search(r"Actual: (\d+) packets.*?in ([\d.]+) seconds", sent.stdout, re.S)
    if sent.returncode != 0 or int(told[1]) != total:
        sys.exit(f"tcpreplay did not send {total} packets: {sent.stdout} {sent.stderr}")
    return round(total / float(told[2]))


def given(product, orders, wanted):
    """What is missing in the product, what is too much, and how many packets there should be."""
    missing = surplus = packets = 0
    for liid, some in orders:
        due = set().union(*(wanted[user] for user in some if user in wanted))
        found = collections.Counter()
        for file in product.glob(f"{liid}-*.pcap"):
            for frame in frames(file):
                at = frame.find(MARK)
                if at >= 0:
                    found[struct.unpack_from(">Q", frame, at + len(MARK))[0]] += 1
        missing += len(due - found.keys())
        surplus += sum(found.values()) - len(due & found.keys())
        packets += len(due)
    return {"of_targets": packets, "missing": missing, "surplus": surplus}


def counted(daemon):
    return daemon.metric("ringtap_frames_total") + daemon.metric("ringtap_ring_drops_total")


def reported(report):
    """What a service says of its product: its losses, and how soon packets of addresses were wanted."""
    return {
        "recalled": sum(order["recalled"] for order in report["orders"]), "gaps": report["remembered_too_little"],
        "lost": max(order["lost"] for order in report["orders"]), "remembers_ms": report["remembers_ms"],
        "activations": report["activations"], "activation_ms": report["activation_us"] / 1e3,
        "slowest_activation_ms": report["slowest_activation_us"] / 1e3,
    }


def intercept(options, pair, folder, officers, orders, exchanged, users, rate):
    """One run: what is missing of the targets' packets, and what is too much."""
    path, place = folder / "traffic.pcap", folder / f"at-{rate}"
    wanted, total = traffic(options, exchanged, users, rate, path)
    with Daemon(options.ringtap, pair, place, officers) as daemon:
        per_s = send(options, pair, path, total)
        wait("all frames are counted", lambda: counted(daemon) >= total)
        drops = daemon.metric("ringtap_ring_drops_total")
        time.sleep(2)
        report = json.loads((daemon.product / "report.json").read_text())
        daemon.stop()
    result = {"users_per_s": rate, "users": len(users), "frames": total, "frames_per_s": per_s, "ring_drops": drops}
    result |= given(daemon.product, orders, wanted) | reported(report)
    shutil.rmtree(place)
    path.unlink()
    print(f"    {result}", file=sys.stderr)
    return result


def intercept_apart(options, pair, folder, officers, orders, exchanged, users, rate):
    """The same with a probe that sees RADIUS, and a sniffer that sees the rest."""
    path, radius = folder / "traffic.pcap", "udp port 1812 or udp port 1813"
    wanted, total = traffic(options, exchanged, users, rate, path)
    certificates = Certificates(folder)
    of_probe, of_sniffer = certificates.keys("probe"), certificates.keys("sniffer")
    with (
        Daemon(options.ringtap, pair, folder / "probe", officers, of_probe, radius) as probe,
        Daemon(options.ringtap, pair, folder / "sniffer", None, of_sniffer, f"not ({radius})", 9465) as sniffer,
    ):
        read = lambda daemon: json.loads((daemon.product / "report.json").read_text())
        told = lambda: (sniffer.product / "report.json").exists() and len(read(sniffer)["orders"])
        wait("the sniffer has its orders", lambda: told() == len(orders))
        per_s = send(options, pair, path, total)
        wait("all frames are counted", lambda: counted(probe) + counted(sniffer) >= total)
        drops = [daemon.metric("ringtap_ring_drops_total") for daemon in (probe, sniffer)]
        time.sleep(3)
        told, own = read(probe)["sniffers"][0], read(sniffer)
        for daemon in (sniffer, probe):
            daemon.stop()
    result = {"users_per_s": rate, "users": len(users), "frames": total, "frames_per_s": per_s, "ring_drops": sum(drops)}
    result |= given(sniffer.product, orders, wanted) | reported(own)
    result |= {"slowest_change_ms": told["slowest_us"] / 1e3, "told_all": told["restarts"], "clocks_apart_ms": told["clocks_apart_us"] / 1e3}
    for daemon in (probe, sniffer):
        shutil.rmtree(daemon.folder)
    path.unlink()
    print(f"    apart: {result}", file=sys.stderr)
    return result


# What the paper on SPLIT says of it.
PAPER_RADIUS, PAPER_USERS, PAPER_LOSS = 80_000, 2.1, 0.002


def figures(directory, runs, apart, subscribers):
    """Draws what is missing at each rate, and packets of RADIUS a second on one core, beside the paper's; and how soon packets are wanted."""
    directory.mkdir(parents=True, exist_ok=True)
    shares = [(f"{run['users_per_s']:g}/s", run["missing"] / run["of_targets"] * 100, False) for run in runs]
    draw(directory / "interception-loss.svg", "Packets of targets that are missing, by users that log on a second, in %",
         [(f"paper, {PAPER_USERS}/s", PAPER_LOSS * 100, True), *shares], "{:.3f}")
    soon = [(f"here, {run['users_per_s']:g}/s", run["activation_ms"], False) for run in runs]
    soon.append((f"at a sniffer, {apart['users_per_s']:g}/s", apart["activation_ms"], False))
    draw(directory / "interception-activation.svg", "From the packet that names an address until its packets are wanted, in ms", soon, "{:.2f}")
    if subscribers:
        kinds = [("inspected for 100,000 targets", "inspected_per_s"), ("all sessions followed", "followed_per_s"),
                 ("authenticators checked", "checked_per_s")]
        bars = [(title, subscribers[key] / 1e6, False) for title, key in kinds]
        draw(directory / "interception-radius.svg", "Packets of RADIUS on one core, in millions a second",
             [("paper, at most", PAPER_RADIUS / 1e6, True), *bars], "{:.2f}")


def draw(path, title, bars, form):
    """A chart of bars that lie one below the other: (name, value, whether it is the paper's)."""
    width, left, row, top = 720, 230, 34, 56
    most = max(value for _, value, _ in bars) or 1
    height = top + row * len(bars) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="sans-serif" font-size="14"><title>{title}</title><rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="30" font-size="16" font-weight="bold">{title}</text>',
    ]
    for place, (name, value, is_paper) in enumerate(bars):
        y, length = top + place * row, max(1, value / most * (width - left - 90))
        parts.append(
            f'<text x="{left - 10}" y="{y + 18}" text-anchor="end">{name}</text>'
            f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="22" fill="{"#999" if is_paper else "#1668a7"}"/>'
            f'<text x="{left + length + 8:.1f}" y="{y + 18}">{form.format(value)}</text>'
        )
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap", help="the program to measure")
    parser.add_argument("--users", type=int, default=32_000, help="users of FreeRADIUS [%(default)s]")
    parser.add_argument("--rates", default="2,20,200,1000", help="users that log on a second, and as many off [%(default)s]")
    parser.add_argument("--apart", type=float, default=200, help="the same with a probe and a sniffer [%(default)s]")
    parser.add_argument("--seconds", type=float, default=10, help="for how long they do, at each rate [%(default)s]")
    parser.add_argument("--packets", type=int, default=100_000, help="packets a second [%(default)s]")
    parser.add_argument("--size", type=int, default=172, help="octets in each [%(default)s]")
    parser.add_argument("--share", type=float, default=0.03, help="of them the targets', so far as whole packets go [%(default)s]")
    parser.add_argument("--subscribers", help="the example of that name of ringtap-intercept, for packets of RADIUS on one core")
    parser.add_argument("--svg", help="a directory, for the figures")
    parser.add_argument("--folder", help="where files are made, 2 GB [one of the system's]")
    options = parser.parse_args()
    missing = [program for program in ("freeradius", "radclient", "tcpreplay", "dumpcap", "openssl") if not shutil.which(program)]
    if missing or os.geteuid() != 0:
        print(f"needs root, and {', '.join(missing) or 'nothing else'}", file=sys.stderr)
        sys.exit(77)
    options.ringtap = str(pathlib.Path(options.ringtap).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder, prefix="ringtap-interception-"))
    try:
        with Pair() as pair:
            for end_, address in (("receiver", SERVER), ("sender", CLIENT)):
                for command in (f"addr add {address}/24 dev veth0", "link set lo up"):
                    subprocess.run(pair.inside(end_, "ip", *command.split()), check=True)
            followed, trace = follow_all(options, pair, folder)
            exchanged = exchanges(trace, options.users)
            rates = [float(rate) for rate in options.rates.split(",")]
            takes = [max(1, round(rate * options.seconds)) for rate in (*rates, options.apart)]
            users = sorted(exchanged)
            if sum(takes) > len(users):
                sys.exit(f"{sum(takes)} users are needed, and {len(users)} were let in, started and stopped: fewer --seconds, or more --users")
            targets, officers, orders = users[: sum(takes)], Officers(options.ringtap, folder), []
            for first in range(0, len(targets), TARGETS_OF_A_WARRANT):
                some, liid = targets[first : first + TARGETS_OF_A_WARRANT], f"LI-{first:05}"
                officers.order(liid, some, folder)
                orders.append((liid, some))
            print(f"    {len(orders)} warrants with {len(targets)} targets", file=sys.stderr)
            runs = []
            for rate, take in zip(rates, takes):
                some, targets = targets[:take], targets[take:]
                runs.append(intercept(options, pair, folder, officers, orders, exchanged, some, rate))
            apart = intercept_apart(options, pair, folder, officers, orders, exchanged, targets, options.apart)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    measured = None
    if options.subscribers:
        measured = json.loads(subprocess.run(["taskset", "-c", "1", options.subscribers], capture_output=True, text=True, check=True).stdout)
    if options.svg:
        figures(pathlib.Path(options.svg), runs, apart, measured)
    print(json.dumps({"followed": followed, "targets": runs, "apart": apart, "radius": measured}))


if __name__ == "__main__":
    main()
