#!/usr/bin/env python3
"""Tests the packages in bare Debian roots: packaging/test.py PACKAGES SUITE...

PACKAGES is what packaging/build wrote, a SUITE bookworm or trixie. Each root is made by debootstrap, once, from the
mirror that apt is configured for, and kept in PACKAGES/roots. In each, without a network: install, analyse, run as the
service's user beside real traffic, search, listen, upgrade, remove, purge; and the tarball. Needs root. It makes
namespaces of its own and leaves nothing behind but the bare roots.
"""

import contextlib
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


class Root:
    """A bare Debian in which commands run."""

    def __init__(self, path):
        self.path = path

    def command(self, text, user=None):
        # An ordinary shell: nothing of this machine's environment.
        environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        return [*environment, "chroot", self.path, *([] if user is None else user), "sh", "-c", text]

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
        shutil.copy(package, self.file("/tmp"))
        return self(f"apt-get install -y --no-install-recommends /tmp/{package.name} 2>&1")


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


def service(root):
    """How the unit starts the program, as far as setpriv can: user, capabilities, directories, arguments."""
    unit = (root.file("/usr/lib/systemd/system/ringtap.service")).read_text()
    value = dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
    root("install -d -o {0} -g {1} -m 755 /run/{2}".format(value["User"], value["Group"], value["RuntimeDirectory"]))
    check(value["StateDirectory"] == "ringtap", "the unit's StateDirectory is not that of the package")

    def several(key):
        return ",".join("+" + name.removeprefix("CAP_").lower() for name in value[key].split())

    user = ["setpriv", f"--reuid={value['User']}", f"--regid={value['Group']}", "--init-groups", "--no-new-privs",
            f"--bounding-set=-all,{several('CapabilityBoundingSet')}", f"--inh-caps={several('AmbientCapabilities')}",
            f"--ambient-caps={several('AmbientCapabilities')}"]
    return root.command(f"umask {value['UMask']}; exec {value['ExecStart']}", user)


@contextlib.contextmanager
def running(root):
    """The service beside a veth pair; the block begins when it captures."""
    log = root.file("/tmp/service.log")
    with open(log, "w") as out:
        process = subprocess.Popen(service(root), stdout=out, stderr=subprocess.STDOUT, env={"PATH": "/usr/sbin:/usr/bin"})
        try:
            # The last line of the start; the socket of an earlier run may still be there.
            wait(lambda: "metrics: http" in log.read_text() or process.poll() is not None, log)
            check(process.poll() is None, f"the service ended:\n{log.read_text()}")
            yield log
            process.send_signal(signal.SIGTERM)
            check(process.wait(30) == 0, f"the service ended with {process.returncode}:\n{log.read_text()}")
        finally:
            process.kill()
            process.wait()


def wait(condition, log):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing happened for 30 s:\n{log.read_text()}")


def found(root):
    lines = root(f"ringtap calls --store {RECORDS} --format jsonl 2>&1").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def traffic(root, calls, seed):
    root(f"ringtap generate --interface tap1 --calls {calls} --rate 5 --hold 2 --seed {seed} --truth /tmp/truth.jsonl")


def as_a_service(root):
    """Configuration, check, traffic on a veth, search, sound."""
    path = root.file("/etc/ringtap/ringtap.toml")
    text = path.read_text().replace("interfaces = []", 'interfaces = ["tap0"]')
    text = text.replace("# directory =", "directory =").replace("[capture]", '[engine]\nlinger = "1s"\n\n[capture]')
    path.write_text(text)
    root("ringtap run --check")
    with running(root) as log:
        check("KEEPS" in root("ringtap rules"), "the control socket does not answer")
        traffic(root, 5, 1)
        wait(lambda: len(found(root)) >= 5, log)
    calls = found(root)
    check(len(calls) == 5, f"{len(calls)} of 5 calls")
    heard = next(call for call in calls if call["state"] == "completed")
    root(f"ringtap export '{heard['call_id']}' --store {RECORDS} --spool /var/lib/ringtap/spool "
         "--wav /tmp/c.wav --pcap /tmp/c.pcap")
    check(root.file("/tmp/c.wav").read_bytes()[:4] == b"RIFF", "no sound")
    check(mode(root, RECORDS).startswith("ringtap:ringtap 750"), f"records: {mode(root, RECORDS)}")
    return text, calls


