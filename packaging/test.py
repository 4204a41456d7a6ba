#!/usr/bin/env python3
"""Tests the packages in bare Debian roots: packaging/test.py PACKAGES SUITE...

PACKAGES is what packaging/build wrote, a SUITE bookworm or trixie. Each root is made by debootstrap, once, from the
mirror that apt is configured for, and kept in PACKAGES/roots. In each, booted with its own systemd and without a network:
install, analyse, run as a service beside real traffic, search, listen, upgrade, remove, purge; and the tarball. Needs
root. It makes namespaces and a control group of its own and leaves nothing behind but the bare roots.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO = "/usr/share/ringtap/calls.pcap"
RECORDS = "/var/lib/ringtap/records"
# Three commands, from the package to the first ladder.
MOST_SECONDS = 60
# What a Debian that boots has beside the smallest one.
INCLUDED = "--include=systemd,systemd-sysv,dbus,procps"


# Boots the root $1 in the control group $3, which is mounted at $2 for it alone.
BOOT = """
mount --make-rprivate / && mount -t cgroup2 none $2 && mkdir $2/$3 && echo $$ >$2/$3/cgroup.procs || exit 1
unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child sh -ec '
    mount --bind $1 $1; mount -t proc proc $1/proc; mount -t sysfs sysfs $1/sys; mount -t tmpfs tmpfs $1/run
    mount -t cgroup2 cgroup2 $1/sys/fs/cgroup
    cd $1; exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot $1 /lib/systemd/systemd
