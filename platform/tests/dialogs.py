#!/usr/bin/env python3
"""What telephones do in calls from before a failover, what becomes of calls that ring during one, that another PBX answers too, or whose answer
is lost, and what waits in mailboxes: dialogs.py [TEST...]. The platform is up before."""

import argparse
import contextlib
import csv
import json
import re
import sys
import time
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "here"), str(HERE.parent)]

import capture  # noqa: E402
import checks  # noqa: E402
import images  # noqa: E402
import machine  # noqa: E402
import nodes  # noqa: E402
import services  # noqa: E402
import telephones  # noqa: E402
from told import ENOUGH, Wrong, check, ended, talk, telephones_of  # noqa: E402

# Seconds after which a telephone has registered again, where nothing else is configured.
SOON = 300
# Seconds that a proxy waits for the answer of a call that rings (timer_ringing).
RINGS = 180
# And that of one of which its PBX has said 100 alone (timer_trying); how long a PBX says no more in a test of that.
GIVES_UP, SAYS_NOTHING = 5, 4
# When a PBX answers that is to be heard just before an INVITE is repeated for the third time, after 3.5 s.
MEETS = 3.2
# For how long requests in a call are lost: what is repeated after 0.5, 1.5 and 3.5 s is lost too, and what is after 7.5 s is answered.
UNANSWERED = 5
# After so long, a PBX that has answered late is not slow any more.
SLOW = 4
# More than a proxy has processes for telephones, of which any takes the next message.
REGISTERS = 60


def kill(folder):
    """Kills Kamailio on the node that has the address, which moves."""
    owner = checks.owner(folder)
    nodes.Node(folder, owner)("systemctl", "kill", "--kill-who=all", "--signal=KILL", "kamailio")
    nodes.wait(lambda: checks.owner(folder) not in (None, owner), f"the address does not leave {owner}, whose Kamailio was killed")


def held(caller, call, callee, other, what):
    """Who is put on hold hears music and nobody; then both hear each other again."""
    told = caller("hold", call)
    check(told == {"code": 200, "other": "recvonly"}, f"{what}: hold: {told}")
    time.sleep(1)
    heard = callee("hear", other, 2)
    check(heard.get(caller.user, 0) == 0 and heard.get("other", 0) > ENOUGH, f"{what}: who is on hold hears {heard}")
    told = caller("resume", call)
    check(told == {"code": 200, "other": "sendrecv"}, f"{what}: resume: {told}")
    time.sleep(1)
    caller.hears(call, callee.user, f"{what}: after a hold")
    callee.hears(other, caller.user, f"{what}: after a hold")


def pressed(caller, call, by, what):
    """1 in the menu is the echo."""
    heard = caller("hear", call, 1)
    check(heard.get(caller.user, 0) == 0, f"{what}: the menu is an echo already: {heard}")
    told = caller(by, call, "1")
    check(told.get("code", 200) == 200, f"{what}: a digit by {by}: {told}")
    time.sleep(1)
    caller.hears(call, caller.user, f"{what}: a digit by {by} leads to the echo")


def transferred(caller, call, callee, other, third, what):
    """Blind: who called sends who was called on to a third one."""
    told = caller("refer", call, third.user)
    check(told == {"code": 202, "told": 200}, f"{what}: REFER: {told}")
    # Who has sent them on ends its own call then (RFC 5589, 6.1).
    told = caller("bye", call)
    check(told["code"] == 200, f"{what}: BYE after a blind transfer: {told}")
    last = third("last")["call"]
    time.sleep(0.5)
    callee.hears(other, third.user, f"{what}: after a blind transfer")
    third.hears(last, callee.user, f"{what}: after a blind transfer")
    ended(callee, other, third, last, f"{what}: after a blind transfer")


def joined(caller, calls, one, other, what):
    """Attended: those with whom a telephone has two calls go on without it."""
    told = caller("attended", calls[0][0], calls[1][0])
    check(told == {"code": 202, "told": 200}, f"{what}: REFER with Replaces: {told}")
    for call, _ in calls:
        told = caller("bye", call)
        check(told["code"] == 200, f"{what}: BYE after an attended transfer: {told}")
    one.hears(calls[0][1], other.user, f"{what}: after an attended transfer")
    other.hears(calls[1][1], one.user, f"{what}: after an attended transfer")
    ended(one, calls[0][1], other, calls[1][1], f"{what}: after an attended transfer")


def forgotten(folder, what):
    """Nothing of the calls is left, on a proxy or a PBX."""
    def left():
        found = {f"{name} {table}": nodes.Node(folder, name).ask("kamcmd", "htable.dump", table).stdout.count("name: ")
                 for name in checks.PROXIES for table in ("ringing", "last", "byes", "calls", "active", "answered")}
        for name in checks.PROXIES:
            found[f"{name} rtpengine"] = checks.media_sessions(folder, name)
        for name in checks.PBXS:
            found[name] = nodes.Node(folder, name).ask("asterisk", "-rx", "core show channels concise").stdout.count("PJSIP/")
        return {key: count for key, count in found.items() if count != 0}
    nodes.wait(lambda: not left(), lambda: f"{what}: of calls that ended there is left {left()}", patience=40)


