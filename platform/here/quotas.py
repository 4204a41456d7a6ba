"""Processor time of nodes on this machine: what each may use at most, and what it used. It stands for the virtual processors of hosts.

Nodes are control groups of version 2, which count what they use. What limits them is the controller `cpu`, which a kernel has in
version 1 or in version 2. In version 1, all processes of a node go into a group of it but Corosync's: a member that does not get the
processor in time is taken for lost. In version 2 a process cannot be in another group than its unit's, so the node's systemd limits the
units that calls need.
"""

import contextlib
import os
from pathlib import Path

import nodes

# Short, so that a node that has used its time waits for milliseconds.
PERIOD_US = 20_000
# Outside of all limits.
FREE = "corosync.service"
# By the root of a node, the units that are limited in version 2. Each may use as much as the node.
UNITS = {"pbx": ("asterisk",), "proxy": ("kamailio", "rtpengine-daemon", "redis-server@own", "redis-server@replica"), "db": ("mariadb",)}


def kind(name):
    return name.rstrip("0123456789")


def mounted(system, option):
    """Where this file system is mounted, with this option of the mount; None if nowhere."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, found, options, *_ = line.split()
        if found == system and (option is None or option in options.split(",")):
            return Path(where)
    return None


def group(name):
    """The group of a node, in version 2."""
    root = mounted("cgroup2", None)
    if root is None:
        raise nodes.Failure("no control groups of version 2 are mounted, so nothing counts the processor time of nodes: "
                            "mount -t cgroup2 none /sys/fs/cgroup/unified")
    return root / f"{nodes.PREFIX}{name}"


def used(name):
    """Seconds of processor time that a node has used since it booted."""
    words = dict(line.split() for line in (group(name) / "cpu.stat").read_text().splitlines())
    return int(words["usage_usec"]) / 1e6


def processes(name):
    """The processes of a node that a limit is for."""
    found = set()
    if not group(name).is_dir():
        return found
    for path in group(name).rglob("cgroup.procs"):
        # A unit that ends takes its group with it.
        with contextlib.suppress(OSError):
            if path.parent.name != FREE:
                found |= {int(line) for line in path.read_text().split()}
    return found


class Ordinary:
    """Limits do not hold real-time threads, and a group of version 1 takes none: for the time of a limit they are ordinary ones.
    Asterisk's are real-time."""

    def __init__(self):
        self.before = {}

    def make(self, name, pid):
        """Each thread of this process of a node; those that they begin are as they are."""
        for thread in threads(pid):
            with contextlib.suppress(OSError):
                policy = os.sched_getscheduler(thread)
                if policy & ~os.SCHED_RESET_ON_FORK in (os.SCHED_RR, os.SCHED_FIFO):
                    self.before[name, program(pid)] = policy, os.sched_getparam(thread)
                    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))

    def undo(self):
        """Also of one that was started again meanwhile, which could not become real-time in a group."""
        for (name, wanted), (policy, parameters) in self.before.items():
            for pid in processes(name):
                with contextlib.suppress(OSError):
                    if program(pid) == wanted:
                        for thread in threads(pid):
                            os.sched_setscheduler(thread, policy, parameters)
        self.before = {}


def program(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def threads(pid):
    return [int(path.name) for path in Path(f"/proc/{pid}/task").glob("*")]


class Grouped:
    """The limits of nodes in version 1, by the share of a processor."""

    def __init__(self, root, shares):
        self.root, self.shares, self.ordinary = root, shares, Ordinary()

    def path(self, name):
        return self.root / f"{nodes.PREFIX}{name}"

    def __enter__(self):
        try:
            for name, share in self.shares.items():
                path = self.path(name)
                path.mkdir(exist_ok=True)
                (path / "cpu.cfs_quota_us").write_text("-1")
                (path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (path / "cpu.cfs_quota_us").write_text(str(round(share * PERIOD_US)))
                # Again, until none has begun meanwhile; from then on they inherit the group.
                while missing := processes(name) - members(path):
                    self.move(name, missing, path)
        except BaseException:
            self.__exit__()
            raise
        return self

    def move(self, name, wanted, path):
        for pid in wanted:
            self.ordinary.make(name, pid)
            with contextlib.suppress(ProcessLookupError):
                (path / "cgroup.procs").write_text(str(pid))

    def __exit__(self, *_):
        for name in self.shares:
            path = self.path(name)
            while path.exists() and (left := members(path)):
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        (self.root / "cgroup.procs").write_text(str(pid))
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()
        self.ordinary.undo()

    def waited(self):
        """By node, in how many of its periods it had used its time and had to wait, and how many there were."""
        found = {}
        for name in self.shares:
            words = dict(line.split() for line in (self.path(name) / "cpu.stat").read_text().splitlines())
            found[name] = int(words["nr_throttled"]), int(words["nr_periods"])
        return found


def members(path):
    return {int(line) for line in (path / "cgroup.procs").read_text().split()}


class Units:
    """The limits of nodes in version 2, where the node's systemd sets them."""

    def __init__(self, folder, shares):
        self.folder, self.shares, self.ordinary = folder, shares, Ordinary()

    def limit(self, value):
        for name, share in self.shares.items():
            for unit in UNITS[kind(name)]:
                nodes.Node(self.folder, name)("systemctl", "set-property", "--runtime", f"{unit}.service",
                                              f"CPUQuota={value(share)}", f"CPUQuotaPeriodSec={PERIOD_US}us")

    def __enter__(self):
        try:
            self.limit(lambda share: f"{round(100 * share)}%")
            for name in self.shares:
                unlimited = [unit for unit in UNITS[kind(name)] if self.told(name, unit, "cpu.max").startswith("max")]
                if unlimited:
                    raise nodes.Failure(f"{name}: systemd does not limit {unlimited[0]}: does the group of the node have the controller? "
                                        f"echo +cpu > {group(name).parent}/cgroup.subtree_control")
                for pid in processes(name):
                    self.ordinary.make(name, pid)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(nodes.Failure):
            self.limit(lambda _: "")
        self.ordinary.undo()

    def told(self, name, unit, file):
        """What a file of a unit's group says, nothing while the unit does not run."""
        with contextlib.suppress(OSError, StopIteration):
            return next(group(name).rglob(f"{unit}.service/{file}")).read_text()
        return ""

    def waited(self):
        found = {}
        for name in self.shares:
            words = [dict(line.split() for line in self.told(name, unit, "cpu.stat").splitlines()) for unit in UNITS[kind(name)]]
            found[name] = tuple(sum(int(each.get(key, 0)) for each in words) for key in ("nr_throttled", "nr_periods"))
        return found


@contextlib.contextmanager
def none():
    yield None


def limits(folder, shares):
    """A context in which each of these nodes has no more than its share of a processor; without shares none is limited."""
    if not shares:
        return none()
    first = mounted("cgroup", "cpu")
    if first is not None:
        return Grouped(first, shares)
    root = mounted("cgroup2", None)
    if root is None or "cpu" not in (root / "cgroup.controllers").read_text().split():
        raise nodes.Failure("this kernel has no controller `cpu`, in version 1 or 2 of control groups: CPU= (--cpu) limits nothing, leave it empty")
    return Units(folder, shares)
