#!/usr/bin/env python3
"""Floods the daemon with hostile traffic of each kind while it records real calls, and measures what an attacker's byte costs.

For each kind of flood: `ringtap generate` sends calls and the flood over a veth pair, from the same addresses; the daemon at the other
end must record each call, stream and registration as the truth has it, and stay within its memory. Then `ringtap analyze` reads a
capture of the flood alone: its processor time per byte is compared with that of ordinary calls, as a ratio within this run. Last, a
capture that is compressed a thousandfold must be refused.

Prints a table: packets of the flood, the most memory that the daemon had beyond that of its start, packets that the kernel, the rings or
the store lost, entries of tables that were refused or gave way, nanoseconds per byte and their ratio, and the calls found. The exit
status is 1 if something was missed, and 77 if network namespaces cannot be created. Nothing leaves the namespaces that this script
creates and removes, and it ends by itself: no run takes longer than its limit.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from live import Pair

KINDS = ("invite register message codecs ssrc collision fragment hole bytes synfin websocket chunks lengths").split()
MOST_RATIO = 20
METRICS = 9899
# Seconds that nothing takes which works.
LIMIT = 300


class Daemon:
    """`ringtap run` on the receiver's end, and the most memory it had."""

    def __init__(self, options, pair, folder):
        self.folder = folder
        (folder / "ringtap.toml").write_text(f"""[capture]
interfaces = ["veth0"]
ring = "256MiB"
[engine]
memory = "{options.memory}MiB"
[store]
directory = "{folder}/records"
outbox = "{folder}/outbox"
[journal]
path = "{folder}/journal"
[metrics]
listen = "127.0.0.1:{METRICS}"
""")
        self.said = open(folder / "said", "w+")
        command = pair.inside("receiver", options.ringtap, "run", "-c", str(folder / "ringtap.toml"))
        self.process = subprocess.Popen(command, stderr=self.said)
        self.pair = pair
        time.sleep(2)
        if self.process.poll() is not None:
            sys.exit(f"the daemon did not begin: {self.text()}")
        self.start = self.memory()

    def processes(self):
        """Its own, and those that it started."""
        found, new = [], [self.process.pid]
        while new:
            pid = new.pop()
            found.append(pid)
            for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    new += [int(child) for child in children.read_text().split()]
                except OSError:
                    pass
        return found

    def memory(self):
        """Anonymous memory in MiB: without the capture's ring, which is shared with the kernel, and files."""
        total = 0
        for pid in self.processes():
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                lines = dict(line.split(":", 1) for line in status.splitlines())
                total += int(lines["RssAnon"].split()[0]) / 1024
            except (OSError, KeyError):
                pass
        return total

    def drops(self):
        """Packets and records that were lost, and entries that tables refused, gave up or could not complete."""
        read = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"
        command = self.pair.inside("receiver", sys.executable, "-c", read, f"http://127.0.0.1:{METRICS}/metrics")
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        places = dict(re.findall(r'ringtap_drops_total\{place="(\w+)"\} (\d+)', text))
        sums = lambda *names: sum(int(places[name]) for name in names)
        return sums("nic", "ring", "worker", "store", "spool"), sums("tables", "reassembly")

    def text(self):
        self.said.seek(0)
        return self.said.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def records(self, to):
        with open(to, "w") as out:
            # Without a single record there is no day file, and that is an error for these commands.
            stored = any((self.folder / "records").glob("*.sqlite"))
            for records in ("calls", "streams", "registrations") if stored else ():
                command = [self.options.ringtap, records, "--store", str(self.folder / "records"), "--limit", "0", "--format", "jsonl"]
                subprocess.run(command, stdout=out, check=True)