def inside(folder):
    """Calls from before a failover are held and resumed, get digits, are transferred and ended after it."""
    users = {name: (str(1070 + number), "udp") for number, name in enumerate(("a", "b", "c", "d", "e", "f", "g", "h"))}
    for fail in (services.move, kill):
        what = f"after {fail.__name__}"
        with telephones_of(folder, **users) as (a, b, c, d, e, f, g, h):
            for each in (a, b, c, f, g, h, d, e):
                each.registers()
            first = talk(a, b, "before", hang_up=False)
            second = talk(a, c, "before", hang_up=False)
            third = talk(f, g, "before", hang_up=False)
            menu, menu_too = d.calls("660"), e.calls("660")
            fail(folder)
            pressed(d, menu, "digit", what)
            pressed(e, menu_too, "info", what)
            held(a, first[0], b, first[1], what)
            held(b, first[1], a, first[0], what)
            transferred(f, third[0], g, third[1], h, what)
            joined(a, (first, second), b, c, what)
            for each, call in ((d, menu), (e, menu_too)):
                told = each("bye", call)
                check(told["code"] == 200, f"{what}: BYE: {told}")
        forgotten(folder, what)
        checks.wait(folder)
        print(f"dialogs: inside: {fail.__name__} holds", flush=True)


def through(folder):
    """Of each call that is answered its PBX, by what the proxy with the address knows."""
    told = nodes.Node(folder, checks.owner(folder))("kamcmd", "htable.dump", "calls")
    return dict(re.findall(r"name: (\S+)\s+value: ([0-9.]+)\|to\|", told))


def spread(folder):
    """After a move of the address its next owner knows how many calls each PBX has: new ones go to the one with fewer."""
    first, second = (nodes.address(name) for name in checks.PBXS)
    users = {name: (str(1070 + number), "udp") for number, name in enumerate(("a", "b", "c", "d", "e", "f"))}
    with telephones_of(folder, **users) as made:
        owner = nodes.Node(folder, checks.owner(folder))
        owner("kamcmd", "htable.seti", "draining", second, "1")
        try:
            begun = [(each, each.calls("600")) for each in made[:3]]
        finally:
            owner("kamcmd", "htable.delete", "draining", second)
        check(list(through(folder).values()) == [first] * 3, f"calls while a PBX is drained go to {through(folder)}")
        services.move(folder)
        nodes.wait(lambda: "name: " not in nodes.Node(folder, checks.owner(folder)).ask("kamcmd", "htable.dump", "draining").stdout,
                   "the next owner of the address goes on draining a PBX", patience=20)
        begun += [(each, each.calls("600")) for each in made[3:]]
        check(sorted(through(folder).values()) == [first] * 3 + [second] * 3,
              f"after the address moved, with three calls on one PBX: {through(folder)}")
        # The telephone that calls again stays with its PBX, so that it can join its calls.
        begun += [(made[3], made[3].calls("600"))]
        check(list(through(folder).values()).count(second) == 4,
              f"the second call of a telephone goes to another PBX than its first: {through(folder)}")
        for each, call in begun:
            check(each("bye", call)["code"] == 200, f"BYE of {each.user}")
    forgotten(folder, "after the address moved")


UNIT = """[Service]
ExecStart=/usr/bin/sipp -sf /etc/sipp-pbx.xml -i {address} -p 5060 -mi {address} -mp 12000 -rtp_echo -nostdin \\
    -trace_stat -stf /var/log/sipp-pbx.csv -fd 1
StandardOutput=null
Restart=no
"""


def configure(folder, name, *options):
    """Configures one PBX, which is stopped meanwhile, and starts it again."""
    services.stop_pbx(folder, name)
    try:
        machine.playbook(folder, "--limit", name, "--tags", "pbx", *options)
    finally:
        nodes.Node(folder, "arbiter").ask("crm_resource", "--clear", "--resource", "pbxs")
    checks.wait(folder)


@contextlib.contextmanager
def sipp_pbx(folder, name):
    """SIPp in the place of Asterisk on one node, under Pacemaker as any PBX."""
    root, node = folder / "nodes" / name / "root", nodes.Node(folder, name)
    files = {root / "etc/sipp-pbx.xml": (HERE / "pbx.xml").read_text(),
             root / "etc/systemd/system/sipp-pbx.service": UNIT.format(address=nodes.address(name))}
    for path, text in files.items():
        path.write_text(text)
    node("systemctl", "daemon-reload")
    try:
        configure(folder, name, "--extra-vars", "pbx_unit=sipp-pbx")
        check(node.ask("systemctl", "is-active", "sipp-pbx").stdout.strip() == "active",
              "the cluster does not start the unit that the PBX of this host is")
        check(node.ask("systemctl", "is-active", "asterisk").stdout.strip() != "active", "Asterisk runs beside the PBX that replaces it")
        yield node
    finally:
        configure(folder, name)
        for path in files:
            path.unlink()
        node("systemctl", "daemon-reload")


