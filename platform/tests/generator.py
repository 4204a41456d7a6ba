"""Load for the platform: SIPp processes without sound that call or register at a rate, and what SIPp counted of it.

A source of requests may make 400 of them in two seconds (`requests_per_source`), so they come from many addresses, as they do from
many telephones: no limit of the platform is lifted for a load test. They have users of their own.
"""

import contextlib
import csv
import dataclasses
import hashlib
import itertools
import re
import subprocess
import time
from pathlib import Path

import checks
import nodes
import telephones

HERE = Path(__file__).resolve().parent
# In the network of telephones, where nothing else is.
SOURCES = [f"{nodes.NETWORKS['eth0'][1]}.{byte}" for byte in range(128, 248)]
# As many as the paper registers. Nothing calls them, so no extension has such a number.
USERS = range(20000, 30000)
# Of digest authentication: `realm` of group_vars/all.yml.
REALM = "platform"
# Seconds after which a request without a final answer has failed (RFC 3261, timers B and F): SIPp waits for ever once it has had any answer.
UNANSWERED = 32
# Then SIPp ends by itself: a call may fail at its third request.
GRACE = 3 * UNANSWERED + 30
PORT = 5060
# No limit.
MANY = 1_000_000
# Bytes of what SIPp writes of calls that failed.
MOST_LOG = 10_000_000


class Unusable(Exception):
    """A run that says nothing: the load was not made as it was asked for."""


@dataclasses.dataclass(frozen=True)
class Counted:
    """What SIPp counted of one run: the columns of the paper's tables IX to XI. Rate is that of the calls begun; active is the average."""

    rate: float
    generated: int
    active: float
    successful: int
    failed: int
    retransmissions: int

    @classmethod
    def of(cls, rows):
        """Of the rows of SIPp's statistics, one each second; the time after the last call began, in which those under way end, is not part
        of rate and average."""
        if not rows:
            raise Unusable("SIPp wrote no statistics")
        last = rows[-1]
        generated = int(last["TotalCallCreated"])
        if not generated:
            raise Unusable("SIPp made no call")
        begun = list(itertools.takewhile(lambda row: int(row["TotalCallCreated"]) < generated, rows))
        begun.append(rows[len(begun)])
        seconds = moment(begun[-1]["CurrentTime"]) - moment(last["StartTime"])
        successful, failed = int(last["SuccessfulCall(C)"]), int(last["FailedCall(C)"])
        if successful + failed != generated:
            raise Unusable(f"SIPp began {generated} calls, of which {successful} succeeded and {failed} failed: it ended before they did")
        active = sum(int(row["CurrentCall"]) for row in begun) / len(begun)
        return cls(round(generated / max(seconds, 1), 2), generated, round(active, 2), successful, failed, int(last["Retransmissions(C)"]))

    @classmethod
    def sum(cls, each):
        """Of several processes that made one load together."""
        return cls(*(sum(getattr(one, field.name) for one in each) for field in dataclasses.fields(cls)))


def moment(text):
    """Seconds since 1970 of a time of SIPp's statistics, which has them last."""
    return float(text.split()[-1])


def statistics(path):
    """The rows of a file of SIPp's statistics, by column. A line that SIPp has not finished is none."""
    try:
        text = Path(path).read_text()
    except OSError:
        return []
    whole = text[:text.rfind("\n") + 1]
    return [row for row in csv.DictReader(whole.splitlines(), delimiter=";") if row.get("WatchdogMinor(C)")]


