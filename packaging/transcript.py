#!/usr/bin/env python3
"""Writes the first ten minutes with the package as a page: packaging/transcript.py PACKAGES [PICTURE] > page.md

PACKAGES is what packaging/build wrote. In a bare Debian 12 with a systemd of its own (packaging/test.py), everything
that the page shows is typed and its output kept: install, look at the capture that comes with it, watch calls of SIPp
on an interface, run as a service, search, listen, purge. PICTURE gets the live screen with its colours, for a terminal.
Needs root, sipp and tmux. It makes namespaces of its own and leaves nothing behind.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import test as packages_test

CALLS = 6
RATE = 2


class Page:
    """Sections of commands with what they printed."""

    def __init__(self, root):
        self.root = root
        self.start = time.monotonic()

    def heading(self, text):
        minutes, seconds = divmod(round(time.monotonic() - self.start), 60)
        print(f"\n## {text} ({minutes}:{seconds:02})\n", flush=True)

    def say(self, text):
        print(text + "\n", flush=True)

    def type(self, command, last=None, status=0):
        """A command as a user of the bare system types it; of much output only the last lines."""
        out = self.root(command + " 2>&1", status).rstrip().splitlines()
        print(f"    # {command}")
        if last is not None and len(out) > last:
            print("    ...")
            out = out[-last:]
        print("".join(f"    {line}".rstrip() + "\n" for line in out), flush=True)
        return "\n".join(out)


@contextlib.contextmanager
def peers(root, folder):
    """SIPp on both sides of a veth pair: the caller in the root's namespace, on tap0, the callee in one of its own."""
    pcap = folder / "pcap"
    pcap.mkdir()
    for recording in Path("/usr/share/sip-tester").glob("*.pcap"):
        shutil.copy(recording, pcap)
    far = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    here = ["nsenter", f"--target={root.pid}", "--net"]
    there = ["nsenter", f"--target={far.pid}", "--net"]
    started = [far]
    try:
        # Until its namespace is its own.
        while Path(f"/proc/{far.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(0.05)
        subprocess.run([*here, "ip", "link", "set", "tap1", "netns", str(far.pid)], check=True)
        for side, words in ((here, "addr add 192.0.2.1/24 dev tap0"), (there, "addr add 192.0.2.2/24 dev tap1"),
                            (there, "link set lo up"), (there, "link set tap1 up")):
            subprocess.run([*side, "ip", *words.split()], check=True)
        quiet = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(
            [*there, "sipp", "-sn", "uas", "-i", "192.0.2.2", "-mp", "30000", "-rtp_echo", "-nostdin"], **quiet))
        time.sleep(1)

        def call():
            caller = subprocess.Popen([*here, "sipp", "-sn", "uac_pcap", "-s", "+14155550138", "-i", "192.0.2.1", "-mp", "20000",
                                       "-m", str(CALLS), "-r", str(RATE), "-nostdin", "192.0.2.2:5060"], **quiet)
            started.append(caller)
            return caller

        yield call
    finally:
        for process in started:
            process.kill()
            process.wait()