def sipp_failed(node):
    """How many calls SIPp has failed: those that were not told what they had to be."""
    rows = list(csv.DictReader(node("cat", "/var/log/sipp-pbx.csv").splitlines(), delimiter=";"))
    return int(rows[-1]["FailedCall(C)"])


def told_to(path, address, call):
    """The methods of the requests within a call that go to an address, in order."""
    wanted, found = bytes(map(int, address.split("."))), []
    for _, frame, _ in capture.frames(path):
        if frame[12:14] == b"\x08\x00" and frame[30:34] == wanted and call.encode() in frame and not frame[42:].startswith(b"SIP/2.0"):
            found.append(frame[42:].split(b" ", 1)[0].decode())
    return found


def late(folder):
    """Any SIP server can be a PBX: SIPp is one of two, and calls go through it. When it answers, or rings, two seconds after a call came that has
    gone to the other PBX meanwhile, it gets ACK and BYE, or CANCEL, and who calls goes on with the other. Once it has answered a call late,
    though not too late, it is waited for."""
    name = checks.PBXS[1]
    with sipp_pbx(folder, name) as node, telephones_of(folder, a=("1071", "udp"), b=("1072", "udp"), c=("1073", "udp")) as (a, b, c):
        packets, begun = capture.Capture(folder / "late.pcap", f"{name}-eth0"), time.time()
        try:
            first, second = a.calls("600"), b.calls("600")
            check(sorted(through(folder).values()) == sorted(map(nodes.address, checks.PBXS)), f"two calls are not on two PBXs: {through(folder)}")
            for each, call in ((a, first), (b, second)):
                each.hears(call, each.user, "an echo, one of two by SIPp")
            # The one of Asterisk stays: so the next calls begin with SIPp.
            stays, ends = ((a, first), (b, second)) if through(folder)[first] == nodes.address(checks.PBXS[0]) else ((b, second), (a, first))
            told = ends[0]("bye", ends[1])
            check(told["code"] == 200, f"BYE: {told}")
            answered = c.calls("602")
            for _ in range(3):
                c.hears(answered, c.user, "a call that another PBX answers too", 1)
            check(c("answers", answered)["count"] == 1, "who calls is answered by two PBXs")
            check(c("bye", answered)["code"] == 200, "BYE of a call that another PBX has answered too")
            time.sleep(SLOW)
            rung = c.calls("601")
            c.hears(rung, c.user, "a call that rings at another PBX too")
            check(c("bye", rung)["code"] == 200, "BYE of a call that rang at another PBX too")
            said = nodes.Node(folder, checks.owner(folder))("journalctl", "--unit=kamailio", f"--since=@{begun:.0f}", "--output=cat")
            check(f"PBX {nodes.address(name)} answers a call after 1000 ms" in said, "a PBX that answers a call that has left it does not count as slow")
            time.sleep(SLOW)
            waited = [c.calls("603")]
            check(c("bye", waited[0])["code"] == 200, "BYE of a call that was answered late")
            waited.append(c.calls("602"))
            check(through(folder)[waited[1]] == nodes.address(name), f"a call does not wait for a PBX that is slow: {through(folder)}")
            check(c("bye", waited[1])["code"] == 200, "BYE of a call that has waited for a slow PBX")
            check(stays[0]("bye", stays[1])["code"] == 200, "BYE")
            time.sleep(3)
        finally:
            packets.stop()
        for call, wanted in ((answered, ["INVITE", "ACK", "BYE"]), (rung, ["INVITE", "CANCEL", "ACK"]), *((each, ["INVITE", "ACK", "BYE"]) for each in waited)):
            found = list(dict.fromkeys(told_to(packets.path, nodes.address(name), call)))
            check(found == wanted, f"a PBX that is late is told {found}, not {wanted}")
        check(sipp_failed(node) == 0, f"{sipp_failed(node)} calls of SIPp as PBX failed")
    forgotten(folder, "after a PBX was late")


def unheard(folder):
    """The answer of a call is lost with its proxy, and then its PBX: who calls is told that it failed, and that it ended."""
    with services.begin(services.command(folder, "1073", "unheard", telephones.RINGS_SHORTLY)) as caller:
        told = json.loads(caller.stdout.readline())
        check(told == {"code": 200}, f"a call that rings for a moment: {told}")
        [pbx] = [name for name in checks.PBXS if nodes.address(name) in through(folder).values()]
        nodes.Node(folder, pbx).power_off()
        kill(folder)
        told = json.loads(caller.stdout.readline())
        check(told == {"heard": ["503", "BYE"]}, f"who has no answer of a call that its proxy and its PBX were lost with hears {told}")
    checks.wait(folder)
    forgotten(folder, "after a call whose answer was lost")


