#!/usr/bin/env python3
"""KPIs computed a second time, from JSON lines, by the definitions alone; compared with those of `ringtap kpis`.

    ringtap analyze --format jsonl FILE > records
    ringtap kpis FILE --by trunk --format jsonl > kpis
    second.py records kpis [--per minute|hour|day] [--zone Europe/Berlin] [--legs]

Every count and ratio must be equal, every quantile within 1 % of the value of its rank. Lists have all values:
no sketch, no rollup, no merging.
"""

import argparse
import datetime
import ipaddress
import json
import math
import sys
import zoneinfo
from collections import defaultdict

MINUTE = 60_000_000


def period_start(time, per, zone):
    """Beginning of the minute, hour or day in microseconds."""
    if per is None:
        return 0
    moment = datetime.datetime.fromtimestamp(time // 1_000_000, datetime.timezone.utc).astimezone(zone)
    if per == "day":
        start = datetime.datetime(moment.year, moment.month, moment.day, tzinfo=zone)
        return int(start.timestamp()) * 1_000_000
    minute = time - time % MINUTE
    return minute - moment.minute * MINUTE if per == "hour" else minute


def is_address(name):
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False


def host(endpoint):
    return str(ipaddress.ip_address(endpoint.rsplit(":", 1)[0].strip("[]")))


def prefix(number):
    if number is None:
        return "(none)"
    plain = "".join(c for c in number if c not in " -.()")
    if plain.startswith("00"):
        plain = "+" + plain[2:]
    plus, rest = ("+", plain[1:]) if plain.startswith("+") else ("", plain)
    if not rest or not all(c in "0123456789" for c in rest):
        return "(no number)"
    return plus + rest[:4]


def cut(name):
    name = (name or "").strip() or "(none)"
    raw = name.encode()[:64]
    return raw.decode(errors="ignore")


def groups(call, streams):
    """Dimension, name, and whether a further leg counts there as a conversation."""
    source = call["trunk_from"] or host(call["src"])
    target = call["trunk_to"] or host(call["dst"])
    inside = {(True, True): "inside", (True, False): "out", (False, True): "in", (False, False): "through"}
    yield "total", "all calls", False
    yield "trunk_in", source, not is_address(source)
    yield "trunk_out", target, not is_address(target)
    yield "direction", inside[is_address(source), is_address(target)], False
    codecs = []
    for stream in streams:
        name = cut(stream["codec"])
        if name not in codecs:
            codecs.append(name)
    for name in codecs[:4] or ["(none)"]:
        yield "codec", name, False
    yield "device", cut(call["user_agent_caller"]), False
    called = call["ruri_user"] if call["ruri_user"] is not None else call["to_user"]
    yield "prefix", prefix(called), False
    yield "code", str(call["final_code"] or "(none)"), False


class Group:
    def __init__(self):
        self.codes = defaultdict(int)
        self.lists = defaultdict(list)
        self.counts = defaultdict(int)
        self.spans = []

    def call(self, call, streams, repeated):
        if call["invite_us"] is None:
            self.counts["begun_before"] += 1
        code, invite = call["final_code"], call["invite_us"]
        answered = 200 <= code < 300
        since = lambda time: [] if None in (time, invite) or time < invite else [(time - invite) / 1e3]
        lists = self.lists
        lists["pdd"] += [] if call["pdd_ms"] is None else [call["pdd_ms"]]
        if call["state"] == "failed" and code >= 400 and code not in (401, 402, 407):
            lists["srd_failed"] += since(call["end_us"])
        first = [call[name] for name in ("trying_us", "ringing_us", "answer_us") if call[name] is not None]
        lists["ttr"] += since(min(first)) if first else []
        lists["answer"] += since(call["answer_us"])
        lists["sdd"] += [] if call["sdd_ms"] is None else [call["sdd_ms"]]
        if answered and call["duration_ms"] is not None:
            lists["duration"].append(call["duration_ms"])
        for stream in streams:
            expected = stream["unique"] + stream["lost"]
            lists["loss"] += [100 * stream["lost"] / expected] if expected else []
            for name, field in (("mos", "mos"), ("jitter", "jitter_ms_mean"), ("rtt", "rtt_ms")):
                lists[name] += [] if stream[field] is None else [stream[field]]
        self.counts["capture_drops"] = max(self.counts["capture_drops"], call["capture_drops"])
        if invite is None:
            return
        self.codes[code] += 1
        self.counts["completed"] += call["state"] == "completed"
        self.counts["short"] += answered and call["duration_ms"] is not None and call["duration_ms"] <= 3000
        self.counts["repeated"] += repeated
        self.span(call, streams)

    def span(self, call, streams):
        end = call["end_us"]
        if end is None and streams:
            end = max(stream["last_us"] for stream in streams)
        if end is not None and call["invite_us"] is not None:
            self.spans.append((call["invite_us"], end))

    def registration(self, registration):
        attempts = registration["attempts"]
        failed = registration["failed"]
        attempts = 1 if attempts is None else attempts
        failed = int(registration["state"] == "refused") if failed is None else failed
        self.counts["registrations"] += attempts
        self.counts["registrations_failed"] += min(failed, attempts)
        self.lists["rrd"] += [] if registration["rrd_ms_mean"] is None else [registration["rrd_ms_mean"]]

    def figures(self):
        of = lambda test: sum(count for code, count in self.codes.items() if test(code))
        attempts = of(lambda code: True)
        answered = of(lambda code: 200 <= code < 300)
        established = attempts - of(lambda code: 300 <= code < 400)
        isa = of(lambda code: code in (408, 500, 503, 504))
        pct = lambda part, whole: (100 * part / whole if whole else None, whole)
        counts = self.counts
        yield "attempts", attempts, attempts
        yield "answered", answered, attempts
        yield ("asr", *pct(answered, attempts))
        yield ("abr", *pct(answered, attempts))
        yield ("ner", *pct(answered + of(lambda code: code in (480, 486, 487, 600, 603)), attempts))
        yield ("ner_isa", *pct(attempts - isa, attempts))
        yield ("ner_without_4xx", *pct(answered, attempts - of(lambda code: 400 <= code < 500)))
        yield ("ser", *pct(answered, established))
        yield ("seer", *pct(answered + of(lambda code: code in (480, 486, 600, 603)), established))
        yield ("isa", *pct(isa, attempts))
        yield ("scr", *pct(counts["completed"], attempts))
        yield "short_calls", counts["short"], answered
        yield "repeated_calls", counts["repeated"], attempts
        yield ("ira", *pct(counts["registrations_failed"], counts["registrations"]))
        yield "begun_before", counts["begun_before"], counts["begun_before"]
        duration = self.lists["duration"]
        yield "acd_ms", sum(duration) / len(duration) if duration else None, len(duration)

    QUANTILES = [
        ("duration_ms_p50", "duration", 0.5),
        ("pdd_ms_p50", "pdd", 0.5),
        ("pdd_ms_p95", "pdd", 0.95),
        ("srd_failed_ms_p50", "srd_failed", 0.5),
        ("srd_failed_ms_p95", "srd_failed", 0.95),
        ("ttr_ms_p50", "ttr", 0.5),
        ("answer_ms_p50", "answer", 0.5),
        ("sdd_ms_p50", "sdd", 0.5),
        ("sdd_ms_p95", "sdd", 0.95),
        ("mos_p50", "mos", 0.5),
        ("mos_p5", "mos", 0.05),
        ("loss_pct_p50", "loss", 0.5),
        ("loss_pct_p95", "loss", 0.95),
        ("jitter_ms_p95", "jitter", 0.95),
        ("rtt_ms_p50", "rtt", 0.5),
        ("rtt_ms_p95", "rtt", 0.95),
        ("rrd_ms_p50", "rrd", 0.5),
        ("rrd_ms_p95", "rrd", 0.95),
    ]

    def quantiles(self):
        for name, values, share in self.QUANTILES:
            values = sorted(self.lists[values])
            rank = min(max(math.ceil(share * len(values)), 1), max(len(values), 1))
            yield name, values[rank - 1] if values else None, len(values)


def concurrent(spans, begin, end):
    """Most and mean number of calls at full seconds from `begin`, before `end`."""
    seconds = lambda time: -(-time // 1_000_000)
    first, last = seconds(begin), seconds(end)
    changes = defaultdict(int)
    for start, stop in spans:
        start, stop = max(seconds(start), first), min(seconds(stop), last)
        if start < stop:
            changes[start] += 1
            changes[stop] -= 1
    now = most = total = 0
    for second in range(first, last):
        now += changes.get(second, 0)
        most, total = max(most, now), total + now
    return most, total / max(last - first, 1)


def read(path):
    calls, streams, registrations = [], defaultdict(list), []
    for line in open(path, encoding="utf-8"):
        record = json.loads(line)
        if record["type"] == "call":
            calls.append(record)
        elif record["type"] == "stream" and record["call"]:
            streams[record["call"]].append(record)
        elif record["type"] == "registration":
            registrations.append(record)
    return calls, streams, registrations


def repeated_calls(calls):
    """Ids of calls that another of the same pair came before, within five minutes."""
    last, found = {}, set()
    for call in sorted((call for call in calls if call["invite_us"] is not None), key=lambda c: c["invite_us"]):
        if call["conversation"] not in (None, call["id"]):
            continue
        caller = call["from_user"]
        if caller is None or caller.lower() == "anonymous":
            caller = call["asserted_identity"]
        called = call["ruri_user"] if call["ruri_user"] is not None else call["to_user"]
        if caller is None or called is None:
            continue
        before = last.get((caller, called))
        if before is not None and call["invite_us"] - before <= 300_000_000:
            found.add(call["id"])
        last[caller, called] = call["invite_us"]
    return found


def computed(args):
    calls, streams, registrations = read(args.records)
    zone = zoneinfo.ZoneInfo(args.zone)
    found, spans, minutes = defaultdict(Group), defaultdict(list), []
    repeated = repeated_calls(calls)
    for call in calls:
        times = [call[name] for name in ("invite_us", "trying_us", "ringing_us", "answer_us", "end_us")]
        begin = next((time for time in times if time is not None), 0)
        minutes.append(begin - begin % MINUTE)
        period = period_start(begin, args.per, zone)
        further = call["conversation"] not in (None, call["id"])
        of_call = streams[call["id"]]
        for dimension, name, at_trunk in groups(call, of_call):
            if further and not args.legs and not at_trunk:
                continue
            own = [s for s in of_call if dimension != "codec" or cut(s["codec"]) == name]
            found[dimension, name, period].call(call, own, call["id"] in repeated)
    for registration in registrations:
        minutes.append(registration["first_us"] - registration["first_us"] % MINUTE)
        period = period_start(registration["first_us"], args.per, zone)
        for key in (("total", "all calls", period), ("device", cut(registration["user_agent"]), period)):
            found[key].registration(registration)
    for (dimension, name, _), group in found.items():
        spans[dimension, name] += group.spans
    return found, spans, (min(minutes), max(minutes) + MINUTE) if minutes else (0, 0)


def compare(args):
    wanted, spans, span = computed(args)
    wrong, checked, dimensions = [], 0, set()
    rows = [json.loads(line) for line in open(args.kpis, encoding="utf-8")]
    definitions, rows = rows[0], [row for row in rows if row["type"] == "kpi"]
    assert definitions["type"] == "kpi_definitions", definitions
    for row in rows:
        dimensions.add(row["by"])
        key = row["by"], row["name"], row["from_us"] if args.per else 0
        group = wanted.get(key)
        if group is None:
            wrong.append(f"{key}: is not to be there")
            continue

        def check(name, value, count, error):
            nonlocal checked
            checked += 1
            shown = row[name]["value"]
            same = (value is None) == (shown is None)
            if same and value is not None:
                # The last digits that are shown are rounded.
                same = abs(shown - value) <= error * abs(value) + 1e-4
            if not same or row[name]["of"] != count:
                wrong.append(f"{key}: {name} is {row[name]}, not {value} of {count}")

        for name, value, count in group.figures():
            check(name, value, count, 1e-6)
        for name, value, count in group.quantiles():
            check(name, value, count, 0.01)
        if row["by"] in ("total", "trunk_in", "trunk_out", "direction"):
            begin, end = max(row["from_us"], span[0]), min(row["to_us"], span[1])
            most, mean = concurrent(spans[row["by"], row["name"]], begin, end)
            attempts = sum(group.codes.values())
            check("concurrent_max", most, attempts, 0)
            check("concurrent_mean", mean, attempts, 1e-6)
        codes = {str(code): count for code, count in group.codes.items()}
        if row["codes"] != codes:
            wrong.append(f"{key}: codes are {row['codes']}, not {codes}")
    there = {(row["by"], row["name"], row["from_us"] if args.per else 0) for row in rows}
    missing = [key for key in wanted if key[0] in dimensions and key not in there]
    wrong += [f"{key}: is missing" for key in missing]
    return rows, checked, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("records")
    parser.add_argument("kpis")
    parser.add_argument("--per", choices=["minute", "hour", "day"])
    parser.add_argument("--zone", default="UTC")
    parser.add_argument("--legs", action="store_true")
    args = parser.parse_args()
    rows, checked, wrong = compare(args)
    for line in wrong[:20]:
        print(line)
    calls = next((row["attempts"]["value"] for row in rows if row["by"] == "total"), 0)
    print(f"{checked} figures in {len(rows)} rows, {len(wrong)} wrong, {calls} calls in the first row")
    sys.exit(bool(wrong) or not checked)


if __name__ == "__main__":
    main()
