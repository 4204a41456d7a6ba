#!/usr/bin/env python3
"""Brings the platform up, loses a proxy and a PBX of it during calls, and removes it: tried.py --ringtap PROGRAM. `make platform-tried`.

Behaviour is asserted, times are not: it runs on machines that do other work. Where it cannot run it says what it lacks, to the file that
RINGTAP_SKIPPED names as well, as other tests do, and does nothing.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]
# Beside one that is up.
os.environ.setdefault("PLATFORM_PREFIX", "ringtap-tried-")

import capture  # noqa: E402
import nodes  # noqa: E402

# Where others use the processors, a member of the cluster and a PBX may be silent for longer before they are taken for lost.
PATIENT = ("--set", "corosync_token=3000", "--set", "timer_silent=4000")
RATE = 5
# As many as there is time for: from nothing, roots included, all of it may take eight minutes.
KINDS = ("proxy-lost", "pbx-killed")
# What a node needs of the kernel: namespaces, an overlay over a disk in a file, its own control group, and packets between bridges.
TRIAL = """
set -e
cd "$1"
truncate -s 16M disk.img
mkfs.ext4 -q -F disk.img
mkdir disk lower merged
mount -o loop disk.img disk
mkdir disk/own disk/work
mount -t overlay overlay -o lowerdir=lower,upperdir=disk/own,workdir=disk/work merged
umount merged disk
mkdir groups
mount -t cgroup2 none groups
mkdir "groups/$2"
rmdir "groups/$2"
umount groups
ip link add bridge-of-trial type bridge
ip link add one type veth peer name other
"""


def lacks(folder):
    """What this machine lacks to have a platform; None if nothing."""
    if os.geteuid() != 0:
        return "root: it makes namespaces"
    place = folder / "trial"
    subprocess.run(["rm", "-rf", place], check=True)
    place.mkdir(parents=True)
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "sh", "-c", TRIAL, "trial", place,
                           nodes.PREFIX + "trial"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    subprocess.run(["rm", "-rf", place], check=True)
    return f"what the kernel has to do for nodes: {done.stdout.strip()}" if done.returncode != 0 else None


def step(name, *command):
    print(f"platform: {name}", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, *map(str, command)], stdin=subprocess.DEVNULL)
    print(f"platform: {name}: {'done' if done.returncode == 0 else 'failed'} after {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ringtap", type=capture.program, required=True, help="the program")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform-tried")
    parser.add_argument("--roots", type=Path, default=HERE.parents[1] / "target/platform/roots", help="where roots of Debian are, or are made")
    options = parser.parse_args()
    missing = lacks(options.folder)
    if missing:
        print(f"platform: not tried, it lacks {missing}")
        if skipped := os.environ.get("RINGTAP_SKIPPED"):
            with open(skipped, "a") as file:
                file.write(f"platform\t{missing.splitlines()[-1]}\tfailovers of the telephone platform\n")
        # As the other tests have it.
        allowed = (HERE.parents[1] / "cases/allowed-skips.txt").read_text().splitlines()
        return int(os.environ.get("CI") == "true" and not any(line.startswith("platform:") for line in allowed))
    options.roots.mkdir(parents=True, exist_ok=True)
    shared = options.folder / "roots"
    shared.unlink(missing_ok=True)
    shared.symlink_to(options.roots.resolve())
    folder = ["--folder", options.folder]
    machine = HERE.parent / "machine.py"
    try:
        held = (step("it comes up", machine, *folder, "up", *PATIENT)
                and step("failovers", HERE / "failover.py", *folder, "--ringtap", options.ringtap, "--fresh", "--rate", RATE, *KINDS))
    finally:
        step("it goes away", machine, *folder, "down")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