' boot $1
echo $$ >$2/cgroup.procs; find $2/$3 -depth -type d -exec rmdir {} +
"""


class Root:
    """A bare Debian that is up, in which commands run."""

    def __init__(self, path, pid):
        self.path = path
        self.pid = pid

    def command(self, text):
        # An ordinary shell: nothing of this machine's environment.
        return ["nsenter", f"--target={self.pid}", "--all", "--root", "--wd", "env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", text]

    def __call__(self, text, status=0):
        """Runs a command; returns what it printed."""
        done = subprocess.run(self.command(text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != status:
            raise AssertionError(f"`{text}` exits with {done.returncode}, not {status}:\n{done.stdout}")
        return done.stdout

    def file(self, path):
        return self.path / str(path).lstrip("/")

    def install(self, package):
        # The recommended libraries are elsewhere: there is no network.
        shutil.copy(package, self.file("/root"))
        return self(f"apt-get install -y --no-install-recommends /root/{package.name} 2>&1")


def check(fact, message):
    if not fact:
        raise AssertionError(message)


def mode(root, path):
    return root(f"stat -c '%U:%G %a' {path}").strip()


def first_ladder(root, package):
    """From the package to the first ladder: three commands."""
    start = time.monotonic()
    root.install(package)
    table = root(f"ringtap analyze {DEMO}")
    # The Call-ID as the table shows it, shortened.
    call_id = re.search(r" completed .* (\S+?)…?$", table, re.MULTILINE).group(1)
    ladder = root(f"ringtap call '{call_id}' {DEMO}")
    seconds = time.monotonic() - start
    check("INVITE" in ladder and "200 OK" in ladder, f"no ladder:\n{ladder}")
    check(re.search(r"Assumed +G\.107", ladder), f"nothing is said of what a MOS assumes:\n{ladder}")
    check(seconds < MOST_SECONDS, f"{seconds:.0f} s until the first ladder")
    return seconds


def installed(root):
    """What the package leaves on the disk."""
    check(mode(root, "/etc/ringtap") == "root:ringtap 750", mode(root, "/etc/ringtap"))
    check(mode(root, "/etc/ringtap/ringtap.toml") == "root:ringtap 640", mode(root, "/etc/ringtap/ringtap.toml"))
    check(mode(root, "/var/lib/ringtap") == "ringtap:ringtap 750", mode(root, "/var/lib/ringtap"))
    check("/nologin" in root("getent passwd ringtap"), "somebody can log in as ringtap")
    check(root("dpkg --verify ringtap") == "", "files differ from those in the package")
    check(root("ldd /usr/bin/ringtap | grep -c 'not found'", 1) == "0\n", "a library is missing")
    commands = re.findall(r"^  ([a-z]+) ", root("ringtap --help").split("Options:")[0], re.MULTILINE)
    check(len(commands) > 20, f"commands: {commands}")
    for command in commands:
        page = f"/usr/share/man/man1/ringtap-{command}.1.gz"
        check(root.file(page).is_file(), f"{page} is missing")
        check(f" {command}" in root.file("/usr/share/bash-completion/completions/ringtap").read_text(), command)
    # No interface is named yet: said, with the line of the file.
    check("/etc/ringtap/ringtap.toml:" in root("ringtap run --check", 2), "`run --check` does not name the line")


def journal(root):
    return root("journalctl --no-pager --quiet --unit ringtap")


def wait(root, condition):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing happened for 30 s:\n{journal(root)}")


def confined(root):
    """The unit does not keep ringtap from confining itself further, as far as this kernel can."""
    log = journal(root).rsplit(" starts, configured by ", 1)[1]
    check("may make every system call" not in log, f"ringtap cannot filter system calls:\n{log}")
    # landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
    if ctypes.CDLL(None).syscall(444, None, 0, 1) > 0:
        check("the process for capture is confined" in log, f"ringtap cannot confine its files:\n{log}")


def found(root):
    lines = root(f"ringtap calls --store {RECORDS} --format jsonl 2>&1").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def traffic(root, calls, seed):
    root(f"ringtap generate --interface tap1 --calls {calls} --rate 5 --hold 2 --seed {seed} --truth /tmp/truth.jsonl")


def as_a_service(root):
    """Configuration, check, start, traffic on a veth, search, sound."""
    check(root("systemctl is-enabled ringtap", 1) == "disabled\n", "the service is enabled before it is configured")
    path = root.file("/etc/ringtap/ringtap.toml")
    text = path.read_text().replace("interfaces = []", 'interfaces = ["tap0"]')
    text = text.replace("# directory =", "directory =").replace("[capture]", '[engine]\nlinger = "1s"\n\n[capture]')
    # However full this machine's disk is.
    text += "\n[retention]\nfree = \"1MiB\"\nfree_again = \"2MiB\"\n"
    path.write_text(text)
    root("ringtap run --check")
    root("systemctl enable --now ringtap")
    confined(root)
    check("KEEPS" in root("ringtap rules"), "the control socket does not answer")
    traffic(root, 5, 1)
    wait(root, lambda: len(found(root)) >= 5)
    calls = found(root)
    check(len(calls) == 5, f"{len(calls)} of 5 calls")
    # The end of a recorded call is on the disk within [spool] age.
    heard = next(call for call in calls if call["state"] == "completed")["call_id"]
    spool = "/var/lib/ringtap/spool"
    root("systemctl stop ringtap")
    root(f"ringtap export '{heard}' --store {RECORDS} --spool {spool} --wav /tmp/c.wav --pcap /tmp/c.pcap")
    root("test \"$(head -c 4 /tmp/c.wav)\" = RIFF")
    check(mode(root, RECORDS) == "ringtap:ringtap 750", f"records: {mode(root, RECORDS)}")
    root("systemctl start ringtap")
    return text, calls


def upgraded(root, package, text, calls):
    """A later version: configuration and records stay, and the service runs it."""
    before = root("systemctl show --property MainPID ringtap")
    root.install(package)
    check(root("systemctl is-active ringtap") == "active\n", "the service does not run after the upgrade")
    check(root("systemctl show --property MainPID ringtap") != before, "the service was not restarted")
    check(root("systemctl is-enabled ringtap") == "enabled\n", "the service is no longer enabled")
    check(root.file("/etc/ringtap/ringtap.toml").read_text() == text, "the configuration was changed")
    check(mode(root, "/etc/ringtap/ringtap.toml") == "root:ringtap 640", "mode of the configuration")
    check(found(root) == calls, "records were changed")
    traffic(root, 3, 2)
    wait(root, lambda: len(found(root)) >= 8)


def gone(root):
    """Removing keeps configuration and records, purging nothing."""
    root("apt-get remove -y ringtap")
    check("ringtap" not in root("ps -eo comm"), "the service still runs")
    check(not root.file("/usr/bin/ringtap").exists(), "the program is still there")
    check(root.file("/etc/ringtap/ringtap.toml").exists(), "removing deleted the configuration")
    check(root.file(RECORDS).exists(), "removing deleted records")
    root("apt-get purge -y ringtap")
    nothing_left(root)


def nothing_left(root):
    elsewhere = " -o ".join(f"-path /{name}" for name in ("proc", "root", "run", "sys", "tmp"))
    left = root(f"find / -xdev \\( {elsewhere} \\) -prune -o -iname '*ringtap*' -print")
    check(left == "", f"left behind:\n{left}")
    check(root("getent passwd ringtap; getent group ringtap", 2) == "", "the user is still there")


def tarball(root, archive):
    """Unpacked and tried, installed, installed again over a configuration, removed."""
    shutil.copy(archive, root.file("/root"))
    name = archive.name.removesuffix(".tar.gz")
    root(f"cd /root && tar xf {archive.name}")
    root(f"/root/{name}/bin/ringtap analyze /root/{name}/share/ringtap/calls.pcap")
    root(f"/root/{name}/install")
    config = root.file("/etc/ringtap/ringtap.toml")
    config.write_text(config.read_text() + "# mine\n")
    root(f"/root/{name}/install")
    check(config.read_text().endswith("# mine\n"), "installing again changed the configuration")
    unit = root.file("/usr/local/lib/systemd/system/ringtap.service").read_text()
    check("ExecStart=/usr/local/bin/ringtap run" in unit and "=/usr/bin" not in unit, unit)
    root("ringtap analyze /usr/local/share/ringtap/calls.pcap")
    root(f"/root/{name}/install --uninstall")
    shutil.rmtree(root.file("/etc/ringtap"))
    nothing_left(root)


@contextlib.contextmanager
def booted(path, folder):
    """The root with its own systemd as process 1, and a veth pair."""
    group = folder / "cgroup"
    group.mkdir()
    command = ["unshare", "--mount", "sh", "-c", BOOT, "boot", path, group, f"ringtap-test-{os.getpid()}"]
    outer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pid = first_process(outer)
        root = Root(path, pid)
        for _ in range(300):
            state = subprocess.run(root.command("systemctl is-system-running"), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True).stdout.strip()
            # A bare root lacks much that systemd would like.
            if state in ("running", "degraded"):
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"the root does not come up: {state}")
        # By this machine's ip: the bare root has none.
        for link in ("set lo up", "add tap0 type veth peer name tap1", "set tap0 up", "set tap1 up"):
            subprocess.run(["nsenter", f"--target={pid}", "--net", "ip", "link", *link.split()], check=True)
        yield root
        os.kill(pid, signal.SIGKILL)
        outer.wait(30)
    finally:
        with contextlib.suppress(ProcessLookupError, UnboundLocalError):
            os.kill(pid, signal.SIGKILL)
        outer.wait(30)


def first_process(outer):
    """Process 1 of the root: sh, its unshare, and that one's child."""
    for _ in range(100):
        time.sleep(0.1)
        one = outer.pid
        with contextlib.suppress(OSError, ValueError):
            for _ in range(2):
                one = int(Path(f"/proc/{one}/task/{one}/children").read_text())
            if Path(f"/proc/{one}/comm").read_text().startswith("systemd"):
                return one
        if outer.poll() is not None:
            break
    raise AssertionError("the root does not boot: its namespaces or its control group cannot be made")


