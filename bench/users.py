#!/usr/bin/env python3
"""Compares `ringtap users` with what a second implementation makes of tshark's fields of the same captures.

For each user of the captures named: which methods it sent and how often, attempts to register and those that failed, calls made,
answered and received, MESSAGEs received. Captures with several messages in a frame are left out: tshark's columns mix them. Prints what differs, and how many captures and users agree.
Ends with 1 if any differs.
"""

import argparse
import json
import os
import re
import subprocess
import sys

FIELDS = [
    "frame.time_epoch", "sip.Call-ID", "sip.Method", "sip.Status-Code", "sip.CSeq.method", "sip.CSeq.seq", "sip.from.addr", "sip.to.addr",
    "sip.Via.branch", "sip.auth",
]
OUTSIDE = ("SUBSCRIBE", "NOTIFY", "OPTIONS", "PUBLISH", "MESSAGE")
UNANSWERED, REPEATED = 40, 5


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")


class Sip:
    """A SIP message as tshark reads it."""

    def __init__(self, columns):
        first = lambda index: columns[index].split("\x1f")[0]
        self.time = float(first(0))
        self.call_id, self.method, self.cseq_method = first(1), first(2), first(4)
        self.code = int(first(3) or 0)
        self.cseq = int(first(5) or 0)
        self.sender, self.receiver = aor(first(6)), aor(first(7))
        self.branch, self.credentials = first(8), bool(first(9))
        # The method of the transaction; some answers have a CSeq that tshark does not read.
        self.of = self.method or self.cseq_method or "INVITE"


def aor(uri):
    """Address of record of a URI: `user@host`, or what a `tel:` URI names; a host alone is None."""
    scheme, _, rest = uri.partition(":")
    user, at, host = rest.partition("@")
    if scheme.lower() == "tel":
        return rest.split(";")[0]
    host = re.match(r"\[[^]]*\]|[^:;>?]*", host)[0].lower()
    return f"{user}@{host}" if at and user else None


