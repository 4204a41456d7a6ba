#!/usr/bin/env python3
"""The platform as ringtap watches it: watched.py --ringtap PROGRAM [TEST...]. The platform is up before.

`probes`: two probes at the cable of the telephones are killed in turn during calls, and no call is lost: what one misses, the other has.
`hep`: the proxies send a copy of their SIP as HEP, from which ringtap has the same calls as from the wire, and those of TLS as well.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import capture  # noqa: E402
import checks  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402
import services  # noqa: E402
import telephones  # noqa: E402
from measures import Wrong, check  # noqa: E402

OUTSIDE = ["ip", "netns", "exec", nodes.PREFIX + nodes.OUTSIDE]
COLLECTOR = (nodes.address(nodes.OUTSIDE, "eth1"), 9060)
CALLS, RATE, SECONDS = 130, 5, 6
# Seconds that a probe is down, and that both are up before the next is killed: a call that began while the one was down ends before.
DOWN, UP = 4, SECONDS + 2
# What a probe says in its log once it captures.
CAPTURES = "tables hold"
CONFIGURATION = """
[capture]
interfaces = ["{interface}"]
ring = "8MiB"
[store]
directory = "{place}/records"
outbox = "{place}/outbox"
[journal]
path = "{place}/journal"
[hooks]
directory = "{place}/hooks"
[metrics]
listen = ""
[process]
profile = "small"
control = "{place}/control"
"""


class Probe:
    """A `ringtap run` at a cable, with a database of its own."""

    def __init__(self, ringtap, place):
        self.ringtap, self.place, self.process = ringtap, place, None
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "ringtap.toml").write_text(CONFIGURATION.format(interface=f"{nodes.PHONES}-eth0", place=place))

    def start(self):
        path = self.place / "log"
        before = path.read_text().count(CAPTURES) if path.exists() else 0
        with open(path, "a") as log:
            self.process = subprocess.Popen([*OUTSIDE, self.ringtap, "run", "-c", self.place / "ringtap.toml", "--status", "1"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        nodes.wait(lambda: path.read_text().count(CAPTURES) > before or self.process.poll() is not None, "a probe does not capture")
        check(self.process.poll() is None, f"a probe does not run: {path.read_text()[-500:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def calls(self):
        """What its database has, by Call-ID."""
        done = subprocess.run([self.ringtap, "calls", "--store", self.place / "records", "--format", "jsonl", "--limit", "100000"],
                              stdout=subprocess.PIPE, check=True, text=True)
        return {call["call_id"]: call for call in map(json.loads, done.stdout.splitlines()) if call.get("call_id")}


def probes(folder, ringtap):
    where = folder / "runs/probes"
    both = [Probe(ringtap, where / name) for name in ("first", "second")]
    packets = capture.Capture(where / "run.pcap")
    calls = None
    try:
        for probe in both:
            probe.start()
        calls = telephones.Calls(folder, where / "calls", CALLS, RATE, SECONDS, telephones.ECHO, users=range(1001, 1021), address=telephones.ADDRESSES[1])
        for probe in both:
            time.sleep(UP)
            probe.kill()
            time.sleep(DOWN)
            probe.start()
        succeeded, failed = calls.wait()
        over = time.time()
        telephones.Calls(folder, where / "last", 1, 1, 1, telephones.ECHO, address=telephones.ADDRESSES[2]).wait()
        nodes.wait(lambda: packets.reaches(over), "the capture does not go on")
    finally:
        for each in [calls, *both, packets]:
            if each:
                each.stop()
    check((succeeded, failed) == (CALLS, 0), f"{failed} of {CALLS} calls failed")
    made = {key for key, call in capture.records(ringtap, packets.path)[0].items() if call["to_user"] == telephones.ECHO}
    found = [probe.calls() for probe in both]
    missing = made - found[0].keys() - found[1].keys()
    check(not missing, f"no probe has {len(missing)} of {len(made)} calls: {sorted(missing)[:3]}")
    whole = {key for one in found for key, call in one.items() if call["state"] == "completed" and call["answer_us"]}
    check(made <= whole, f"{len(made - whole)} of {len(made)} calls are nowhere from beginning to end")
    print(f"watched: {len(made)} calls: {len(made & found[0].keys())} at the first probe, {len(made & found[1].keys())} at the second, none lost")


def hep(folder, ringtap):
    """What the collector gets, and the wire, have the same calls; a call over TLS is in the copies alone."""
    where = folder / "runs/hep"
    where.mkdir(parents=True, exist_ok=True)
    machine.playbook(folder, "--tags", "proxy", "-e", f"hep_collector={COLLECTOR[0]}:{COLLECTOR[1]}")
    wire = copies = None
    try:
        checks.wait(folder)
        wire = capture.Capture(where / "wire.pcap")
        copies = capture.Capture(where / "hep.pcap", "cluster", f"udp port {COLLECTOR[1]}")
        calls = telephones.Calls(folder, where / "calls", 20, 5, 3, telephones.ECHO, users=range(1001, 1021), address=telephones.ADDRESSES[1])
        succeeded, failed = calls.wait()
        told = json.loads(services.begin(services.secure_command(folder, services.SECURE_CALLER, "call", "600", 3, 0, port=5450)).communicate()[0])
        check(told["code"] == 200, f"a call over TLS: {told}")
        time.sleep(2)
    finally:
        for each in (wire, copies):
            if each:
                each.stop()
        machine.playbook(folder, "--tags", "proxy")
        checks.wait(folder)
    check((succeeded, failed) == (20, 0), f"{failed} of 20 calls failed")
    on_wire, by_hep = (capture.records(ringtap, each.path)[0] for each in (wire, copies))
    plain = {key for key, call in on_wire.items() if call["to_user"] == telephones.ECHO}
    check(len(plain) == 20, f"{len(plain)} calls on the wire, SIPp made 20")
    missing = plain - by_hep.keys()
    check(not missing, f"{len(missing)} of 20 calls are not in the copies")
    for key in plain:
        for name in ("from_user", "to_user", "state", "final_code"):
            check(on_wire[key][name] == by_hep[key][name], f"{key}: {name} is {by_hep[key][name]!r} by HEP, {on_wire[key][name]!r} on the wire")
        apart = abs(on_wire[key]["answer_us"] - by_hep[key]["answer_us"]) / 1e3
        check(apart < 20, f"{key} was answered {apart:.1f} ms later or earlier by HEP")
    seen = [[call for call in found.values() if call["from_user"] == services.SECURE_CALLER and call["answer_us"]] for found in (on_wire, by_hep)]
    check([len(each) for each in seen] == [0, 1], f"the call over TLS: {len(seen[0])} times on the wire, {len(seen[1])} in the copies")


TESTS = {test.__name__: test for test in (probes, hep)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ringtap", type=capture.program, required=True, help="the program")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("tests", nargs="*", metavar="TEST", default=[], help=", ".join(TESTS))
    options = parser.parse_args()
    unknown = [name for name in options.tests if name not in TESTS]
    if unknown:
        sys.exit(f"watched: there is no test {unknown[0]!r}: {', '.join(TESTS)}")
    folder = options.folder.resolve()
    try:
        checks.wait(folder)
        for name in options.tests or TESTS:
            try:
                TESTS[name](folder, options.ringtap.resolve())
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong}") from wrong
            print(f"watched: {name} holds", flush=True)
    except (nodes.Failure, Wrong) as failure:
        sys.exit(f"watched: {failure}")


if __name__ == "__main__":
    main()