def repeated(folder):
    """A call went to one PBX through a proxy that was lost, as far as the other knows, and its INVITE comes again while the other PBX is silent and
    not known to be: the first one takes it after all."""
    first, silent = checks.PBXS
    with telephones_of(folder, a=("1071", "udp")) as [a]:
        key = f"repeated-{uuid.uuid4()}"
        nodes.Node(folder, checks.owner(folder))("kamcmd", "htable.sets", "active", key, f"{nodes.address(first)}|{a.user}")
        nodes.Node(folder, silent)("systemctl", "kill", "--signal=STOP", "asterisk")
        try:
            told = a("call", "600", key)
            check(told["code"] == 200, f"a call whose first PBX is the only one left: {told}")
            check(through(folder).get(key) == nodes.address(first), f"it goes to another PBX than {first}: {through(folder)}")
            a.hears(key, a.user, "a call whose first PBX is the only one left")
            check(a("bye", key)["code"] == 200, "BYE")
        finally:
            nodes.Node(folder, silent).ask("systemctl", "kill", "--signal=CONT", "asterisk")
    checks.wait(folder)
    forgotten(folder, "after a call that came again")


def slow(folder):
    """A telephone that says nothing for a few seconds is not absent: its mailbox does not answer."""
    with telephones_of(folder, a=("1071", "udp"), b=("1072", "udp")) as (a, b):
        b.registers()
        b("mode", "slow")
        talk(a, b, "a telephone that is slow is called")
    forgotten(folder, "after a call to a telephone that is slow")


def delayed(folder):
    """Requests in a call that get no answer for seconds, as where packets are lost: they are repeated until they have one, and no call ends of it."""
    with telephones_of(folder, a=("1071", "udp"), b=("1072", "udp"), c=("1073", "udp"), d=("1074", "udp")) as (a, b, c, d):
        for each in (a, b, c, d):
            each.registers()
        first, other = talk(a, b, "before packets are lost", hang_up=False)
        second, _ = talk(c, d, "before packets are lost", hang_up=False)
        with lost_by_pbxs(folder, b"INVI", b"BYE "):
            a.tell("hold", first)
            c.tell("bye", second)
            time.sleep(UNANSWERED)
        for each, what, told in ((a, "a hold", {"code": 200, "other": "recvonly"}), (c, "a BYE", {"code": 200})):
            got = each.told()
            check(got == told, f"{what} without an answer for {UNANSWERED} s: {got}")
        check(a("resume", first) == {"code": 200, "other": "sendrecv"}, "a call cannot be resumed after a hold that was answered late")
        time.sleep(1)
        a.hears(first, b.user, "after a hold that was answered late")
        ended(a, first, b, other, "after a hold that was answered late")
    forgotten(folder, "after requests that were answered late")


@contextlib.contextmanager
def lost_by_pbxs(folder, *beginnings):
    """The PBXs lose SIP messages that begin with these four bytes each."""
    found = ", ".join(f"0x{each.hex()}" for each in beginnings)
    rule = f"add table inet lost {{ chain in {{ type filter hook input priority -300; udp dport 5060 @th,64,32 {{ {found} }} drop; }}; }}"
    try:
        for name in checks.PBXS:
            nodes.Node(folder, name)("nft", rule)
        yield
    finally:
        for name in checks.PBXS:
            nodes.Node(folder, name).ask("nft", "delete table inet lost")


def barred(folder):
    """What a telephone answers with a bar in its tag is not heard, as proxies put bars between what they remember of a call: its mailbox answers.
    Processes of the proxy that did not listen answer what comes to them next."""
    with telephones_of(folder, a=("1071", "udp"), b=("1072", "udp")) as (a, b):
        b.registers()
        b("mode", "barred")
        call = a.calls(b.user)
        heard = a("hear", call, 2)
        check(heard.get(b.user, 0) == 0 and heard.get("other", 0) > ENOUGH, f"who calls a telephone with a bar in its tag hears {heard}")
        check(b("last")["call"], "a telephone with a bar in its tag was not asked")
        told = a("bye", call)
        check(told["code"] == 200, f"BYE to the mailbox of a telephone with a bar in its tag: {told}")
        for _ in range(REGISTERS):
            b.registers()
    forgotten(folder, "after a call to a telephone with a bar in its tag")


def at_end(telephone, state, patience=5):
    """What the call that rang at a telephone has come to, once that is `state` and has its ACK."""
    end = time.monotonic() + patience
    while True:
        told = telephone("state", telephone("last")["call"])
        if told == {"state": state, "acknowledged": True} or time.monotonic() > end:
            return told
        time.sleep(0.1)


