#!/usr/bin/env python3
"""The role `iscsi`, which no inventory here uses, as a dry run: storage.py. The platform is up before. Nothing is changed, and nothing tells whether
a disk would work: nodes on one machine share its kernel, which has no target of their own."""

import argparse
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import checks  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402

GROUPS = "[iscsi_targets]\ndb1\n[iscsi_initiators]\npbx1\npbx2\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    folder = parser.parse_args().folder.resolve()
    inventory = folder / "iscsi.ini"
    inventory.write_text(GROUPS)
    try:
        told = machine.playbook(folder, "--inventory", str(inventory), "--check", "--diff", "--tags", "iscsi")
    except nodes.Failure as failure:
        sys.exit(f"storage: {failure}")
    given = next(text for text in re.findall(r"^\+(?:\{\n(?:\+.*\n)+)", told, re.MULTILINE) if "storage_objects" in text)
    target = json.loads(re.sub(r"^\+", "", given, flags=re.MULTILINE))["targets"][0]
    group = target["tpgs"][0]
    users = {each["node_wwn"].rsplit(":", 1)[1]: each["chap_password"] for each in group["node_acls"]}
    changes = {line.split(":")[0] for line in checks.drift(told)}
    for fact, wrong in ((set(users) == set(checks.PBXS) and all(users.values()), f"who may use the disk, each with a password: {sorted(users)}"),
                        (group["attributes"]["generate_node_acls"] == 0 and group["attributes"]["authentication"] == 1, "strangers may use the disk"),
                        (group["portals"][0]["ip_address"] == nodes.address("db1", "eth1"), "the disk is given to another network"),
                        (changes == {"db1", *checks.PBXS}, f"other hosts would be changed than those of the disk: {sorted(changes)}")):
        if not fact:
            sys.exit(f"storage: {wrong}")
    print("storage: the dry run holds")


if __name__ == "__main__":
    main()