def messages(tshark, path):
    columns = [part for field in FIELDS for part in ("-e", field)]
    text = output(tshark, "-n", "-r", path, "-Y", "sip && !icmp", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=\x1f", *columns)
    rows = [line.split("\t") for line in text.splitlines()]
    # Several messages in one frame: tshark's columns do not tell which value is whose.
    several = any(len(row[4].split("\x1f")) > 1 for row in rows)
    return [] if several else sorted((Sip(row) for row in rows if row[1]), key=lambda sip: sip.time)


class Try:
    """A transaction, with the challenges that it answers."""

    def __init__(self, sip):
        self.sender, self.receiver, self.cseq, self.branch = sip.sender, sip.receiver, sip.cseq, sip.branch
        self.tried = self.last = sip.time
        self.code, self.own = 0, False

    def is_over(self, now):
        if self.code == 0:
            return now >= self.tried + UNANSWERED
        return now >= self.last + (UNANSWERED if self.code in (401, 407) else REPEATED)

    def answer(self, sip):
        self.last = max(self.last, sip.time)
        own = sip.branch == self.branch
        settled = self.code not in (0, 401, 407) and (self.own or not own)
        if sip.code >= 200 and not settled:
            self.code, self.own = sip.code, own


def transactions(seen):
    """Those outside of calls: by the method, all that ever were."""
    calls, open_tries, every = set(), {}, []
    for sip in seen:
        if sip.of == "INVITE":
            calls.add(sip.call_id)
        if sip.of not in OUTSIDE or (sip.call_id in calls and sip.of != "MESSAGE"):
            continue
        key = (sip.call_id, sip.of, sip.cseq)
        known = open_tries.get(key)
        if known and known.is_over(sip.time):
            known = open_tries.pop(key) and None
        if sip.code:
            if known:
                known.answer(sip)
            continue
        before = open_tries.get((sip.call_id, sip.of, sip.cseq - 1))
        challenged = known or before
        challenged = challenged if challenged and challenged.code in (401, 407) and sip.credentials and not challenged.is_over(sip.time) else None
        if challenged and (challenged is not known or sip.branch != known.branch):
            open_tries.pop((sip.call_id, sip.of, challenged.cseq))
            challenged.code, challenged.own, challenged.cseq, challenged.branch, challenged.tried = 0, False, sip.cseq, sip.branch, sip.time
            challenged.last = max(challenged.last, sip.time)
            open_tries[key] = challenged
        elif known:
            known.last = max(known.last, sip.time)
        else:
            open_tries[key] = Try(sip)
            every.append((sip.of, open_tries[key]))
    return every


def attempts(seen):
    """Attempts to register: by address of record, each with whether it failed."""
    by_binding, every = {}, []
    for sip in seen:
        if sip.of != "REGISTER":
            continue
        binding = (sip.call_id, sip.receiver)
        newest = by_binding.get(binding)
        if sip.code:
            if newest and newest["cseq"] == sip.cseq and sip.code >= 200:
                newest["code"] = sip.code if newest["code"] in (0, 401, 407) else newest["code"]
            continue
        recent = newest and sip.time - newest["time"] < UNANSWERED
        if recent and newest["code"] in (401, 407) and sip.credentials and sip.cseq >= newest["cseq"] and (sip.cseq, sip.branch) != (newest["cseq"], newest["branch"]):
            newest.update(cseq=sip.cseq, branch=sip.branch, time=sip.time, code=0)
        elif not recent or sip.cseq > newest["cseq"]:
            by_binding[binding] = {"aor": sip.receiver, "cseq": sip.cseq, "branch": sip.branch, "time": sip.time, "code": 0}
            every.append(by_binding[binding])
    return every


def users(seen):
    found = {}

    def user(name):
        return found.setdefault(name, {"methods": {}, "registrations": 0, "registrations_failed": 0, "calls_made": 0, "calls_made_answered": 0, "calls_received": 0, "messages_received": 0})

    def sent(name, method):
        user(name)["methods"][method] = user(name)["methods"].get(method, 0) + 1

    for attempt in attempts(seen):
        sent(attempt["aor"], "REGISTER")
        user(attempt["aor"])["registrations"] += 1
        user(attempt["aor"])["registrations_failed"] += attempt["code"] < 200 or attempt["code"] >= 400
    for method, one in transactions(seen):
        if one.sender:
            sent(one.sender, method)
        if method == "MESSAGE" and one.receiver:
            user(one.receiver)["messages_received"] += 1
    calls = {}
    for sip in seen:
        if sip.of == "INVITE":
            call = calls.setdefault(sip.call_id, {"from": sip.sender, "to": sip.receiver, "answered": False})
            call["answered"] |= 200 <= sip.code < 300
    for call in calls.values():
        if call["from"]:
            sent(call["from"], "INVITE")
            user(call["from"])["calls_made"] += 1
            user(call["from"])["calls_made_answered"] += call["answered"]
        if call["to"]:
            user(call["to"])["calls_received"] += 1
    return found


def ours(ringtap, path):
    found = {}
    for line in output(ringtap, "users", "--format", "jsonl", path).splitlines():
        record = json.loads(line)
        methods = {part["method"]: part["count"] for part in record["methods"]}
        keys = ("registrations", "registrations_failed", "calls_made", "calls_made_answered", "calls_received", "messages_received")
        found[record["aor"]] = {"methods": methods, **{key: record[key] for key in keys}}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--tshark", default="tshark")
    parser.add_argument("captures", nargs="+")
    arguments = parser.parse_args()
    totals = {"captures": 0, "captures that agree": 0, "users": 0, "users that agree": 0, "transactions": 0}
    for path in sorted(arguments.captures):
        seen = messages(arguments.tshark, path)
        if not seen:
            continue
        theirs, found = users(seen), ours(arguments.ringtap, path)
        names = sorted(set(theirs) | set(found))
        wrong = [name for name in names if theirs.get(name) != found.get(name)]
        for name in wrong:
            print(f"{os.path.basename(path)}: {name}\n  tshark  {theirs.get(name)}\n  ringtap {found.get(name)}")
        totals["captures"] += 1
        totals["captures that agree"] += not wrong
        totals["users"] += len(names)
        totals["users that agree"] += len(names) - len(wrong)
        totals["transactions"] += sum(sum(one["methods"].values()) for one in theirs.values())
    print(", ".join(f"{count} {name}" for name, count in totals.items()))
    sys.exit(totals["users"] != totals["users that agree"])


if __name__ == "__main__":
    main()
