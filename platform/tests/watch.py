"""What the platform does under load: calls of each PBX over time, processor time of its nodes, and whether anything failed over."""

import contextlib
import re
import sys
import threading
import time
import xml.etree.ElementTree as tree

import checks
import nodes
import quotas

# Nodes whose processor time is told.
COUNTED = (*checks.PROXIES, *checks.PBXS, *checks.DATABASES)
# A node that is short of processor time answers late, and one that is lost not at all.
PATIENCE = 20
ASK = "import socket, sys\ns = socket.create_connection(('127.0.0.1', 9900), 10)\ns.sendall(b'list totals\\n')\n" \
      "s.shutdown(socket.SHUT_WR)\nsys.stdout.buffer.write(b''.join(iter(lambda: s.recv(4096), b'')))"


def calls(folder, name):
    """Of a PBX, the calls that are active, and those processed since it started; None while it does not answer."""
    with contextlib.suppress(nodes.Failure):
        told = nodes.Node(folder, name).ask("timeout", PATIENCE, "asterisk", "-rx", "core show calls").stdout
        found = re.search(r"(\d+) active calls?\n(\d+) calls? processed", told)
        return (int(found[1]), int(found[2])) if found else None
    return None


def media(folder):
    """What rtpengine of both proxies counts since it started: packets of calls that ended, and streams of such without sound both ways."""
    found = {"relayed": 0, "silent": 0}
    for name in checks.PROXIES:
        told = nodes.run("ip", "netns", "exec", nodes.PREFIX + name, sys.executable, "-c", ASK)
        found["relayed"] += totalled(told, r"relayed packets")
        found["silent"] += totalled(told, r"streams with no relayed packets") + totalled(told, r"1-way streams")
    return found


def totalled(text, what):
    found = re.search(rf"Total.*? {what}\s*:\s*(\d+)", text)
    if not found:
        raise nodes.Failure(f"rtpengine does not tell its total of {what}: {text.strip()[:200]}")
    return int(found[1])


def failed(folder):
    """How often the cluster counts that a resource failed, by resource and node. It forgets after a while."""
    done = nodes.Node(folder, "arbiter").ask("timeout", PATIENCE, "crm_mon", "--one-shot", "--output-as=xml", "--include=none,failcounts")
    with contextlib.suppress(tree.ParseError):
        return {(each.get("id"), node.get("name")): each.get("fail-count") for node in tree.fromstring(done.stdout).iterfind("node_history/node")
                for each in node.iterfind("resource_history") if each.get("fail-count", "0") != "0"}
    return {}


def fenced(folder):
    """How often the agent outside fenced each node."""
    log = (folder / "outside.log").read_text()
    return {name: log.count(f" fenced {name}\n") for name in nodes.NODES}


def given_up(folder, since):
    """By proxy, how often Kamailio took a PBX for lost since a moment, and ended its calls."""
    words = ("journalctl", "--unit=kamailio", f"--since=@{since:.0f}", "--output=cat")
    return {name: nodes.Node(folder, name).ask(*words).stdout.count("is lost: ended its") for name in checks.PROXIES
            if nodes.Node(folder, name).is_up()}


class Watch(threading.Thread):
    """Looks each `pause` seconds, from entering to leaving it, and at both moments."""

    def __init__(self, folder, pause, limits):
        super().__init__()
        self.folder, self.pause, self.limits = folder, pause, limits
        self.samples, self.seen, self.over = [], [], threading.Event()
        self.processors, self.waiting = {}, {}

    def __enter__(self):
        self.begun, self.now = time.monotonic(), time.time()
        self.base = {name: calls(self.folder, name) for name in checks.PBXS}
        if None in self.base.values():
            raise nodes.Failure(f"a PBX does not say how many calls it has: {self.base}")
        self.owner, self.failed, self.fenced = checks.owner(self.folder), failed(self.folder), fenced(self.folder)
        self.used, self.waited = self.processor_time(), self.limits.waited() if self.limits else {}
        self.start()
        return self

    def run(self):
        while True:
            # A node that is lost while it is asked.
            try:
                self.look()
            except nodes.Failure as failure:
                self.see(str(failure))
            if self.over.wait(self.pause):
                return

    def __exit__(self, kind, *_):
        self.over.set()
        self.join()
        if kind is not None:
            return
        self.look()
        seconds, used = time.monotonic() - self.begun, self.processor_time()
        # One that was fenced has begun anew.
        self.processors = {name: round((used[name] - self.used[name]) / seconds, 3) for name in used if used[name] >= self.used.get(name, 0) > 0}
        if self.limits:
            for name, (waited, periods) in self.limits.waited().items():
                waited, periods = waited - self.waited[name][0], periods - self.waited[name][1]
                self.waiting[name] = round(waited / periods, 3) if periods else 0.0
        after = fenced(self.folder)
        self.seen += [f"{name} was fenced" for name in nodes.NODES if after[name] > self.fenced[name]]
        self.seen += [f"{name} took a PBX for lost" for name, count in given_up(self.folder, self.now).items() if count]

    def processor_time(self):
        found = {}
        for name in COUNTED:
            with contextlib.suppress(OSError):
                found[name] = quotas.used(name)
        return found

    def look(self):
        owner = checks.owner(self.folder)
        if owner != self.owner:
            self.see(f"the address moved from {self.owner} to {owner}")
        for (resource, name), count in failed(self.folder).items():
            if self.failed.get((resource, name)) != count:
                self.see(f"{resource} failed on {name}")
        now = {name: calls(self.folder, name) for name in checks.PBXS}
        last = self.samples[-1]["pbxs"] if self.samples else dict.fromkeys(checks.PBXS, (0, 0))
        for name, told in now.items():
            if told and told[1] < last[name][1] + self.base[name][1]:
                self.see(f"the PBX of {name} was started again")
        # One that does not answer in time has what it had.
        self.samples.append({"seconds": time.monotonic() - self.begun, "pbxs": {
            name: (told[0], max(0, told[1] - self.base[name][1])) if told else last[name] for name, told in now.items()}})

    def see(self, what):
        if what not in self.seen:
            self.seen.append(what)

    def figures(self):
        """Processors that each node used on average; of its periods of limited time, the share in which it had to wait; what failed over."""
        return {"processors": self.processors, "waiting": self.waiting, "events": self.seen,
                "processed": {name: self.samples[-1]["pbxs"][name][1] for name in checks.PBXS}}
