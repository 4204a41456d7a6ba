"""What came of a run of failover.py: what has to hold is asserted, times are only measured, all of it from packets."""

import json
import re
import subprocess

import capture
import kinds
import nodes
import telephones

# Seconds in which a call that rings on a lost PBX rings on the other or is refused; far more than it takes, so that a busy machine passes.
SITUATION_3 = 30
# Seconds in which 503 may still be repeated: after its ACK, and to a telephone that sends none.
ACKNOWLEDGED, UNACKNOWLEDGED = 2, 20
# Seconds without an answer that are an outage, within how much of it one may or may not be, and how exactly they have to agree.
SHORTEST, UNCLEAR, EXACT = 0.5, 0.15, 0.02
# Seconds that a call has waited for its first answer if it was delayed (docs/decisions/045-availability.md).
WAITED = 0.1
# Seconds after which a PBX ends a call that it hears nothing of (rtp_timeout), less those that its answer may have taken.
UNHEARD = 29
# Seconds before a failure in which what happened may or may not have come to those who were not lost.
INSTANT = 0.1


class Wrong(Exception):
    """Behaviour that is not as it should be."""


def check(fact, message):
    if not fact:
        raise Wrong(message)


def same(found, expected, either, what):
    """Both are sets of Call-IDs; of those in `either` each may be found or not."""
    missing, surplus = expected - found - either, found - expected - either
    check(not missing and not surplus, f"{what}: {len(missing)} of {len(expected)} are missing {sorted(missing)[:3]}, "
          f"{len(surplus)} too many {sorted(surplus)[:3]}")


def causes_of(moves, gaps, clear, told, refused):
    """What the causes may be that ringtap tells, of all failovers of the address in one run: by the gaps that its packets have, those of them that clearly
    are outages, and the outages that ringtap tells."""
    if not moves:
        # Silent, and still where it was: these packets do not tell a switch that was out from that (docs/decisions/045-availability.md).
        return [{"pbx_lost"}] if told else [set()]
    expected = [{"proxy_lost"}] if clear else [{"address_moved"}] if not gaps else [{"proxy_lost"}, {"address_moved"}]
    # Scenario 3: it refuses the calls that rang, which is an outage of its own if they are three or more in a row.
    expected += [each | {"refusing"} for each in expected if len(refused) >= 3]
    # An outage beside that of the move, on a machine that is busy: the address is where it was.
    return expected + [each | {"pbx_lost"} for each in expected if len(told) > ("proxy_lost" in each)]


