#!/usr/bin/env python3
"""Reads what the platform is made of without running it: Python, shell, the metadata of agents, and, where Ansible is installed, each
inventory with all roles. Exits with 1 and what is wrong."""

import ast
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = 160


def python(path, text):
    try:
        ast.parse(text)
    except SyntaxError as error:
        yield f"{path}:{error.lineno}: {error.msg}"


def shell(path, text):
    done = subprocess.run(["sh", "-n", path], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        yield done.stderr.strip()


def metadata(path, text):
    """Pacemaker reads what an agent says of itself: it has to be XML."""
    for found in re.findall(r"<resource-agent name=.*?</resource-agent>", text, re.DOTALL) if path.name != "lint.py" else ():
        try:
            tree.fromstring(found)
        except tree.ParseError as error:
            yield f"{path}: metadata: {error}"


def read(path):
    text = path.read_text()
    first = text.split("\n", 1)[0]
    if path.suffix == ".py" or "python3" in first:
        yield from python(path, text)
    elif first == "#!/bin/sh":
        yield from shell(path, text)
    yield from metadata(path, text)
    if path.suffix in (".py", ".yml"):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, more than {COLUMNS}"


def playbooks():
    environment = {**os.environ, "ANSIBLE_CONFIG": str(HERE / "ansible.cfg"), "PLATFORM_FOLDER": "/nonexistent"}
    for inventory in sorted((HERE / "inventories").iterdir()):
        done = subprocess.run(["ansible-playbook", "--syntax-check", "--inventory", inventory, *sorted(HERE.glob("*.yml"))], cwd=HERE, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            yield f"{inventory}: {done.stdout.strip()}"


def main():
    files = [path for path in sorted(HERE.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    wrong = [each for path in files for each in read(path)]
    if shutil.which("ansible-playbook"):
        wrong += playbooks()
    print("\n".join(wrong), file=sys.stderr) if wrong else None
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