def screen(root, call, picture):
    """What `ringtap live -i tap0` shows in a terminal of 130 columns while the calls last."""
    name = f"ringtap-transcript-{root.pid}"
    tmux = ["tmux", "-L", name]
    terminal = root.command("TERM=xterm-256color ringtap live -i tap0")
    subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", "-x", "130", "-y", "24", *terminal], check=True)
    try:
        time.sleep(2)
        caller = call()
        time.sleep(6)
        shown = subprocess.run([*tmux, "capture-pane", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
        if picture:
            colours = subprocess.run([*tmux, "capture-pane", "-p", "-e"], check=True, stdout=subprocess.PIPE).stdout
            Path(picture).write_bytes(colours)
        caller.wait(60)
        subprocess.run([*tmux, "send-keys", "q"], check=True)
        time.sleep(1)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, stderr=subprocess.DEVNULL)
    print("    # ringtap live -i tap0")
    print("".join(f"    {line}".rstrip() + "\n" for line in shown.rstrip().splitlines()), flush=True)


def recorded(root):
    """Waits until all calls are; until the first is, there is no day to search."""
    records = f"ls {packages_test.RECORDS}/*.sqlite >/dev/null 2>&1 && ringtap calls --format jsonl | wc -l || true"
    for _ in range(50):
        if root(records).strip() == str(CALLS):
            return
        time.sleep(1)
    raise AssertionError(f"no records:\n{root(records)}\n{root('ls -la /var/lib/ringtap/* 2>&1; ringtap calls 2>&1 || true')}\n{packages_test.journal(root)[:3000]}")


def written(root, package, folder, picture):
    page = Page(root)
    print("# The first ten minutes\n")
    page.say("Typed into a bare Debian 12 as root, with nothing else installed; minutes and seconds since the first command in brackets.\n"
             "`packaging/transcript.py` wrote this page.")
    page.heading("Install")
    shutil.copy(package, root.file("/root"))
    page.type(f"apt-get install -y --no-install-recommends /root/{package.name}", last=3)
    page.heading("A capture, and one call of it")
    table = page.type(f"ringtap analyze {packages_test.DEMO}")
    call_id = re.search(r" completed .* (\S+?)…?$", table, re.MULTILINE).group(1)
    page.type(f"ringtap call {call_id} {packages_test.DEMO}")
    page.heading("Calls while they happen")
    page.say(f"SIPp makes {CALLS} calls over the interface, {RATE} a second, with a recording as sound that the other side echoes.")
    with peers(root, folder) as call:
        screen(root, call, picture)
        page.heading("As a service")
        page.say("Three lines of the configuration:")
        page.type("sed -i -e 's/^interfaces = .*/interfaces = [\"tap0\"]/' -e 's/^# directory =/directory =/' /etc/ringtap/ringtap.toml")
        # However full this machine's disk is.
        config = root.file("/etc/ringtap/ringtap.toml")
        config.write_text(config.read_text() + "\n[retention]\nfree = \"1MiB\"\nfree_again = \"2MiB\"\n")
        page.type("ringtap run --check")
        page.type("systemctl enable --now ringtap")
        packages_test.wait(root, lambda: "KEEPS" in root("ringtap rules 2>&1 || true"))
        caller = call()
        time.sleep(4)
        page.type("ringtap status")
        page.type("ringtap calls --live")
        caller.wait(60)
        page.say("A call is recorded 32 s after its end, when late packets have come (`[engine] linger`).")
        recorded(root)
    page.heading("Search")
    page.type("ringtap calls --number '*0138' --mos-below 4.2")
    found = page.type("ringtap calls --number '*0138' --sort length --top 1")
    row = next(line for line in found.splitlines() if " completed " in line)
    call_id = re.search(r"(\S+?)…?$", row).group(1)
    page.heading("One call, and its sound")
    page.type(f"ringtap call {call_id} --spool /var/lib/ringtap/spool")
    page.type(f"ringtap export {call_id} --spool /var/lib/ringtap/spool --wav call.wav --pcap call.pcap")
    page.type("ls -l call.wav call.pcap")
    page.heading("Remove")
    page.type("apt-get purge -y ringtap", last=3)
    packages_test.nothing_left(root)
    page.say("Configuration, records, recordings and the user are gone.")


def main():
    packages = Path(sys.argv[1])
    picture = sys.argv[2] if len(sys.argv) > 2 else None
    package, = packages.glob("ringtap_*.deb")
    archive = packages_test.base("bookworm", packages / "roots")
    with tempfile.TemporaryDirectory(prefix="ringtap-root-") as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir(mode=0o755)
        subprocess.run(["tar", "--extract", "--file", archive, "--numeric-owner", "--directory", root], check=True)
        root.chmod(0o755)
        with packages_test.booted(root, folder) as up:
            written(up, package, folder, picture)


main()