class Measures:
    """Of one run: how many calls of each batch succeeded, failed and have no end as SIPp counted them, its captures, and between which moments
    the failure was made."""

    def __init__(self, run, ringtap, ended, packets, at_pbx, probe, moments):
        self.run, self.of, self.ringtap, self.ended, self.path = run, run.of, ringtap, ended, packets.path
        self.failed_at, self.done_at = moments
        for each in (packets, at_pbx):
            check(each.dropped() == 0, f"the capture {each.path.name} lost {each.dropped()} packets")
        self.outage = probe.outage(self.failed_at)
        self.known = capture.Known(at_pbx.path, nodes.address(kinds.PBX), self.failed_at - INSTANT, self.done_at) if self.of.pbx else None
        records, self.streams = capture.records(ringtap, self.path)
        # Those that the platform made are the other halves of calls to a telephone.
        self.calls = {key: call for key, call in records.items() if not call["src"].startswith(f"{capture.VIRTUAL}:")}
        self.halves = {key: call for key, call in records.items() if key not in self.calls}
        self.answered = {key: call for key, call in self.calls.items() if call["answer_us"]}
        # Those that a PBX has ended itself since it heard nothing of them, as their telephone sent nothing: else the platform lost the sound.
        speaks = {each["call_id"] for each in self.streams if not each["src"].startswith(f"{capture.VIRTUAL}:")}
        self.forgotten = {call for *_, text, call in capture.messages(self.path, ("BYE ",)) if b"\r\nUser-Agent: PBX" in text
                          and call not in speaks and self.answered.get(call, {}).get("duration_ms", 0) >= UNHEARD * 1000}

    def figures(self):
        succeeded, failed, left = map(sum, zip(*self.ended.values()))
        refused = {key for key, call in self.calls.items() if call["final_code"] == 503}
        check(succeeded > 0, "no call succeeded")
        told = [line for each in self.run.begun for line in each.complaints()]
        check(failed == len(refused), f"{failed} calls failed, {len(refused)} by 503: {self.ended}; SIPp says {told[:4]}")
        self.refuses(refused)
        silent = sorted(key for key, call in self.calls.items() if not call["final_code"])
        check(not silent, f"{len(silent)} calls got no final answer: {silent[:3]}")
        made, answered = succeeded + failed + left, succeeded + left
        check(len(self.calls) == made, f"ringtap finds {len(self.calls)} calls, SIPp made {made}")
        check(len(self.answered) == answered, f"ringtap finds {len(self.answered)} answered calls, SIPp {answered}")
        self.never_hung_up(left)
        self.relays()
        rings = self.rung_again()
        self.refused_until_acknowledged(refused)
        cut, ended = self.cut()
        late = capture.late_packets(self.path, capture.VIRTUAL)
        check(late == 0, f"{late} packets of the former owner of the address after those of the next")
        self.outage_as_ringtap_has_it(ended, refused)
        return {"kind": self.run.kind, "established": self.run.established, "rate": self.run.rate, "service": self.outage, **self.waits(), "gap": self.gap(),
                "ended": max((end - self.failed_at for end in cut), default=None), "rings": max(rings, default=None),
                "calls": len(self.calls), "failed": failed, "left": left + len(self.forgotten), "ended_by_proxy": len(cut)}

    def never_hung_up(self, left):
        """SIPp now and then forgets a call on a busy machine, seen where 180 came a millisecond after 200: it sends no sound, counts neither end of
        it, and in the packets nobody hangs up, which is for SIPp to do, until the PBX does if the run is long enough. More than one in a run is no
        accident."""
        check(left + len(self.forgotten) <= 1, f"{left} calls have no end that SIPp knows of, the PBX heard none of {sorted(self.forgotten)[:3]}")
        hung_up = {call for *_, call in capture.messages(self.path, ("BYE ",))}
        check(len(self.answered.keys() - hung_up) == left,
              f"{left} calls have no end that SIPp knows of, the packets have none of {sorted(self.answered.keys() - hung_up)[:3]}")

    def relays(self):
        """Every session that a telephone is offered or answered has its sound sent to the platform: not to a PBX, which takes it from no other."""
        virtual, line = capture.packed(capture.VIRTUAL), b"\r\nc=IN IP4 " + capture.VIRTUAL.encode() + b"\r\n"
        direct = {call for _, src, _, text, call in capture.messages(self.path, ("INVITE ", "SIP/2.0 "))
                  if src == virtual and b"\r\nc=IN " in text and line not in text}
        check(not direct, f"{len(direct)} calls are told to send their sound past the platform: {sorted(direct)[:3]}")

    def recorded(self):
        """Calls of which there has to be a record: not those of which an INVITE or an answer to it came in the instant in which their proxy was
        lost. The second INVITE, with the password, is the one that counts, and may come a while after the first."""
        if not self.of.moves:
            return set(self.answered)
        since, until = self.failed_at - INSTANT, max(self.failed_at + INSTANT, self.done_at)
        instant = {call for when, _, _, text, call in capture.messages(self.path, ("INVITE ", "SIP/2.0 "))
                   if since < when < until and (text.startswith(b"INVITE ") or b" INVITE\r\n" in text)}
        return self.answered.keys() - instant

    def rang_on_the_lost(self):
        return self.known.ringing if self.known else set()

    def either(self):
        return self.known.instant if self.known else set()

    def refuses(self, refused):
        """Calls that ring on a lost PBX go to the other one, unless their transaction is lost too: then they get 503. No other fails."""
        expected = self.rang_on_the_lost() if self.of.moves else set()
        same(refused, expected, self.either() if expected else set(), "calls that got 503")

    def waits(self):
        """Of a call that began after the failure, the longest until it rings or is answered; of one that was being set up, and of
        those of situation 2, until it is answered."""
        begun = [(call["invite_us"] / 1e6, call) for call in self.answered.values()]
        user = [call["pdd_ms"] / 1000 for when, call in begun if when > self.failed_at]
        slow = {key for key in self.answered if self.answered[key]["to_user"] == telephones.RINGS}
        pending = [call["answer_us"] / 1e6 - max(when, self.failed_at) for when, call in begun
                   if when < self.failed_at < call["answer_us"] / 1e6 and call["call_id"] not in slow]
        if self.of.trying:
            silent = [call["answer_us"] / 1e6 - when for when, call in begun if call["to_user"] == telephones.SILENT]
            check(silent, "no call waited at a PBX")
            return {"user": max(silent), "pending": None}
        check(user and pending, f"{len(user)} calls began after the failure, {len(pending)} were being set up: nothing is tested")
        return {"user": max(user), "pending": max(pending)}

    def gap(self):
        """The longest gap in the sound of calls that were established, and ended by themselves after it was over."""
        kept = {key: call["end_us"] for key, call in self.answered.items()
                if call["answer_us"] < self.failed_at * 1e6 and call["state"] == "completed" and call["released_by"] == "caller"
                and call["to_user"] == telephones.ECHO}
        early = [end for end in kept.values() if end < (self.failed_at + (self.outage or 0)) * 1e6]
        check(not early, f"{len(early)} established calls ended by themselves before the outage did: nothing is tested")
        return max((each["delta_ms_max"] / 1000 for each in self.streams if each["call_id"] in kept), default=None)

    def rung_again(self):
        """Of each call that rang on the lost PBX, the seconds until who calls heard of it: the other PBX's 180, or 503."""
        rang = self.rang_on_the_lost()
        heard, first = set(), {}
        for when, call in capture.replies(self.path, ("180", "503", "200")):
            if call in rang and when < self.failed_at:
                heard.add(call)
            elif call in rang and when > self.failed_at:
                first.setdefault(call, when - self.failed_at)
        same(set(first), rang, self.either(), "calls that rang on the lost PBX, of which their callers heard again")
        slow = {call: each for call, each in first.items() if each > SITUATION_3}
        check(not slow, f"situation 3 took longer than {SITUATION_3} s: {slow}")
        return [each for call, each in first.items() if call not in self.either()]

    def refused_until_acknowledged(self, refused):
        """A proxy that refuses calls without their transactions repeats it until ACK comes, and for ten seconds if none does."""
        told, heard = {}, {}
        for when, call in capture.replies(self.path, ("503",)):
            told.setdefault(call, []).append(when)
        for when, call in capture.acknowledgements(self.path):
            if call in refused and when > told[call][0]:
                heard.setdefault(call, when)
        for call in refused:
            after = told[call][-1] - heard.get(call, told[call][0])
            check(after < ACKNOWLEDGED if call in heard else len(told[call]) > 5 and after < UNACKNOWLEDGED,
                  f"503 is repeated for {after:.1f} s after {'its ACK' if call in heard else 'the first one, without ACK'}")

    def cut(self):
        """When calls ended that the proxy ended for a PBX that is lost, with either telephone, and their Call-IDs: those that went through
        it, no others."""
        callers = {key for key, call in self.answered.items() if call["released_by"] == "callee"} - self.forgotten
        # Who hung up when the PBX was silent already was told so in the end, and needs no BYE.
        unheard = {call for _, call in capture.replies(self.path, ("408",))}
        # Who did as it had started again was told that it knows no such call, and may have had BYE just before.
        unknown = {call for _, call in capture.replies(self.path, ("481",))} & self.answered.keys()
        through = self.known.callers if self.known else set()
        strange = (unheard | unknown) - through - self.either()
        check(not strange, f"408 or 481 for calls that do not go through a lost PBX: {sorted(strange)[:3]}")
        callees = {key for key, call in self.halves.items() if call["end_us"] and call["duration_ms"] and call["duration_ms"] < self.run.seconds * 1000}
        same(callers, through - unheard, self.either() | unknown, "callers who got BYE since their PBX is lost")
        same(callees, self.known.callees if self.known else set(), self.either(), "telephones that got BYE since their PBX is lost")
        ends = [self.calls[key]["end_us"] / 1e6 for key in callers] + [self.halves[key]["end_us"] / 1e6 for key in callees]
        return ends, callers | callees

    def outage_as_ringtap_has_it(self, ended, refused):
        """`ringtap availability` finds in the packets the outages that there were, as long as they were, says why, and what became of
        calls; and no other."""
        done = subprocess.run([str(self.ringtap), "availability", "--format", "jsonl", str(self.path)], stdout=subprocess.PIPE, check=True, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        told = [(each["first_answer_us"] - each["last_answer_us"]) / 1e6 for each in found
                if each["type"] == "outage" and each["service"] == f"{capture.VIRTUAL}:5060" and each["kind"] == "unanswered"]
        answers = [when for when, *_ in capture.replies(self.path, ("",))]
        gaps = [later - earlier for earlier, later in zip(answers, answers[1:]) if later - earlier > SHORTEST - UNCLEAR]
        clear = [gap for gap in gaps if gap > SHORTEST + UNCLEAR]
        check(len(clear) <= len(told) <= len(gaps), f"ringtap finds {len(told)} outages of the address, {told}, its packets have {gaps}")
        for each in told:
            check(any(abs(each - gap) < EXACT for gap in gaps), f"ringtap finds an outage of {each:.3f} s, the packets have {gaps}")
        # Of the address: telephones of the tests that do not register are taken for services, and some are silent when their call is over.
        failovers = [each for each in found if each["type"] == "failover" and (any(name.startswith(capture.VIRTUAL) for name in each["services"])
                                                                              or any(sign["address"] == capture.VIRTUAL for sign in each["evidence"]))]
        causes = {cause for each in failovers for cause in each["causes"]}
        expected = causes_of(self.of.moves, gaps, clear, told, refused)
        check(causes in expected, f"ringtap says that the cause is {sorted(causes)}, not {expected}")
        if clear:
            ends = [later for earlier, later in zip(answers, answers[1:]) if any(abs(later - earlier - each) < EXACT for each in told)]
            self.effects_as_ringtap_has_them([each for each in found if each["type"] == "affected_call"], ends, ended, refused)

    def effects_as_ringtap_has_them(self, affected, ends, ended, refused):
        """`ends`: when each outage that ringtap found was over. Where services wait for one that is frozen there are several."""
        told = {effect: {each["call_id"] for each in affected if each["effect"] == effect} for effect in ("delayed", "failed", "cut")}
        same(told["cut"], ended, self.either(), "calls that were cut")
        same(told["failed"], refused, self.either(), "calls that failed")
        sent, heard, between, virtual = {}, {}, set(), capture.packed(capture.VIRTUAL)
        for when, src, dst, text, call in capture.messages(self.path, ("INVITE ", "SIP/2.0 ")):
            if dst == virtual and text.startswith(b"INVITE "):
                sent.setdefault((call, cseq(text)), when)
            elif src == virtual and b" INVITE\r\n" in text:
                heard.setdefault((call, cseq(text)), when)
                # 100 before, and the next after: whether it waited is a question of how long.
                if any(heard[call, cseq(text)] < until <= when for until in ends):
                    between.add(call)
        waited = {key[0] for key, when in sent.items() if key in heard and heard[key] - when >= WAITED
                  and any(when < until <= heard[key] for until in ends)}
        close = {key[0] for key, when in sent.items() if key in heard and abs(heard[key] - when - WAITED) < EXACT}
        same(told["delayed"], waited & self.answered.keys(), close | between | self.either(), "calls that were delayed")


def cseq(text):
    return re.search(rb"\r\ncseq: *(\d+)", text, re.IGNORECASE)[1]
