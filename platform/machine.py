#!/usr/bin/env python3
"""The highly available telephone platform on this machine.

    machine.py up [--set NAME=VALUE]... | down | check | configure | again | upgrade | status | backup INTO | restore FROM
    machine.py boot NODE | off NODE | in NODE COMMAND...

`up` makes namespaces, boots nodes and configures them with the roles that hosts are configured with; it ends with the checks of
`check`. `down` removes all of it, also after an `up` that failed halfway. Everything is kept below --folder. Needs root.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "here"))

import checks  # noqa: E402
import images  # noqa: E402
import nodes  # noqa: E402


# What `up --set` was given, below the folder.
SETTINGS = "settings.json"


def secret(folder, name):
    """A generated password, made once. Ansible's `password` lookup makes and reads the others of this folder."""
    path = folder / "secrets" / name
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(24) + "\n")
    return path


def agent(folder):
    return nodes.Process(folder / "outside.json")


def start_agent(folder):
    """The agent that fences, in its namespace; returns when it listens."""
    log = folder / "outside.log"
    command = ["ip", "netns", "exec", nodes.PREFIX + nodes.OUTSIDE, sys.executable, HERE / "here/outside.py", folder,
               secret(folder, "fencing")]
    with open(log, "w") as output:
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   start_new_session=True)
    agent(folder).keep(process.pid)

    def listens():
        if process.poll() is not None:
            raise nodes.Failure(f"the agent that fences does not start: {log.read_text().strip()}")
        return "ready" in log.read_text()
    nodes.wait(listens, f"the agent that fences does not start, see {log}")


def failures(text):
    """Each task that failed in what Ansible printed, with its host and reason; what went well is in the log. Of a long reason the end is
    kept, where a traceback names the error."""
    task, found = "", []
    for line in text.splitlines():
        if line.startswith("TASK ["):
            task = line.split("[", 1)[1].rsplit("]", 1)[0]
        elif line.startswith(("fatal: ", "failed: ")):
            host = line.split("]", 1)[0].split("[")[-1]
            found.append(f"  {task}: {host}: {reason(line)}")
        elif line.startswith("ERROR"):
            found.append(f"  {task}: {line}" if task else f"  {line}")
    return found


def reason(line):
    """What a module says of its failure, which Ansible prints as JSON at the end of a line; the line where it says nothing."""
    try:
        told = json.loads(line.partition("=> ")[2])
    except ValueError:
        told = {}
    texts = [told[key].strip() for key in ("stderr", "module_stderr", "msg") if isinstance(told.get(key), str)] if isinstance(told, dict) else []
    text = next(filter(None, texts), line)
    return text if len(text) <= 600 else "..." + text[-600:]


def playbook(folder, *options, book="site.yml"):
    """Runs a playbook, that of all roles, over the nodes that are up; returns what Ansible printed. Its failure is one of ours."""
    environment = {**os.environ, "ANSIBLE_CONFIG": str(HERE / "ansible.cfg"), "PLATFORM_FOLDER": str(folder)}
    kept = folder / SETTINGS
    command = ["ansible-playbook", "--inventory", HERE / "inventories/here", HERE / book, *(["-e", f"@{kept}"] if kept.exists() else []), *options]
    log = folder / "ansible.log"
    with open(log, "w") as output:
        status = subprocess.run(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, cwd=HERE).returncode
    text = log.read_text()
    if status != 0:
        raise nodes.Failure("Ansible fails (%s):\n%s" % (log, "\n".join(failures(text) or text.splitlines()[-10:])))
    return text