def examine(suite, root, packages, later):
    package, = packages.glob("ringtap_*.deb")
    archive, = packages.glob("ringtap-*.tar.gz")
    seconds = first_ladder(root, package)
    print(f"{suite}: {seconds:.1f} s from the package to the first ladder")
    installed(root)
    text, calls = as_a_service(root)
    print(f"{suite}: runs under systemd, confined, and records {len(calls)} of 5 calls with their sound")
    upgraded(root, later, text, calls)
    gone(root)
    tarball(root, archive)
    print(f"{suite}: upgrade, removal, purge and tarball as they should be", flush=True)


def mirror(suite):
    """Debian's mirror of this machine's apt."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(LABEL)",
                           "Created-By: Packages"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in told.splitlines():
        url, codename, label = line.split(" ", 2)
        if label == "Debian" and "-" not in codename:
            return url
    sys.exit(f"test: apt knows no mirror of Debian to make {suite} from: run `apt-get update`, or see apt's sources")


def base(suite, roots):
    """An archive with the bare root; made once."""
    archive = roots / f"{suite}.tar"
    if not archive.exists():
        roots.mkdir(exist_ok=True)
        print(f"{suite}: making a bare root", flush=True)
        with tempfile.TemporaryDirectory(prefix="ringtap-root-") as folder:
            done = subprocess.run(["debootstrap", "--variant=minbase", INCLUDED, suite, folder, mirror(suite)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit(f"test: debootstrap cannot make {suite}:\n{done.stdout}")
            partial = archive.with_suffix(".new")
            subprocess.run(["tar", "--create", "--file", partial, "--numeric-owner", "--directory", folder, "."],
                           check=True)
            partial.rename(archive)
    return archive


def next_version(packages, folder):
    """The package as a later version of itself."""
    package, = packages.glob("ringtap_*.deb")
    tree, later = folder / "later", folder / "ringtap_9999-1.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub("^Version: .*$", "Version: 9999-1", control.read_text(), flags=re.MULTILINE))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, later],
                   check=True, stdout=subprocess.DEVNULL)
    return later


def main():
    packages, suites = Path(sys.argv[1]), sys.argv[2:]
    for suite in suites:
        archive = base(suite, packages / "roots")
        with tempfile.TemporaryDirectory(prefix="ringtap-root-") as folder:
            root = Path(folder) / "root"
            root.mkdir(mode=0o755)
            subprocess.run(["tar", "--extract", "--file", archive, "--numeric-owner", "--directory", root], check=True)
            root.chmod(0o755)
            later = next_version(packages, Path(folder))
            with booted(root, Path(folder)) as up:
                examine(suite, up, packages, later)


if __name__ == "__main__":
    main()
