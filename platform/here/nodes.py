"""Nodes on this machine: Debian roots booted with their own systemd, joined by two networks, each node in namespaces of its own.

A node is what a host would be: the same files at the same places, the same services started by the same systemd. Only its
network is laid by this machine, and Ansible reaches it through its namespaces instead of SSH. Everything made here has the
prefix PREFIX; processes are ended by process id alone, and only if they are the ones that were started.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

# Another one, for a second platform on the machine: each in its own folder.
PREFIX = os.environ.get("PLATFORM_PREFIX", "ringtap-platform-")
# The namespace with the bridges, where the agent that fences runs: outside of all nodes, as a power switch is.
OUTSIDE = "outside"
# Calls come from here.
PHONES = "phones"
# By node: its root, and the last byte of its addresses.
NODES = {
    "proxy1": ("node", 11),
    "proxy2": ("node", 12),
    "pbx1": ("pbx", 21),
    "pbx2": ("pbx", 22),
    "db1": ("node", 31),
    "db2": ("node", 32),
    "arbiter": ("node", 33),
}
# By interface: its bridge, and the first bytes of its network. Telephones, proxies and PBXs use the first; the cluster, the
# databases and fencing the second.
NETWORKS = {"eth0": ("service", "10.77.1"), "eth1": ("cluster", "10.77.2")}
PHONES_BYTE, OUTSIDE_BYTE = 41, 1
# Nothing that works takes longer, however busy the machine is.
PATIENCE = 300
# Bytes of a node's disk, in a file that grows with what is on it.
DISK = 4 << 30

# Boots the overlay $1 as the host $2 in the control group $3, a name below the mount $4.
#
# The nodes share this machine's kernel, so what would change it is closed to them: only the network's part of /proc/sys is
# writable, since it is their own, and /proc/sysrq-trigger is not there: Pacemaker resets its machine by it if nothing else helps.
BOOT = """
mount --make-rprivate /
mkdir -p "$4"
mount -t cgroup2 none "$4"
mkdir -p "$4/$3"
echo $$ >"$4/$3/cgroup.procs"
exec unshare --pid --uts --ipc --cgroup --fork --kill-child sh -ec '
    hostname "$2"
    cd "$1"
    mount -t proc proc proc
    mount --bind proc/sys/net mnt
    mount --bind proc/sys proc/sys
    mount -o remount,bind,ro proc/sys
    mount --bind mnt proc/sys/net
    umount mnt
    [ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs tmpfs run
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs -o mode=755 tmpfs dev
    for each in null zero full random urandom tty; do touch dev/$each; mount --bind /dev/$each dev/$each; done
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
    mount -t tmpfs -o mode=1777 tmpfs dev/shm
    ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd
    # Not by chroot alone: user namespaces, by which units confine services, exist below the root of a mount namespace only.
    pivot_root . mnt
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . sh -c "umount -l /mnt; exec /lib/systemd/systemd"
' boot "$1" "$2"
"""


class Failure(Exception):
    """Something that could not be done, in a sentence for the person at the terminal."""


def run(*command, given=""):
    """What a command printed that was `given` this on its standard input."""
    done = subprocess.run(list(map(str, command)), input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failure(f"`{' '.join(map(str, command))}` failed: {done.stdout.strip()}")
    return done.stdout


def ip(*words):
    return run("ip", *words)


def namespaces():
    """Those of the platform that exist."""
    there = Path("/run/netns")
    return sorted(path.name for path in there.glob(f"{PREFIX}*")) if there.is_dir() else []


def started(pid):
    """When process `pid` started, in the kernel's ticks: a process id that was used again has another. None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    words = text.rsplit(")", 1)[1].split()
    return None if words[0] in "ZX" else int(words[19])


class Process:
    """A process that was started here, kept in a file, so that a later command finds it."""

    def __init__(self, path):
        self.path = Path(path)

    def keep(self, pid):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"pid": pid, "started": started(pid)}))

    def pid(self):
        """Its process id while it runs."""
        try:
            kept = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return None
        return kept["pid"] if kept["started"] is not None and started(kept["pid"]) == kept["started"] else None

    def kill(self):
        """Kills it and returns when it is gone."""
        pid = self.pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait(lambda: self.pid() is None, f"process {pid} does not end", 0.005)
        self.path.unlink(missing_ok=True)


def wait(condition, otherwise, pause=0.05, patience=PATIENCE):
    """Waits until `condition` returns something true, asked each `pause` seconds, and returns that."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(pause)
    raise Failure(f"{otherwise() if callable(otherwise) else otherwise} ({patience} s)")


def address(name, interface="eth0"):
    byte = {OUTSIDE: OUTSIDE_BYTE, PHONES: PHONES_BYTE}.get(name) or NODES[name][1]
    return f"{NETWORKS[interface][1]}.{byte}"


def lay_networks():
    """The namespaces, the bridges and the cables. Refuses to touch one that exists."""
    existing = namespaces()
    if existing:
        raise Failure(f"namespace {existing[0]} exists: `make platform-down` removes the platform that is up")
    outside = PREFIX + OUTSIDE
    ip("netns", "add", outside)
    ip("-n", outside, "link", "set", "lo", "up")
    for bridge, network in NETWORKS.values():
        ip("-n", outside, "link", "add", bridge, "type", "bridge")
        ip("-n", outside, "link", "set", bridge, "up")
        ip("-n", outside, "address", "add", f"{network}.{OUTSIDE_BYTE}/24", "dev", bridge)
    for name in [*NODES, PHONES]:
        ip("netns", "add", PREFIX + name)
        ip("-n", PREFIX + name, "link", "set", "lo", "up")
        for interface, (bridge, _) in NETWORKS.items():
            if name == PHONES and interface != "eth0":
                continue
            cable = f"{name}-{interface}"
            ip("link", "add", interface, "netns", PREFIX + name, "type", "veth", "peer", "name", cable, "netns", outside)
            ip("-n", outside, "link", "set", cable, "master", bridge, "up")
    give_addresses(PHONES)


def interfaces(name):
    return ["eth0"] if name == PHONES else list(NETWORKS)


def give_addresses(name):
    """As a host has them when it boots: its own and no other."""
    for interface in interfaces(name):
        ip("-n", PREFIX + name, "address", "flush", "dev", interface)
        ip("-n", PREFIX + name, "address", "add", f"{address(name, interface)}/24", "dev", interface)
        ip("-n", PREFIX + name, "link", "set", interface, "up")


def cable(name, state, only=None):
    """Plugs a node's cables in (`up`) or out (`down`), at the switch, by one process: fencing waits for it."""
    lines = [f"link set {name}-{interface} {state}\n" for interface in interfaces(name) if only in (None, interface)]
    run("ip", "-n", PREFIX + OUTSIDE, "-batch", "-", given="".join(lines))


