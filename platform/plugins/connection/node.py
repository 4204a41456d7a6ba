"""Reaches a node on this machine through its namespaces: what SSH is for hosts."""

import json
import os
import subprocess
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: node
short_description: reaches a node of the platform on this machine through its namespaces
description: Runs commands inside of the namespaces of the node's first process.
options:
  folder:
    description: the folder of the platform on this machine
    required: true
    vars:
      - name: platform_folder
"""
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Connection(ConnectionBase):
    transport = "node"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def close(self):
        self._connected = False

    def _inside(self, *words):
        node = self._play_context.remote_addr
        kept = Path(self.get_option("folder")) / "nodes" / node / "init.json"
        try:
            pid = json.loads(kept.read_text())["pid"]
        except (OSError, ValueError) as error:
            raise AnsibleConnectionFailure(f"{node} is not up: {error}") from error
        return ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd",
                "env", "-i", PATH, "HOME=/root", "LC_ALL=C.UTF-8", *words]

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        done = subprocess.run(self._inside("/bin/sh", "-c", cmd), input=in_data or b"", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path, out_path):
        with open(in_path, "rb") as file:
            done = subprocess.run(self._inside("/bin/sh", "-c", 'cat >"$1"', "put", out_path), stdin=file,
                                  stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise AnsibleConnectionFailure(f"cannot write {out_path}: {done.stderr.decode(errors='replace')}")

    def fetch_file(self, in_path, out_path):
        with open(out_path, "wb") as file:
            done = subprocess.run(self._inside("cat", in_path), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE)
        if done.returncode != 0:
            os.unlink(out_path)
            raise AnsibleConnectionFailure(f"cannot read {in_path}: {done.stderr.decode(errors='replace')}")