def given_up(folder):
    """Of calls that ring as the address moves, one is given up that an extension has, one that a telephone has, and one is refused by its telephone."""
    for fail in (services.move, kill):
        what = f"after {fail.__name__}"
        with telephones_of(folder, **{name: (str(1070 + number), "udp") for number, name in enumerate("abcde", 1)}) as (a, b, c, d, e):
            for each in (d, e):
                each.registers()
                each("mode", "ring")
            calls = [caller("dial", number) for caller, number in ((b, d.user), (c, e.user), (a, "601"))]
            check(all(each["rings"] for each in calls), f"{what}: not each of the calls rings: {calls}")
            at_telephone, refused, at_extension = (each["call"] for each in calls)
            fail(folder)
            for caller, call, whom in ((a, at_extension, "an extension"), (b, at_telephone, "a telephone")):
                told = caller("cancel", call)
                check(told["code"] == 200, f"{what}: CANCEL of a call that rings at {whom}: {told}")
                told = caller("outcome", call)
                check(told["code"] == 487, f"{what}: a call to {whom} that was given up ends by {told}")
            told = c("cancel", refused, "z9hG4bKguessed")
            check(told["code"] == 481, f"{what}: CANCEL by who does not know the branch of the INVITE: {told}")
            e("decline", e("last")["call"])
            told = c("outcome", refused)
            check(told["code"] == 200, f"{what}: a call that a telephone refused, and its mailbox takes: {told}")
            check(c("bye", refused)["code"] == 200, f"{what}: BYE to a mailbox")
            for telephone, state in ((d, "released"), (e, "declined")):
                told = at_end(telephone, state)
                check(told == {"state": state, "acknowledged": True}, f"{what}: {telephone.user} has a call that is {told}, not {state}")
        forgotten(folder, f"given up {what}")
        checks.wait(folder)


def answered_late(folder):
    """Calls that ring as the address moves are answered after it. They go on when the proxy that had it gives up waiting for an answer."""
    with telephones_of(folder, a=("1071", "udp"), b=("1072", "udp"), c=("1073", "udp")) as (a, b, c):
        b.registers()
        b("mode", "ring")
        calls = [caller("dial", number) for caller, number in ((a, b.user), (c, "601"))]
        check(all(each["rings"] for each in calls), f"not each of the calls rings: {calls}")
        first, second = (each["call"] for each in calls)
        services.move(folder)
        other = b("last")["call"]
        b("accept", other)
        for caller, call in ((a, first), (c, second)):
            told = caller("outcome", call)
            check(told["code"] == 200, f"a call that is answered after the address has moved: {told}")
        time.sleep(RINGS + 5)
        for telephone, call, whom in ((a, first, b), (b, other, a), (c, second, c)):
            telephone.hears(call, whom.user, f"{RINGS} s after the address has moved")
        ended(a, first, b, other, f"{RINGS} s after the address has moved")
        check(c("bye", second)["code"] == 200, "BYE")
    forgotten(folder, "answered after the address has moved")


def unrung(folder):
    """Calls that their PBX has as the address moves, and says nothing of but 100 Trying: they ring, are given up, answered, held and ended, and are their
    user's, while the proxy that sent them on waits in vain."""
    pbxs = [nodes.Node(folder, name) for name in checks.PBXS]

    def delays(seconds):
        for pbx in pbxs:
            pbx("asterisk", "-rx", f"dialplan set global DELAY {seconds}")
    delays(SAYS_NOTHING)
    try:
        with telephones_of(folder, a=("1071", "udp"), b=("1072", "udp"), c=("1073", "udp")) as (a, b, c):
            begun = time.monotonic()
            # What a PBX says in time does not let them repeat their INVITE; here it comes late.
            for each, words in ((a, ("call", telephones.RINGS_LATE)), (b, ("call", telephones.SILENT)), (c, ("dial", telephones.RINGS_LATE))):
                each("mode", "patient")
                each.tell(*words)
            time.sleep(0.5)
            services.move(folder)
            check(time.monotonic() - begun < SAYS_NOTHING, f"the address took {time.monotonic() - begun:.1f} s to move: too long for this test")
            told = c.told()
            check(told["rings"], "a call does not ring whose PBX says so after the address has moved")
            check(c("cancel", told["call"])["code"] == 200, "CANCEL of a call that rings since the address has moved")
            outcome = c("outcome", told["call"])
            check(outcome["code"] == 487, f"a call that rang when the address had moved, and was given up, ends by {outcome}")
            calls = []
            for each in (a, b):
                told = each.told()
                check(told["code"] == 200, f"a call whose PBX says nothing until the address has moved: {told}")
                calls.append((each, told["call"]))
            time.sleep(max(0, begun + GIVES_UP + 1 - time.monotonic()))
            told = nodes.Node(folder, checks.owner(folder))("kamcmd", "htable.dump", "answered")
            for each, call in calls:
                check(call in through(folder) and call in told, f"of a call whose PBX says nothing until the address has moved the proxy knows nothing: {told}")
                each.hears(call, each.user, "a call whose PBX says nothing until the address has moved")
                for what in ("hold", "resume", "bye"):
                    answer = each(what, call)
                    check(answer["code"] == 200, f"{what} in a call whose PBX says nothing until the address has moved: {answer}")
    finally:
        delays(0)
    checks.wait(folder)
    forgotten(folder, "after calls that their PBX said nothing of as the address moved")