class Node:
    """A node: its root below `folder`, and its processes."""

    def __init__(self, folder, name):
        self.folder = Path(folder) / "nodes" / name
        self.name = name
        self.outer = Process(self.folder / "outer.json")
        self.init = Process(self.folder / "init.json")

    def is_up(self):
        return self.init.pid() is not None

    def mount(self, root):
        """Lays the node's own files over the root that it shares with others: on a disk of its own, which can be full."""
        merged, disk, image = self.folder / "root", self.folder / "disk", self.folder / "disk.img"
        for path in (disk, merged):
            path.mkdir(parents=True, exist_ok=True)
        if not image.exists():
            with open(image, "xb") as file:
                file.truncate(DISK)
            run("mkfs.ext4", "-q", "-F", "-m", 0, image)
        if not os.path.ismount(disk):
            run("mount", "-o", "loop", image, disk)
        for path in (disk / "own", disk / "work"):
            path.mkdir(exist_ok=True)
            # The first is the node's `/`, which all of its users pass.
            path.chmod(0o755)
        if not os.path.ismount(merged):
            run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={root},upperdir={disk / 'own'},workdir={disk / 'work'}", merged)
        (merged / "etc/hostname").write_text(self.name + "\n")
        return merged

    def boot(self, root):
        """Boots it; returns when its systemd runs. What it wrote before is still there, as on a host's disk."""
        merged = self.mount(root)
        give_addresses(self.name)
        cable(self.name, "up")
        command = ["nsenter", f"--net=/run/netns/{PREFIX}{self.name}", "unshare", "--mount", "sh", "-ec", BOOT, "boot",
                   merged, self.name, PREFIX + self.name, self.folder / "cgroup"]
        with open(self.folder / "boot.log", "w") as log:
            outer = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True, umask=0o022)
        self.outer.keep(outer.pid)
        self.init.keep(wait(lambda: self.child(outer), lambda: f"{self.name} does not boot: {self.log()}"))

    def child(self, outer):
        """The node's process 1, once it is systemd."""
        if outer.poll() is not None:
            raise Failure(f"{self.name} does not boot: {self.log()}")
        with contextlib.suppress(OSError, ValueError):
            pid = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
            return pid if Path(f"/proc/{pid}/comm").read_text().strip() == "systemd" else None

    def log(self):
        return (self.folder / "boot.log").read_text().strip()

    def is_ready(self):
        """Whether its systemd has started what is enabled. A bare root lacks some of what systemd would like."""
        state = self.ask("systemctl", "is-system-running")
        return state.stdout.strip() in ("running", "degraded")

    def command(self, *words):
        """A command as it is run inside of the node."""
        pid = self.init.pid()
        if pid is None:
            raise Failure(f"{self.name} is not up")
        return ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd",
                "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                "LC_ALL=C.UTF-8", *map(str, words)]

    def ask(self, *words):
        """Runs a command inside; its status and what it printed, whatever they are."""
        return subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def __call__(self, *words):
        done = self.ask(*words)
        if done.returncode != 0:
            raise Failure(f"{self.name}: `{' '.join(map(str, words))}` failed: {done.stdout.strip()}")
        return done.stdout

    def power_off(self):
        """As a power switch does it: nothing of the node runs or sends when this returns. Its kernel, which is this machine's, would go
        on answering for its addresses, but no cable leads there until it boots, and then it has its own alone."""
        if PREFIX + self.name in namespaces():
            cable(self.name, "down")
        # The kernel ends every process of the namespace with its first one, before that one is gone.
        self.init.kill()
        self.outer.kill()

    def remove(self):
        """Everything of it, also what a boot that failed left."""
        self.power_off()
        for path in (self.folder / "root", self.folder / "disk", self.folder / "cgroup"):
            while os.path.ismount(path):
                run("umount", path)
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_networks():
    for name in namespaces():
        ip("netns", "delete", name)


def remove_groups(folder):
    """The control groups of nodes that are gone: the kernel removes none by itself."""
    script = f'mount -t cgroup2 none "$1" && find "$1" -mindepth 1 -depth -type d -path "$1/{PREFIX}*" -exec rmdir {{}} +'
    with contextlib.suppress(Failure):
        Path(folder).mkdir(parents=True, exist_ok=True)
        run("unshare", "--mount", "sh", "-c", script, "remove", folder)