def upgraded(root, package, text, calls):
    """A later version: configuration and records stay, and it runs."""
    root.install(package)
    check(root.file("/etc/ringtap/ringtap.toml").read_text() == text, "the configuration was changed")
    check(mode(root, "/etc/ringtap/ringtap.toml") == "root:ringtap 640", "mode of the configuration")
    check(found(root) == calls, "records were changed")
    with running(root) as log:
        traffic(root, 3, 2)
        wait(lambda: len(found(root)) >= 8, log)


def gone(root):
    """Removing keeps configuration and records, purging nothing."""
    root("apt-get remove -y ringtap")
    check(not root.file("/usr/bin/ringtap").exists(), "the program is still there")
    check(root.file("/etc/ringtap/ringtap.toml").exists(), "removing deleted the configuration")
    check(root.file(RECORDS).exists(), "removing deleted records")
    root("apt-get purge -y ringtap")
    nothing_left(root)


def nothing_left(root):
    left = root("find / -xdev \\( -path /tmp -o -path /proc -o -path /sys -o -path /run \\) -prune -o -iname '*ringtap*' -print")
    check(left == "", f"left behind:\n{left}")
    check(root("getent passwd ringtap; getent group ringtap", 2) == "", "the user is still there")


def tarball(root, archive):
    """Unpacked and tried, installed, installed again over a configuration, removed."""
    shutil.copy(archive, root.file("/tmp"))
    name = archive.name.removesuffix(".tar.gz")
    root(f"cd /tmp && tar xf {archive.name}")
    root(f"/tmp/{name}/bin/ringtap analyze /tmp/{name}/share/ringtap/calls.pcap")
    root(f"/tmp/{name}/install")
    config = root.file("/etc/ringtap/ringtap.toml")
    config.write_text(config.read_text() + "# mine\n")
    root(f"/tmp/{name}/install")
    check(config.read_text().endswith("# mine\n"), "installing again changed the configuration")
    unit = root.file("/usr/local/lib/systemd/system/ringtap.service").read_text()
    check("ExecStart=/usr/local/bin/ringtap run" in unit and "=/usr/bin" not in unit, unit)
    root("ringtap analyze /usr/local/share/ringtap/calls.pcap")
    root(f"/tmp/{name}/install --uninstall")
    shutil.rmtree(root.file("/etc/ringtap"))
    nothing_left(root)


def inside(suite, folder, packages, later):
    """In namespaces of its own."""
    path = Path(folder)
    for kind, directory in (("proc", "proc"), ("sysfs", "sys")):
        subprocess.run(["mount", "-t", kind, kind, path / directory], check=True)
    for command in ("link set lo up", "link add tap0 type veth peer name tap1", "link set tap0 up", "link set tap1 up"):
        subprocess.run(["ip", *command.split()], check=True)
    root = Root(path)
    package, = packages.glob("ringtap_*.deb")
    archive, = packages.glob("ringtap-*.tar.gz")
    seconds = first_ladder(root, package)
    print(f"{suite}: {seconds:.1f} s from the package to the first ladder")
    installed(root)
    text, calls = as_a_service(root)
    print(f"{suite}: runs as the service's user, records {len(calls)} of 5 calls with their sound")
    upgraded(root, later, text, calls)
    gone(root)
    tarball(root, archive)
    print(f"{suite}: upgrade, removal, purge and tarball as they should be")


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
            done = subprocess.run(["debootstrap", "--variant=minbase", suite, folder, mirror(suite)],
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
    if sys.argv[1] == "--inside":
        suite, folder, packages, later = sys.argv[2:]
        return inside(suite, folder, Path(packages), Path(later))
    packages, suites = Path(sys.argv[1]), sys.argv[2:]
    for suite in suites:
        archive = base(suite, packages / "roots")
        with tempfile.TemporaryDirectory(prefix="ringtap-root-") as folder:
            root = Path(folder) / "root"
            root.mkdir(mode=0o755)
            subprocess.run(["tar", "--extract", "--file", archive, "--numeric-owner", "--directory", root], check=True)
            root.chmod(0o755)
            later = next_version(packages, Path(folder))
            os.chmod(folder, 0o755)
            subprocess.run(["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child",
                            "python3", __file__, "--inside", suite, root, packages, later], check=True)


if __name__ == "__main__":
    main()
