"""Roots of Debian that nodes on this machine boot from: made once by debootstrap, kept below the folder that is named.

A host of its own has Debian and its packages from its administrator and from the roles; a node on this machine has no network
to fetch packages by, so its root has them from the start. The lists below name packages only: everything that configures them
is in the roles, and is the same for hosts.
"""

import shutil
import subprocess
import sys
from pathlib import Path

# What a Debian that boots has beside the smallest one, and what Ansible and the roles use of it.
BOOTS = ["systemd", "systemd-sysv", "dbus", "procps", "iproute2", "nftables", "python3", "python3-apt"]
# By root: the release of Debian, and packages. Asterisk is in sid only.
ROOTS = {
    "node": ("bookworm", [
        "iputils-arping", "openssl", "rsync",
        "corosync", "pacemaker", "pacemaker-cli-utils", "resource-agents",
        "kamailio", "kamailio-extra-modules", "kamailio-mysql-modules", "kamailio-tls-modules", "kamailio-websocket-modules",
        "rtpengine-daemon", "redis-server", "redis-tools",
        "mariadb-server", "mariadb-client", "mariadb-backup", "galera-4", "galera-arbitrator-4", "socat",
    ]),
    # SIPp is what the tests put in Asterisk's place.
    "pbx": ("sid", ["asterisk", "asterisk-core-sounds-en-wav", "asterisk-moh-opsound-wav", "odbc-mariadb", "odbcinst", "pacemaker-remote",
                    "sip-tester"]),
}
# What those packages would start at boot, in every node: the roles start what a node is for.
STARTED = ["corosync", "pacemaker", "garb", "kamailio", "mariadb", "redis-server", "rtpengine-daemon", "logd", "asterisk", "pacemaker_remote"]
# Keeps packages from starting services in a root that is not booted.
POLICY = "#!/bin/sh\nexit 101\n"


def mirror():
    """Debian's mirror of this machine's apt."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(LABEL)",
                           "Created-By: Packages"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in told.splitlines():
        url, codename, label = line.split(" ", 2)
        if label == "Debian" and "-" not in codename:
            return url
    sys.exit("platform: apt knows no mirror of Debian: run `apt-get update`, or see apt's sources")


def run(log, *command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        log.flush()
        tail = "\n".join(Path(log.name).read_text(errors="replace").splitlines()[-15:])
        sys.exit(f"platform: `{' '.join(map(str, command))}` failed ({log.name}):\n{tail}")


def describe(release, packages):
    return " ".join([release, *BOOTS, *packages]) + "\n"


def make(name, folder):
    """The root `name` below `folder`; returns its path. One whose list of packages is another is made anew."""
    release, packages = ROOTS[name]
    root, made = folder / name, folder / f"{name}.packages"
    if root.is_dir() and made.is_file() and made.read_text() == describe(release, packages):
        return root
    folder.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    print(f"platform: making the root {name} of Debian {release}, a few minutes, once", flush=True)
    with open(folder / f"{name}.log", "w") as log:
        run(log, "debootstrap", "--variant=minbase", release, root, mirror())
        policy = root / "usr/sbin/policy-rc.d"
        policy.write_text(POLICY)
        policy.chmod(0o755)
        # Some packages look at /proc while they are installed.
        run(log, "unshare", "--mount", "--pid", "--fork", f"--mount-proc={root / 'proc'}", "chroot", root,
            "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
            "apt-get", "install", "--yes", "--no-install-recommends", *BOOTS, *packages)
        policy.unlink()
        there = [name for name in STARTED if (root / f"lib/systemd/system/{name}.service").exists()]
        run(log, "systemctl", f"--root={root}", "disable", *there)
        run(log, "chroot", root, "apt-get", "clean")
    made.write_text(describe(release, packages))
    return root


if __name__ == "__main__":
    for each in ROOTS:
        make(each, Path(sys.argv[1]).resolve())
