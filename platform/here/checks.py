"""What has to hold of the platform on this machine, each asked of what does the work: SIP by OPTIONS, rtpengine by ping, databases by
SQL, the cluster by its own state. `all_of` returns a sentence for each fact that does not hold."""

import re
import xml.etree.ElementTree as tree

import nodes

PROXIES = ("proxy1", "proxy2")
PBXS = ("pbx1", "pbx2")
DATABASES = ("db1", "db2")


class Cluster:
    """The state of the cluster, as a member that is up sees it."""

    def __init__(self, folder, member="arbiter"):
        # Nothing is known of it while the members are not of one mind.
        done = nodes.Node(folder, member).ask("crm_mon", "--one-shot", "--output-as=xml", "--group-by-node")
        try:
            self.root = tree.fromstring(done.stdout)
        except tree.ParseError:
            self.root = tree.Element("nothing")

    def online(self):
        return {node.get("name") for node in self.root.iterfind("nodes/node")
                if node.get("online") == "true" and node.get("pending") != "true" and node.get("unclean") != "true"}

    def running(self, resource):
        """The nodes where a resource runs and is well."""
        return {node.get("name") for node in self.root.iterfind("nodes/node") for each in node.iter("resource")
                if each.get("id") == resource and each.get("role") == "Started" and each.get("failed") != "true"}


def owner(folder):
    """The node that has the virtual address, by what the nodes themselves say; None if none or several have it."""
    found = [name for name in PROXIES if has_address(nodes.Node(folder, name))]
    return found[0] if len(found) == 1 else None


def has_address(node, address="10.77.1.100"):
    try:
        return f" {address}/" in node.ask("ip", "-o", "-4", "address", "show", "dev", "eth0").stdout
    except nodes.Failure:
        # Without power, perhaps since this very moment.
        return False


def media_sessions(folder, name):
    """How many calls a proxy's rtpengine holds ports for; None while it does not answer."""
    told = nodes.Node(folder, name).ask("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9900; echo list numsessions >&3; timeout 1 cat <&3").stdout
    total = re.search(r"total:\s*(\d+)", told)
    return int(total[1]) if total else None


def of_cluster(folder):
    cluster = Cluster(folder)
    members = {*PROXIES, *PBXS, "arbiter"}
    if cluster.online() != members:
        yield f"cluster: online are {sorted(cluster.online())}, not {sorted(members)}"
    if cluster.running("proxy") != set(PROXIES):
        yield f"cluster: a proxy runs on {sorted(cluster.running('proxy'))}, not on both nodes"
    if cluster.running("pbx") != set(PBXS):
        yield f"cluster: a PBX runs on {sorted(cluster.running('pbx'))}, not on both nodes"
    for resource in ("address", "power"):
        if len(cluster.running(resource)) != 1:
            yield f"cluster: {resource} runs on {sorted(cluster.running(resource)) or 'no node'}, not on one"
    if owner(folder) is None:
        yield "address: not on one node"


def of_proxies(folder):
    for name in PROXIES:
        node = nodes.Node(folder, name)
        done = node.ask("platform-service", "check", "proxy")
        if done.returncode != 0:
            yield f"{name}: {done.stdout.strip()}"
        # Flags AP: answers OPTIONS.
        active = re.findall(r"FLAGS: (\w+)", node.ask("kamcmd", "dispatcher.list").stdout)
        if active != ["AP"] * len(PBXS):
            yield f"{name}: PBXs do not answer OPTIONS: {active or 'Kamailio lists none'}"
        link = node.ask("sh", "-c", "REDISCLI_AUTH=$(sed -n 's/^requirepass //p' /etc/redis/redis-replica.conf) "
                        "redis-cli -p 6380 info replication").stdout
        if "master_link_status:up" not in link:
            yield f"{name}: its replica of the peer's media sessions is not current"


def of_databases(folder):
    for name in DATABASES:
        told = nodes.Node(folder, name).ask("mysql", "--batch", "--skip-column-names", "--execute",
                                            "SHOW STATUS WHERE variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment')").stdout
        if told.split() != ["wsrep_local_state_comment", "Synced", "wsrep_cluster_size", "3"] and \
                told.split() != ["wsrep_cluster_size", "3", "wsrep_local_state_comment", "Synced"]:
            yield f"{name}: the database is not one of three that are synchronised: {' '.join(told.split())}"


def all_of(folder):
    down = [f"{name}: is not up" for name in nodes.NODES if not nodes.Node(folder, name).is_up()]
    return down or [*of_cluster(folder), *of_proxies(folder), *of_databases(folder)]


def wait(folder):
    """Waits until everything holds."""
    nodes.wait(lambda: not all_of(folder), lambda: "the platform does not become well: " + "; ".join(all_of(folder)))


def changed_by_recap(folder):
    """By node, how many tasks of Ansible's last run changed something, as its recap counts them."""
    text = (folder / "ansible.log").read_text().partition("PLAY RECAP")[2]
    return {name: int(count) for name, count in re.findall(r"^(\S+) .*\bchanged=(\d+)", text, re.MULTILINE)}


def drift(text):
    """The tasks of Ansible, with node and file, that would change something: what was changed by hand."""
    task, found = "", []
    for line in text.splitlines():
        if line.startswith("TASK ["):
            task = line.split("[", 1)[1].rsplit("]", 1)[0]
        match = re.match(r"changed: \[([^\]]+)\](?: => \(item=(.*)\))?", line)
        if match:
            found.append(f"{match[1]}: {task}" + (f" ({match[2]})" if match[2] else ""))
    return found
