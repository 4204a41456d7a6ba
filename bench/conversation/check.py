#!/usr/bin/env python3
"""Compares the conversations that ringtap made with which legs belong together.

    check.py CALLS INVITES     CALLS: `ringtap calls --format jsonl`; INVITES: Call-ID, CSeq, branch, truth of each INVITE, by tshark

Ends with status 1 if a call is missing or invented, if calls are joined that do not belong together, or if a conversation that must be
found whole is not.
"""

import collections
import json
import sys

# Calls with the same two numbers, at the same time between the same hosts: numbers cannot tell which leg belongs to which. Their other
# legs have an identifier in common.
AMBIGUOUS = "same-numbers"

# Every call has media in both directions, which pass the mirror port.
SILENT = {"no_audio", "signalling_only", "media_elsewhere", "one_way", "direction_not_captured"}

LEGS = {"alone": 3, "crowd": 3, "same-callee": 3, "same-numbers": 3, "two-hops": 2, "transfer": 4, "crowd-transfer": 4}

failed = False


def check(what, found, wanted):
    global failed
    if found == wanted:
        print(f"ok: {what}: {found}")
    else:
        failed = True
        print(f"WRONG: {what}: {found}, wanted {wanted}")


def main():
    calls = {call["call_id"]: call for call in map(json.loads, open(sys.argv[1])) if call["type"] == "call"}
    invites = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
    truth = {call_id: name for call_id, _, _, name in invites}
    print(f"tshark: {len({tuple(invite[:3]) for invite in invites})} INVITE transactions, {len(truth)} Call-IDs")
    check("records without a Call-ID that tshark saw", sorted(set(calls) - set(truth)), [])
    check("Call-IDs that tshark saw without a record", sorted(set(truth) - set(calls)), [])

    legs = collections.defaultdict(set)
    for call_id, name in truth.items():
        legs[name].add(call_id)
    conversations = collections.defaultdict(set)
    for call_id, call in calls.items():
        conversations[call["conversation"]].add(call_id)
    mixed = [sorted({truth.get(leg, "?") for leg in members}) for members in conversations.values()]
    check("conversations with legs of different calls", [names for names in mixed if len(names) > 1], [])
    for name in sorted(legs):
        check(f"legs of {name}, by tshark", len(legs[name]), LEGS[name.rstrip("0123456789").rstrip("-")])
        parts = {calls[leg]["conversation"] for leg in legs[name] if leg in calls}
        if name.startswith(AMBIGUOUS):
            print(f"    {name}: {len(parts)} conversations; numbers cannot tell")
        else:
            check(f"conversations of {name}", len(parts), 1)
    silent = [call_id for call_id, call in calls.items() if SILENT & {note["code"] for note in call["notes"]}]
    check("calls of which a side is said to be silent", silent, [])
    by_id = {call["id"]: call for call in calls.values()}
    for name in sorted(legs):
        for leg in sorted(legs[name], key=lambda leg: calls.get(leg, {}).get("invite_us", 0)):
            call = calls.get(leg, {})
            print(f"    {name}: {call.get('src')} -> {call.get('dst')}: {call.get('state')}")
            for join in call.get("joins", []):
                other = by_id.get(join["call"], {})
                print(f"        with {other.get('src')} -> {other.get('dst')}: {join['reason']} {join['confidence']}: {join['evidence']}")
    return int(failed)


sys.exit(main())