def keep_settings(folder, given):
    """Variables of the roles that differ from those of the inventory, for this platform as long as it is up."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [each.partition("=") for each in given]
    wrong = [name for name, sign, _ in pairs if not sign or not name.isidentifier()]
    if wrong:
        raise nodes.Failure(f"--set {wrong[0]}: a variable of group_vars and its value, as --set corosync_token=2000")
    (folder / SETTINGS).write_text(json.dumps({name: yaml_value(value) for name, _, value in pairs}))


def yaml_value(text):
    """Numbers, lists and true are JSON, as they are YAML; other text is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def up(folder, options):
    nodes.lay_networks()
    keep_settings(folder, options.set)
    try:
        for name, (root, _) in nodes.NODES.items():
            nodes.Node(folder, name).boot(images.make(root, folder / "roots"))
        for name in nodes.NODES:
            nodes.wait(nodes.Node(folder, name).is_ready, f"{name} does not boot")
        start_agent(folder)
        print("platform: nodes are up; configuring them", flush=True)
        playbook(folder)
        checks.wait(folder)
    except BaseException:
        if not options.keep:
            down(folder)
        raise
    print("platform: up. `make platform-test` tries it, `make platform-down` removes it")


def down(folder):
    agent(folder).kill()
    for name in nodes.NODES:
        nodes.Node(folder, name).remove()
    nodes.remove_networks()
    nodes.remove_groups(folder / "groups")


def check(folder):
    """The state of the platform, and that configuring it again would change nothing."""
    wrong = checks.all_of(folder)
    for line in wrong:
        print(f"platform: {line}")
    drifted = checks.drift(playbook(folder, "--check"))
    for line in drifted:
        print(f"platform: drift: {line}")
    if wrong or drifted:
        raise nodes.Failure("the platform is not as it should be")
    print("platform: as it should be")


def again(folder):
    """Configures what is configured already, which has to change nothing: not only by what Ansible foresees, as `check` asks."""
    for line in checks.drift(playbook(folder)):
        print(f"platform: changed again: {line}")
    counts = checks.changed_by_recap(folder)
    if counts != dict.fromkeys(nodes.NODES, 0):
        raise nodes.Failure(f"a second run of Ansible has to change nothing on each node, and changed {counts}")
    print("platform: a second run of Ansible changes nothing")


def inside(folder, name, command):
    return subprocess.run(nodes.Node(folder, name).command(*command)).returncode


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE.parent / "target/platform")
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("up")
    begin.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a variable of group_vars for this platform")
    begin.add_argument("--keep", action="store_true", help="leave what is up when something fails, to look at it")
    for name in ("down", "check", "status", "configure", "again", "upgrade"):
        commands.add_parser(name)
    for name in ("backup", "restore"):
        commands.add_parser(name).add_argument("where", type=Path, help="the folder of the backup")
    for name in ("boot", "off"):
        commands.add_parser(name).add_argument("node", choices=nodes.NODES)
    there = commands.add_parser("in")
    there.add_argument("node", choices=nodes.NODES)
    there.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    options = arguments()
    folder = options.folder.resolve()
    if os.geteuid() != 0:
        sys.exit("platform: needs root, for the namespaces that it makes")
    try:
        match options.command:
            case "up":
                up(folder, options)
            case "down":
                down(folder)
            case "check":
                check(folder)
            case "configure":
                playbook(folder)
            case "again":
                again(folder)
            case "upgrade":
                playbook(folder, book="upgrade.yml")
                checks.wait(folder)
                print("platform: each node was drained, made new and checked in turn")
            case "backup":
                playbook(folder, "-e", f"into={options.where.resolve()}", book="backup.yml")
                print(f"platform: databases and secrets are in {options.where}")
            case "restore":
                playbook(folder, "-e", f"from={options.where.resolve()}", book="restore.yml")
                print(f"platform: the databases are as in {options.where}")
            case "status":
                print(nodes.Node(folder, "arbiter")("crm_mon", "-1"), end="")
            case "boot":
                nodes.Node(folder, options.node).boot(images.make(nodes.NODES[options.node][0], folder / "roots"))
            case "off":
                nodes.Node(folder, options.node).power_off()
            case "in":
                sys.exit(inside(folder, options.node, options.words))
    except nodes.Failure as failure:
        sys.exit(f"platform: {failure}")


if __name__ == "__main__":
    main()