def doubled(folder):
    """An INVITE comes again while the first one waits for an rtpengine that is slow: it is the same call, which its PBX takes, and which goes on."""
    with telephones_of(folder, a=("1071", "udp")) as [a]:
        owner = nodes.Node(folder, checks.owner(folder))
        owner("systemctl", "kill", "--signal=STOP", "rtpengine")
        try:
            a.tell("call", telephones.ECHO)
            # Repeated after 0.5 s; the cluster's check waits for a second.
            time.sleep(0.7)
        finally:
            owner("systemctl", "kill", "--signal=CONT", "rtpengine")
        told = a.told()
        check(told["code"] == 200, f"a call whose INVITE came twice while rtpengine was slow: {told}")
        # What its PBX said would be dropped, and the call ended there.
        left_by = owner("kamcmd", "htable.dump", "left")
        check(told["call"] not in left_by, f"a call whose INVITE came twice has left a PBX, as if it had not answered: {left_by}")
        time.sleep(2)
        a.hears(told["call"], a.user, "a call whose INVITE came twice")
        for what in ("hold", "resume", "bye"):
            answer = a(what, told["call"])
            check(answer["code"] == 200, f"{what} in a call whose INVITE came twice: {answer}")
    checks.wait(folder)
    forgotten(folder, "after a call whose INVITE came twice")


def crossed(folder):
    """A call went to its PBX through a proxy that has lost the address since. What the PBX answers waits in the next proxy for an rtpengine that is slow
    as the INVITE comes again: who calls gets one answer. Then the answer has gone on as an INVITE comes that was sent before it: no other call begins."""
    pbxs = [nodes.Node(folder, name) for name in checks.PBXS]
    for pbx in pbxs:
        pbx("asterisk", "-rx", f"dialplan set global DELAY {MEETS}")
    try:
        for waits in (True, False):
            what = f"a call whose answer {'waits' if waits else 'has gone on'} as its INVITE comes again by another proxy"
            with telephones_of(folder, a=("1071", "udp")) as [a]:
                a("mode", "answer" if waits else "patient")
                begun = time.monotonic()
                a.tell("call", telephones.SILENT)
                # Its INVITE comes again after 0.5, 1.5, 3.5 and 7.5 s: by the next proxy as the answer waits, not before.
                time.sleep(1.6)
                services.move(folder)
                owner, left = nodes.Node(folder, checks.owner(folder)), begun + MEETS - 0.2 - time.monotonic()
                check(left > 0, f"the address took too long to move for this test: {-left:.1f} s")
                if waits:
                    time.sleep(left)
                    owner("systemctl", "kill", "--signal=STOP", "rtpengine")
                    time.sleep(max(0, begun + 3.7 - time.monotonic()))
                    owner("systemctl", "kill", "--signal=CONT", "rtpengine")
                told = a.told()
                check(told["code"] == 200, f"{what}: {told}")
                call = told["call"]
                if not waits:
                    a("resend", call)
                # For as long as another PBX would say nothing.
                for _ in range(5):
                    a.hears(call, a.user, what, 1)
                check(a("answers", call)["count"] == 1, f"{what} is answered by two PBXs")
                for step in ("hold", "resume", "bye"):
                    answer = a(step, call)
                    check(answer["code"] == 200, f"{step} in {what}: {answer}")
            checks.wait(folder)
            forgotten(folder, f"after {what}")
    finally:
        for pbx in pbxs:
            pbx("asterisk", "-rx", "dialplan set global DELAY 0")


# In place of `grep`, by which a proxy looks whether the address is here: 3 s later.
SLOW_GREP = """
cp /usr/bin/grep /opt/grep
printf '#!/bin/sh\\ncase "$*" in */proc/net/fib_trie) sleep 3 ;; esac\\nexec /opt/grep "$@"\\n' >/opt/slow-grep
chmod 755 /opt/grep /opt/slow-grep
mount --bind /opt/slow-grep /usr/bin/grep
"""