def flooded(options, pair, kind, folder):
    """Sends calls and a flood to the daemon. Whether all calls were recorded, its memory, and what was said."""
    daemon = Daemon(options, pair, folder)
    truth = folder / "truth.jsonl"
    command = [options.ringtap, "generate", "--interface", "veth0", "--truth", str(truth), "--calls", str(options.calls),
               "--rate", str(options.rate), "--hold", str(options.hold)]
    if kind:
        command += ["--flood", f"{options.flood}pps", "--flood-mix", kind]
    most, lost = 0, (0, 0)
    sender = subprocess.Popen(pair.inside("sender", *command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + LIMIT + 3 * (options.calls / options.rate + options.hold)
        while sender.poll() is None and time.monotonic() < until:
            most = max(most, daemon.memory())
            time.sleep(0.2)
        # Calls that are over wait two seconds for late packets.
        time.sleep(3)
        if daemon.process.poll() is None:
            most, lost = max(most, daemon.memory()), daemon.drops()
    finally:
        if sender.poll() is None:
            sender.kill()
            sender.wait()
        status = daemon.stop()
    daemon.records(folder / "found.jsonl")
    command = [options.ringtap, "compare", "--allow-others", "--within", str(options.within), "--truth", str(truth)]
    compare = subprocess.run([*command, str(folder / "found.jsonl")], capture_output=True, text=True, timeout=LIMIT)
    summary = json.loads(truth.read_text().splitlines()[-1])
    good = compare.returncode == 0 and status == 0
    if not good:
        print(compare.stdout, daemon.text()[-2_000:], file=sys.stderr)
    found = compare.stdout.splitlines()[0].split(None, 1)[1] if compare.stdout else f"exit {status}"
    return {"good": good, "found": found, "flood": summary["flood"], "memory": most - daemon.start, "lost": lost}


def processor(command):
    """Seconds of processor time in the program itself, the least of three runs."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=LIMIT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(seconds)


def cost(options, folder, *what):
    """Nanoseconds of processor time per byte of a capture, without what an empty one takes."""
    capture = folder / "cost.pcap"
    subprocess.run([options.ringtap, "generate", "--out", str(capture), *what], check=True, capture_output=True)
    empty = folder / "empty.pcap"
    empty.write_bytes(capture.read_bytes()[:24])
    analyze = [options.ringtap, "analyze", "--workers", "1", "--format", "jsonl"]
    seconds = processor([*analyze, str(capture)]) - processor([*analyze, str(empty)])
    return max(seconds, 1e-4) / capture.stat().st_size * 1e9


def bomb(options, folder):
    """A compressed capture of a thousand times its size: whether it is refused, and what is said."""
    capture = folder / "bomb.pcap.gz"
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    packet = struct.pack("<4I", 1_700_000_000, 0, 65_535, 65_535) + bytes(65_535)
    with gzip.open(capture, "wb", compresslevel=6) as out:
        out.write(header)
        for _ in range((3 << 30) // len(packet)):
            out.write(packet)
    run = subprocess.run([options.ringtap, "analyze", str(capture)], capture_output=True, text=True, timeout=LIMIT)
    return run.returncode != 0, run.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--kinds", default=",".join(KINDS), help="only these kinds")
    parser.add_argument("--calls", type=int, default=1000, help="calls beside each flood")
    parser.add_argument("--rate", type=float, default=50, help="calls per second")
    parser.add_argument("--hold", type=float, default=4, help="seconds from answer to release")
    parser.add_argument("--flood", type=int, default=20_000, help="packets of the flood per second")
    parser.add_argument("--memory", type=int, default=192, help="`[engine] memory` in MiB")
    parser.add_argument("--within", type=float, default=20, help="tolerance of times in milliseconds")
    options = parser.parse_args()
    options.ringtap = str(pathlib.Path(options.ringtap).resolve())
    if os.geteuid() != 0:
        print("skipped: network namespaces need root", file=sys.stderr)
        sys.exit(77)
    good = True
    with tempfile.TemporaryDirectory(prefix="ringtap-torture.") as folder, Pair() as pair:
        folder = pathlib.Path(folder)
        pair.ip("-n", pair.names[1], "link", "set", "lo", "up")
        ordinary = cost(options, folder, "--calls", "300", "--rate", "30", "--hold", "5")
        print(f"{'flood':<10} {'packets':>9} {'memory':>9} {'lost':>6} {'refused':>9} {'ns/byte':>8} {'ratio':>6}  calls")
        calm = 0
        for kind in ["", *options.kinds.split(",")]:
            run = folder / (kind or "none")
            run.mkdir()
            result = flooded(options, pair, kind, run)
            spent, ratio = ordinary, 1.0
            if kind:
                spent = cost(options, run, "--calls", "0", "--duration", "20", "--flood", f"{options.flood}pps", "--flood-mix", kind)
                ratio = spent / ordinary
            calm = result["memory"] if not kind else calm
            # The same calls without a flood have records on their way, and pages of the database.
            fits = result["memory"] - calm <= options.memory
            good = good and result["good"] and fits and ratio <= MOST_RATIO
            marks = ["" if result["good"] else "CALLS", "" if fits else "MEMORY", "" if ratio <= MOST_RATIO else "TIME"]
            lost, refused = result["lost"]
            print(f"{kind or 'none':<10} {result['flood']:>9,} {result['memory']:>5.0f} MiB {lost:>6,} {refused:>9,} {spent:>8.2f}"
                  f" {ratio:>6.1f}  {result['found']} {' '.join(filter(None, marks))}".rstrip(), flush=True)
            shutil.rmtree(run)
        refused, said = bomb(options, folder)
        good = good and refused
        print(f"{'bomb':<10} {'refused' if refused else 'READ'}: {said}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