class Load:
    """One SIPp process: `rate` calls or registrations a second for `seconds`, no more than `active` at once; each call is as long as the
    next of `lengths`, in whole seconds. `around` is the command that it is run by, in the namespace that it has its addresses in."""

    def __init__(self, folder, where, scenario, target, rate, seconds, active=MANY, lengths=(1,), sources=SOURCES, around=telephones.INSIDE,
                 port=PORT, users=USERS):
        self.where = Path(where)
        self.where.mkdir(parents=True, exist_ok=True)
        for name in ("statistics.csv", "errors.log"):
            (self.where / name).unlink(missing_ok=True)
        lines = [f"{user};[authentication username={user} password={telephones.password(folder, user)}];{length};{source}"
                 for user, length, source in zip(users, itertools.cycle(lengths), itertools.cycle(sources))]
        (self.where / "users.csv").write_text("SEQUENTIAL\n" + "\n".join(lines) + "\n")
        # By -timeout it begins no more calls and waits for those that it has; by the kernel it ends if it does not.
        self.patience = seconds + max(lengths) + GRACE
        # With several addresses SIPp knows its port as 0.
        command = [*around, "timeout", self.patience, "sipp", "-sf", HERE / "load" / f"{scenario}.xml", "-inf", "users.csv",
                   "-s", telephones.ECHO, "-t", "ui", "-ip_field", 3, "-max_socket", 1000, "-i", sources[0], "-p", port, "-key", "port", port,
                   "-r", rate, "-l", active, "-m", round(rate * seconds), "-timeout", seconds, "-recv_timeout", 1000 * UNANSWERED,
                   "-timer_resol", 2, "-nostdin", "-trace_stat", "-stf", "statistics.csv", "-fd", 1,
                   "-trace_err", "-error_file", "errors.log", "-max_log_size", MOST_LOG, f"{target}:5060"]
        self.output = open(self.where / "sipp.log", "w")
        self.process = subprocess.Popen(list(map(str, command)), cwd=self.where, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.output)

    def wait(self):
        """Waits until all calls have ended; returns what was counted."""
        status = self.process.wait()
        self.output.close()
        # 1: some calls failed.
        if status not in (0, 1):
            what = f"did not end in {self.patience} s" if status == 124 else f"ended with {status}"
            raise Unusable(f"SIPp {what}, see {self.where / 'errors.log'} and {self.where / 'sipp.log'}")
        return Counted.of(statistics(self.where / "statistics.csv"))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.output.close()


@contextlib.contextmanager
def addresses():
    """The sources, at the telephones' interface."""
    space = nodes.PREFIX + nodes.PHONES
    # Also what a command left that was killed.
    there = nodes.ip("-n", space, "-o", "-4", "address", "show", "dev", "eth0")

    def change(what, wanted):
        nodes.run("ip", "-n", space, "-batch", "-", given="".join(f"address {what} {source}/24 dev eth0\n" for source in wanted))
    change("add", [source for source in SOURCES if f" {source}/" not in there])
    try:
        yield
    finally:
        change("delete", SOURCES)


def account(folder, user):
    """The row of a user in `kamailio.subscriber`: name, and the HA1 of digest authentication."""
    return user, hashlib.md5(f"{user}:{REALM}:{telephones.password(folder, user)}".encode()).hexdigest()


@contextlib.contextmanager
def subscribers(folder):
    """The users, in the database. Each proxy reads all of them every five seconds."""
    rows = ", ".join("('%s', '%s')" % account(folder, user) for user in USERS)
    sql(folder, f"REPLACE INTO kamailio.subscriber (username, ha1) VALUES {rows};")
    written = int(time.time())
    try:
        for name in checks.PROXIES:
            nodes.wait(lambda name=name: users_read(folder, name) > written, f"{name} does not read the users of the load test", 1)
        yield
    finally:
        sql(folder, f"DELETE FROM kamailio.subscriber WHERE username BETWEEN '{USERS[0]}' AND '{USERS[-1]}' AND LENGTH(username) = 5;")


def users_read(folder, proxy):
    """When a proxy began to read the users that it knows, in seconds since 1970; 0 if it knows none."""
    found = re.search(r"value: (\d+)", nodes.Node(folder, proxy).ask("kamcmd", "pv.shvGet", "users").stdout)
    return int(found[1]) if found else 0


def sql(folder, statement):
    """On the first database that is up; the other has it at the same time."""
    node = next(filter(nodes.Node.is_up, (nodes.Node(folder, name) for name in checks.DATABASES)), None)
    if node is None:
        raise nodes.Failure("no database is up")
    nodes.run(*node.command("mysql"), given=statement)