def gone_on(folder):
    """A call rings at one PBX when a busy proxy comes to the calls of the other one, which is lost: it rang there when they were looked up, and goes on."""
    with telephones_of(folder, a=("1071", "udp")) as [a]:
        told = a("dial", telephones.RINGS)
        check(told["rings"], f"a call that rings for ten seconds: {told}")
        call, owner = told["call"], nodes.Node(folder, checks.owner(folder))
        row = re.search(rf"name: {re.escape(call)}\s+value: (\S+)", owner("kamcmd", "htable.dump", "ringing"))[1]
        here, _, cseq, *_ = row.split("|")
        [lost] = {nodes.address(name) for name in checks.PBXS} - {here}
        process = re.search(r"PID: (\d+)\s+DSC: RTIMER EXEC child=0 timer=lost", owner("kamcmd", "core.psx"))[1]
        owner("sh", "-ec", SLOW_GREP)
        try:
            owner("kamcmd", "htable.sets", "ringing", call, f"{lost}|again|{cseq}")
            owner("kamcmd", "htable.sets", "doomed", call, f"again/{lost}")
            nodes.wait(lambda: owner.ask("pgrep", "--parent", process).returncode == 0, "the proxy does not look for calls of a lost PBX", patience=5)
            owner("kamcmd", "htable.sets", "ringing", call, row)
            time.sleep(3.5)
        finally:
            owner("umount", "--lazy", "/usr/bin/grep")
        left_by = owner("kamcmd", "htable.dump", "left")
        check(call not in left_by, f"a call that rings at another PBX than the lost one is taken from it as well: {left_by}")
        outcome = a("outcome", call)
        check(outcome["code"] == 200, f"a call that rings at another PBX than the lost one ends by {outcome}")
        check(a("bye", call)["code"] == 200, "BYE")
    forgotten(folder, "after a call that rang at another PBX than the lost one")


def proxies(folder):
    """Both proxies lose their power at once and get it again: without a hand one of them answers again, and a telephone is called again once it
    has registered again, which it has to soon."""
    with telephones_of(folder, a=("1074", "udp"), b=("1075", "udp")) as (a, b):
        told = b("register")
        check(told["code"] == 200 and 0 < told["seconds"] <= SOON, f"a telephone is to register again after {told['seconds']} s: {told}")
        talk(a, b, "before both proxies are lost")
        lost = [nodes.Node(folder, name) for name in checks.PROXIES]
        for each in lost:
            each.power_off()
        begun = time.monotonic()
        for each in lost:
            each.boot(images.make(nodes.NODES[each.name][0], folder / "roots"))
        nodes.wait(lambda: b("register")["code"] == 200, "no telephone can register after both proxies were lost")
        again = time.monotonic() - begun
        talk(a, b, "after both proxies were lost")
    checks.wait(folder)
    forgotten(folder, "after both proxies were lost")
    print(f"dialogs: proxies: registered again after {again:.0f} s", flush=True)


def told_of(telephone, waits, inside, what, patience=30):
    """Waits for a NOTIFY that says so much of its mailbox; returns it."""
    def has():
        telephone.notes.extend(telephone("notes"))
        return [each for each in telephone.notes if each["inside"] == inside and f"Voice-Message: {waits}" in each["body"]]
    got = nodes.wait(has, lambda: f"{what}: {telephone.user} is not told {waits}, but {telephone.notes}", patience=patience)[-1]
    telephone.notes = [each for each in telephone.notes if each["inside"] != inside]
    check(got["event"] == "message-summary", f"{what}: {got}")
    check(f"Messages-Waiting: {'no' if waits.startswith('0/') else 'yes'}" in got["body"], f"{what}: {got}")
    return got


