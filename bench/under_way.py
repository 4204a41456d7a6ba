#!/usr/bin/env python3
"""Calls under way that people listen to and look at, while nothing of them may be lost.

Calls are sent over a veth pair to `ringtap run`, which records all of them, and `ringtap console serve` answers beside it:

  listeners   50 people listen at once, each to another of 500 calls, at the rate of their sound
  page        the page Now is open in Chromium while 10,000 calls are under way: processor time of the browser, and of the
              daemon and the console, with it and without it

Prints one line of JSON; the exit status is 77 where namespaces cannot be made.
"""

import argparse
import base64
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import console
import live

LISTENERS = 50
LISTENED_S = 20
# Two streams of 50 packets a second each.
OF_A_CALL = 100
SAMPLES_PER_S = 8_000
LOOKED_AT = 10_000
LOOKED_S = 30
# The processor cannot send a million packets a second beside all this: each stream gets five instead of fifty.
LOOKED_RATE = 100_000


class UnderWay:
    """A daemon and a console over calls that go on for so many seconds."""

    def __init__(self, options, pair, calls, rate, seconds):
        self.options, self.pair, self.calls = options, pair, calls
        self.daemon = live.Daemon(options.ringtap, options.programs + "/live", options.folder, True)
        self.sending = pair.inside(
            "sender", options.programs + "/live", "send", "veth0", "packet", str(rate), str(seconds), str(calls), "0"
        )

    def __enter__(self):
        live.CALLS = self.calls
        self.daemon.receive(self.pair).__enter__()
        folder = self.daemon.folder
        self.sender = subprocess.Popen(self.sending, stdout=subprocess.PIPE, text=True)
        daemon = ["--control", folder / "control", "--spool", folder / "spool"]
        self.server = console.Server(self.options.ringtap, folder / "people", folder / "records", daemon)
        while (seen := self.server.get("/live/calls", limit=1)["total"]) < self.calls:
            if self.sender.poll() is not None:
                sys.exit(f"bench/under_way.py: {seen} of {self.calls} calls are under way when the last packet was sent")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.sender.kill()
        self.sender.wait()
        self.daemon.__exit__()

    def lost(self):
        """Packets that were not recorded, once all were sent."""
        sent, _ = self.sender.communicate(timeout=120)
        return self.daemon.lost(json.loads(sent)["sent"])


def listeners(options, pair):
    """Fifty at once: how many were refused, how many had a gap, and how much each heard."""
    with UnderWay(options, pair, 500, 500 * OF_A_CALL, LISTENED_S + 30) as under_way:
        calls = [call["id"] for call in under_way.server.get("/live/calls", limit=LISTENERS)["calls"]]
        heard = [None] * len(calls)
        gate = threading.Barrier(len(calls))

        def listen(place):
            gate.wait()
            heard[place] = hear(under_way.server, calls[place])

        threads = [threading.Thread(target=listen, args=(place,)) for place in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost = under_way.lost()
    refused = [one["refused"] for one in heard if "refused" in one]
    good = [one for one in heard if "refused" not in one]
    return {
        "listeners": len(calls), "refused": len(refused), "why": refused[:1], "lost": lost,
        "first_ms": max((one["first_ms"] for one in good), default=None),
        "least_s": min((one["seconds"] for one in good), default=None),
        "ended": sum(one["ended"] for one in good), "states": sorted({state for one in good for state in one["states"]}),
    }


def hear(server, call):
    """Listens for LISTENED_S: when the first sound came, and the seconds of sound."""
    connection = http.client.HTTPConnection(server.host, timeout=60)
    began = time.monotonic()
    connection.request("GET", f"/api/v1/calls/{call}/sound.live", headers=server.headers)
    answer = connection.getresponse()
    if answer.status != 200:
        return {"refused": f"{answer.status} {answer.read().decode()[:300]}"}
    found = {"first_ms": None, "seconds": 0.0, "ended": False, "states": set()}
    samples = 0
    while time.monotonic() - began < LISTENED_S and (line := answer.readline()):
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        if event.get("end"):
            found["ended"] = True
            break
        found["states"].add(event["state"])
        # Two sides of two bytes each.
        got = len(base64.b64decode(event["samples"])) // 4
        if got and found["first_ms"] is None:
            found["first_ms"] = (time.monotonic() - began) * 1e3
        samples += got
    connection.close()
    return found | {"seconds": samples / SAMPLES_PER_S}


def page(options, pair):
    """Shares of a core: of the browser, and of the daemon and the console by it."""
    web = pathlib.Path(__file__).resolve().parent.parent / "web"
    if not (web / "node_modules").exists() or not shutil.which("node"):
        print("the page left out: no node, or no web/node_modules (tools/page)", file=sys.stderr)
        return None
    with UnderWay(options, pair, LOOKED_AT, LOOKED_RATE, 3 * LOOKED_S + 90) as under_way:
        processes = {"daemon": under_way.daemon.process.pid, "console": under_way.server.process.pid}
        without = shares(processes, LOOKED_S)
        environment = {**os.environ, "RINGTAP": options.ringtap, "TOKEN": under_way.server.headers["Authorization"]}
        command = ["node", "browser/watched.js", f"http://{under_way.server.host}", str(LOOKED_S)]
        watched = subprocess.Popen(command, cwd=web, env=environment, stdout=subprocess.PIPE, text=True)
        if "open" not in watched.stdout.readline():
            watched.wait()
            return None if watched.returncode == 77 else sys.exit(f"web/browser/watched.js ended with {watched.returncode}")
        beside = shares(processes, LOOKED_S)
        found = json.loads(watched.communicate(timeout=120)[0])
        if under_way.sender.poll() is not None:
            sys.exit("bench/under_way.py: the calls ended before the page was closed")
        if f"{LOOKED_AT:,}" not in found["text"]:
            sys.exit(f"bench/under_way.py: the page does not show the calls: {found['text']}")
    return {"calls": LOOKED_AT, "browser": found["share"], "without": without, "beside": beside}


def shares(processes, seconds):
    """The part of a core that each process takes meanwhile."""
    before = {name: processor_s(pid) for name, pid in processes.items()}
    began = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    return {name: (processor_s(pid) - before[name]) / took for name, pid in processes.items()}


def processor_s(pid):
    """Of all its threads, and of the processes that it started: seconds."""
    total = 0.0
    for one in [pid, *children(pid)]:
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release/examples", help="folder with the program `live`")
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--folder", type=pathlib.Path, default="target/bench", help="where the daemon keeps packets")
    parser.add_argument("--only", default="listeners,page")
    options = parser.parse_args()
    options.programs, options.ringtap = (str(pathlib.Path(path).resolve()) for path in (options.programs, options.ringtap))
    options.folder = options.folder.resolve()
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        print("calls under way need root and two processors", file=sys.stderr)
        sys.exit(77)
    found = {}
    for part in options.only.split(","):
        with live.Pair() as pair:
            found[part] = {"listeners": listeners, "page": page}[part](options, pair)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