def mailbox(folder):
    """A telephone is told what waits when it registers, when it subscribes, and when that changes, also by the next owner of the address."""
    database, user = nodes.Node(folder, checks.DATABASES[0]), "1078"
    ask = ("mysql", "--batch", "--skip-column-names", "--execute")
    database(*ask, f"DELETE FROM asterisk.voicemessages WHERE mailboxuser = '{user}'")
    row = "INSERT INTO asterisk.voicemessages (dir, msgnum, recording, mailboxuser, mailboxcontext) VALUES ('/var/spool/asterisk/voicemail/default/"
    database(*ask, f"{row}{user}/Old', 0, 'x', '{user}', 'default')")
    # The proxies read it every few seconds.
    time.sleep(12)
    with telephones_of(folder, own=(user, "udp"), tcp=(user, "tcp"), other=("1079", "udp")) as (own, tcp, other):
        own.registers()
        told_of(own, "0/1", False, "when it registers")
        for each in (own, tcp):
            told = each("subscribe", 600)
            check(told == {"code": 200, "seconds": "600"}, f"SUBSCRIBE by {each.transport}: {told}")
            got = told_of(each, "0/1", True, "when it subscribes")
            check(got["state"].startswith("active;expires="), f"the state of a subscription is {got}")
        for seconds, whose, code in ((600, user, 403), (10, "1079", 423)):
            told = other("subscribe", seconds, whose)
            check(told["code"] == code, f"SUBSCRIBE for {seconds} s to the mailbox of {whose} by 1079: {told}, not {code}")
        codes = []
        for number in range(11):
            codes.append(other("subscribe", 60)["code"])
            if number == 9:
                told = other("repeat")
                check(told["code"] == 200, f"a telephone's last subscription, once more since its answer was lost: {told}")
            other("forget")
        check(codes == [200] * 10 + [403], f"eleven subscriptions of one telephone are answered {codes}")
        left(folder, other, own, user)
        for each in (own, tcp):
            told_of(each, "1/1", True, "when a message is left")
        told_of(own, "1/1", False, "when a message is left, as registered")
        services.move(folder)
        told = own("subscribe", 600)
        check(told["code"] == 200, f"a subscription is not refreshed after the address moved: {told}")
        told_of(own, "1/1", True, "when it refreshes a subscription")
        left(folder, other, own, user)
        told_of(own, "2/1", True, "when a message is left after the address moved")
        for each in (own, tcp):
            told = each("subscribe", 0)
            check(told["code"] == 200, f"SUBSCRIBE that ends: {told}")
            got = told_of(each, "2/1", True, "when it ends a subscription")
            check(got["state"].startswith("terminated"), f"the state of a subscription that ends is {got}")
        checks.wait(folder)
        for name in checks.PROXIES:
            nodes.wait(lambda name=name: own("subscribed")["key"] not in nodes.Node(folder, name)("kamcmd", "htable.dump", "subscribed"),
                       f"{name} knows a subscription that ended", patience=20)
    database(*ask, f"DELETE FROM asterisk.voicemessages WHERE mailboxuser = '{user}'")


def left(folder, caller, callee, user):
    """A message for a telephone that is busy."""
    callee("mode", "busy")
    call = caller.calls(user)
    time.sleep(3)
    # Skips what the mailbox says before the tone.
    caller("digit", call, "#")
    time.sleep(10)
    check(caller("bye", call)["code"] == 200, "BYE to a mailbox")
    callee("mode", "answer")


def replicated(folder):
    """A proxy that has taken the other for gone, which Kamailio does when a request was answered too late, tells it of calls again at once."""
    owner = checks.owner(folder)
    [peer] = {*checks.PROXIES} - {owner}
    address = nodes.address(peer, "eth1")

    def known():
        return nodes.Node(folder, owner)("kamcmd", "dmq.list_nodes")
    nodes.Node(folder, owner)("kamcmd", "dmq.remove", f"sip:{address}:5060")
    nodes.wait(lambda: re.search(rf"host: {re.escape(address)}\n[^}}]*status: active\n", known()),
               lambda: f"{owner} tells {peer} nothing: {' '.join(known().split())}", patience=5)


def lost_word(folder):
    """What a proxy that has just started is told of a call is lost first, and comes again after the call has ended: nothing of it stays."""
    owner = checks.owner(folder)
    [name] = {*checks.PROXIES} - {owner}
    peer = nodes.Node(folder, name)
    peer("systemctl", "start", "platform-resync")
    checks.wait(folder)
    with telephones_of(folder, a=("1071", "udp")) as [a]:
        # Kamailio repeats after half a second: less than that is between the answer of the call and its end. Eight times take about 12 of the 20 s after
        # which a proxy that has started forgets what came too late.
        for _ in range(8):
            peer("nft", "add table inet lost { chain in { type filter hook input priority -300; "
                 f"ip saddr {nodes.address(owner, 'eth1')} udp dport 5060 drop; }}; }}")
            try:
                call = a.calls("600")
            finally:
                peer("nft", "delete table inet lost")
            check(a("bye", call)["code"] == 200, "BYE")
            time.sleep(1)
            if call in peer("kamcmd", "htable.dump", "calls"):
                break
        else:
            raise Wrong("what a proxy is told of a call did not come after the call's end: nothing was tried")
    forgotten(folder, "of a call that a proxy was told of after its end")


TESTS = {test.__name__: test for test in (inside, spread, late, unheard, repeated, slow, delayed, barred, given_up, answered_late, unrung, doubled, crossed,
                                         gone_on, proxies, replicated, lost_word, mailbox)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("tests", nargs="*", metavar="TEST", help=", ".join(TESTS))
    options = parser.parse_args()
    unknown = [name for name in options.tests if name not in TESTS]
    if unknown:
        sys.exit(f"dialogs: there is no test {unknown[0]!r}: {', '.join(TESTS)}")
    folder = options.folder.resolve()
    try:
        checks.wait(folder)
        for name in options.tests or TESTS:
            try:
                TESTS[name](folder)
            except Wrong as wrong:
                raise Wrong(f"{name}: {wrong}") from wrong
            print(f"dialogs: {name} holds", flush=True)
    except (nodes.Failure, Wrong) as failure:
        sys.exit(f"dialogs: {failure}")


if __name__ == "__main__":
    main()
