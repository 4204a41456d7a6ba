#!/usr/bin/env python3
"""Measures everything that has a target and prints the table: target, result, met or missed.

Each row is one run of `ringtap bench` or of a script in this folder. Figures are medians of processor time over rounds, as ratios
to the reference loop of the same round if the target is such a ratio. Targets in packets or calls per second are for a machine
whose reference loop reads 72 M packets of 214 bytes per second; on other or shared machines they are scaled by the rate of the
loop in the same run, and the row says so. The table and the figures are stored in bench/results.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Packets of 214 bytes per second that the reference loop reads on the machine that the targets are for.
LOOP = 72e6
PARTS = ["media", "calls", "analyze", "sound", "spool", "store", "console", "under_way", "interception", "live", "day", "peers"]


class Bench:
    """Runs the program and stores its output."""

    def __init__(self, options):
        self.options = options
        self.outcomes = {}
        self.machine = None

    def run(self, name, *arguments):
        """Runs `ringtap bench` once and returns the result."""
        command = [self.options.ringtap, "bench", *arguments, "--format", "json", "--rounds", str(self.options.rounds)]
        if arguments[0] != "workers":
            command = ["taskset", "-c", str(self.options.core), *command]
        print(f"... {' '.join(arguments)}", file=sys.stderr)
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}")
        report = json.loads(done.stdout)
        self.machine = self.machine or report["machine"]
        self.outcomes[name] = report["outcomes"][0]
        return self.outcomes[name]


def measure(outcome, name, part="figure"):
    """The median of a measure."""
    return next(row for row in outcome["measures"] if row["name"] == name)[part]["median"]


def short(count):
    return f"{count / 1e6:.2f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, target, reached, met, remark=""):
        self.rows.append({"what": what, "target": target, "reached": reached, "met": met, "remark": remark})
        print(f"    {what}: {reached} (target {target}): {'met' if met else 'missed'}", file=sys.stderr)

    def rate(self, what, target, reached, unit, loop):
        """A rate with a target for a machine whose reference loop reaches LOOP."""
        scaled = reached / loop * LOOP
        met = reached >= target or scaled >= target
        remark = "" if reached >= target else f"where the loop does 72 M as on the machine of the target: {short(scaled)}"
        self.add(what, f">= {short(target)} {unit}", f"{short(reached)} {unit}", met, remark)

    def text(self):
        lines = ["| what | target | reached | | |", "|---|---|---|---|---|"]
        for row in self.rows:
            met = "met" if row["met"] else "**missed**"
            lines.append(f"| {row['what']} | {row['target']} | {row['reached']} | {met} | {row['remark']} |")
        return "\n".join(lines)


def media(bench, table):
    """The engine alone, on media. Returns the rate of the reference loop."""
    g711 = bench.run("g711", "media")
    loop = measure(g711, "reference")
    engine = measure(g711, "engine")
    ratio = measure(g711, "engine", "ratio")
    table.add(
        "engine, 52,000 calls, 214-byte packets", ">= 0.28 of the reference loop",
        f"{ratio:.3f}: {short(engine)} of {short(loop)} packets/s", ratio >= 0.28,
    )
    g729 = bench.run("g729", "media", "--codec", "g729")
    table.rate("the same, 74-byte packets", 28e6, measure(g729, "engine"), "packets/s", loop)
    million = bench.run("million", "media", "--calls", "500000")
    share = measure(million, "engine") / engine
    table.add("the same, 1,000,000 streams", ">= 0.75 of 104,000", f"{share:.2f}", share >= 0.75)
    for name, what in [("ipv6", "IPv6"), ("qinq", "two VLAN tags"), ("cooked", "cooked capture")]:
        share = measure(bench.run(name, "media", "--headers", name), "engine") / engine
        table.add(f"the same, {what}", ">= 0.9 of plain IPv4", f"{share:.2f}", share >= 0.9)
    other = bench.run("other", "other")
    table.rate("64 bytes, no telephony", 40e6, measure(other, "engine"), "packets/s", loop)
    return loop


def calls(bench, table, loop):
    """Calls, signalling, single changes, two workers."""
    lives = bench.run("calls", "calls")
    table.rate("calls from set-up to record, first media packet never missed", 100e3, measure(lives, "engine"), "calls/s", loop)
    changes = bench.run("changes", "changes", "--calls", "25000")
    for name, what, streams in [("add", "add a stream among 50,000", 1), ("end", "remove a stream among 50,000", 2)]:
        mean = measure(changes, name) / streams / 1e3
        worst = measure(changes, f"{name}_worst_own") / 1e3
        table.add(
            what, "<= 1 us mean, <= 50 us worst", f"{mean:.2f} us, {worst:.1f} us", mean <= 1 and worst <= 50,
            f"with the machine's other work, worst {measure(changes, f'{name}_worst') / 1e3:.0f} us"
            + ("; half of a call with its two streams, records made" if streams == 2 else ""),
        )
    pause = {name: measure(changes, f"pause_{name}") / 1e3 for name in ("worst_own", "worst", "99")}
    table.add(
        "longest pause while 442 calls end per second", "<= 50 us", f"{pause['worst_own']:.1f} us", pause["worst_own"] <= 50,
        f"CPU time of the thread, in every round; worst of a round {pause['worst']:.0f} us, 99 of 100 below {pause['99']:.1f} us"
    )
    sip = bench.run("sip", "sip", "--calls", "60000")
    table.rate("SIP alone", 1e6, measure(sip, "engine"), "messages/s", loop)
    if sip["memory"]:
        total = sip["memory"]["total"] / 1e6
        table.add("60,000 calls under way", "<= 250 MB", f"{total:.0f} MB", total <= 250)
    workers = bench.run("workers", "workers")
    gain = measure(workers, "gain")
    table.add("two workers", ">= 1.85 times one", f"{gain:.2f}", gain >= 1.85)


def analyze(bench, table, folder):
    """The program on a capture in the page cache, compared with the engine alone on the same frames."""
    capture = folder / "analyze.pcap"
    if not capture.exists():
        part = capture.with_suffix(".part")
        subprocess.run(
            [bench.options.ringtap, "generate", "--calls", "1000", "--seed", "1", "--rate", "20", "--hold-distribution",
             "constant:20", "--codec", "PCMU=100", "--out", str(part)], check=True,
        )
        part.rename(capture)
    capture.read_bytes()
    alone = bench.run("file", "--file", str(capture))
    rates = []
    for _ in range(bench.options.rounds):
        before = os.times()
        subprocess.run(
            ["taskset", "-c", str(bench.options.core), bench.options.ringtap, "analyze", "--format", "jsonl", str(capture)],
            stdout=subprocess.DEVNULL, check=True,
        )
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        rates.append(alone["packets"] / used)
    rate = statistics.median(rates)
    share = rate / measure(alone, "engine")
    table.add(
        "`ringtap analyze` of a capture in the page cache", ">= 0.8 of the engine's own rate",
        f"{share:.2f}: {short(rate)} of {short(measure(alone, 'engine'))} packets/s", share >= 0.8,
        f"read from the file, nothing printed: {measure(alone, 'file') / measure(alone, 'engine'):.2f}",
    )


def two_cores(bench, table, folder):
    """The program on two cores: beside itself on one, and beside two processes with a core each."""
    capture = folder / "two-cores.pcap"
    if not capture.exists():
        part = capture.with_suffix(".part")
        subprocess.run(
            [bench.options.ringtap, "generate", "--calls", "52000", "--seed", "1", "--rate", "200", "--hold-distribution",
             "constant:2", "--codec", "PCMU=100", "--out", str(part)], check=True,
        )
        part.rename(capture)
    capture.read_bytes()
    pair = f"{max(bench.options.core - 1, 0)},{bench.options.core}"

    def elapsed(processes, workers):
        command = ["taskset", "-c", pair, bench.options.ringtap, "analyze", "--workers", str(workers), "--format", "jsonl", str(capture)]
        began = time.monotonic()
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(processes)]
        if any([process.wait() != 0 for process in running]):
            sys.exit(f"{' '.join(command)} failed")
        return time.monotonic() - began

    gains, shares = [], []
    for _ in range(bench.options.rounds):
        one, two, apart = elapsed(1, 1), elapsed(1, 2), elapsed(2, 1)
        gains.append(one / two)
        shares.append(apart / 2 / two)
    gain, share = statistics.median(gains), statistics.median(shares)
    table.add("`ringtap analyze` on two cores, 52,000 calls", ">= 1.75 times one core", f"{gain:.2f}", gain >= 1.75)
    table.add("the same, beside two processes together", ">= 0.9 of their rate", f"{share:.2f}", share >= 0.9)


def script(name, *arguments, python=sys.executable):
    """The last JSON line of a script in this folder; None if it cannot run here."""
    print(f"... {name}", file=sys.stderr)
    done = subprocess.run([python, str(HERE / name), *arguments], stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode == 77:
        return None
    if done.returncode != 0:
        sys.exit(f"bench/{name} ended with {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def live(bench, table):
    """Live capture on a veth pair."""
    found = script("live.py", "--seconds", str(bench.options.live), "--programs", bench.options.programs, "--ringtap", bench.options.ringtap)
    if found is None:
        print("    live rows left out: they need root and network namespaces", file=sys.stderr)
        return
    bench.outcomes["live"] = found
    for source, name in [("packet", "AF_PACKET"), ("xdp", "AF_XDP")]:
        if source in found:
            count, follow = found[source]["count"], found[source]["follow"]
            table.add(
                f"live on veth, {name}, no packet lost, {found['seconds']} s", ">= 0.95 of a bare counter",
                f"{follow / count:.2f}: {short(follow)} of {short(count)} packets/s", follow / count >= 0.95,
                "the sender did no more" if found[source]["follow_bound"] == "sender" else "",
            )
    if "keep" in found:
        alone, kept = found["keep"]["run"], found["keep"]["keep"]
        table.add(
            f"the daemon live on veth, everything kept, nothing lost, {found['seconds']} s", ">= 0.9 of its rate without the spool",
            f"{kept / alone:.2f}: {short(kept)} of {short(alone)} packets/s", kept / alone >= 0.9,
            "the sender did no more" if found["keep"]["keep_bound"] == "sender" else "",
        )


def spool(bench, table):
    """Packets recorded and read back."""
    found = script("spool.py", "--programs", bench.options.programs, "--ringtap", bench.options.ringtap)
    if found is None:
        print("    the spool left out: it needs fio and 18 GB", file=sys.stderr)
        return
    bench.outcomes["spool"] = found
    rounds = found["kept"]["rounds"]
    middle = lambda name: statistics.median(row[name] for row in rounds)
    packets = rounds[0]["packets"]
    table.add(
        "sustained write while analysing, everything kept", ">= 0.85 of fio, O_DIRECT, 1 MiB, in turn with it",
        f"{middle('share'):.2f}: {middle('rate') / 1e6:.0f} of {statistics.median(found['kept']['fio']) / 1e6:.0f} MB/s", middle("share") >= 0.85,
        f"one worker, at work {min(middle('worker_busy'), 1):.0%} of that time: {middle('worker_cpu') / packets * 1e9:.0f} ns a packet, "
        f"{middle('alone_cpu') / packets * 1e9:.0f} without the spool",
    )
    table.add(
        "the same, sealed and signed", ">= 0.55 of fio",
        f"{middle('signed_share'):.2f}: {middle('signed_rate') / 1e6:.0f} MB/s", middle("signed_share") >= 0.55,
    )
    most = max(rounds, key=lambda row: row["writes"] - row["bytes"] / 2**20 - row["seconds"])
    met = most["writes"] <= most["bytes"] / 2**20 + most["seconds"] + 1
    order = found["order"]
    told = "not looked at: no strace" if order is None else f"{order['elsewhere']} of {order['writes']} not where the last one ended"
    table.add(
        "writes to disk", "<= 1 a MiB and 1 a second, none random",
        f"{most['writes']} for {most['bytes'] / 2**20:.0f} MiB in {most['seconds']:.1f} s; {told}", met and (order or {}).get("elsewhere") == 0,
    )
    hour = found["hour"]
    table.add(
        "one call of 120 s out of an hour of 2,000 at once, not in the page cache", "<= 50 ms, <= 200 reads",
        f"{hour['ms']:.0f} ms, {hour['reads']} reads", hour["ms"] <= 50 and hour["reads"] <= 200,
        f"median of {hour['calls']} calls, worst {hour['worst_ms']:.0f} ms; three minutes of the hour in full, in the others each stream has a "
        f"packet a second: {hour['made']['bytes'] / 1e9:.0f} GB instead of 166",
    )
    memory = found["memory"]
    table.add(
        "memory of all that keeps 52,000 calls", "<= 1.2 GB, bounded by configuration", f"{memory['resident_mb'] / 1e3:.2f} GB resident",
        memory["resident_mb"] <= 1200, "`[spool] memory` 900 MiB; 104,000 streams and 52,000 signallings",
    )


def sound(bench, table):
    """Calls converted to WAV."""
    found = script("sound.py", "--programs", bench.options.programs, "--core", str(bench.options.core))
    bench.outcomes["sound"] = found
    slowest = min(found[name] for name in ("PCMU", "PCMA"))
    table.add(
        "120 s of G.711, both directions, to stereo WAV in memory", ">= 250 calls/s", f"{slowest:.0f} calls/s", slowest >= 250,
        "the slower of A-law and mu-law",
    )
    theirs = {name: rate / 2 for name, rate in found.get("others", {}).items()}
    times = found["G729"] / max(theirs.values(), default=1)
    table.add(
        "the same with G.729", ">= 20 calls/s; >= 2 x the faster of libbcg729 and ffmpeg",
        f"{found['G729']:.1f} calls/s" + (f", {times:.1f} x" if theirs else ""), found["G729"] >= 20 and (times >= 2 or not theirs),
        "theirs decoded and nothing else, both directions: " + ", ".join(f"{name} {rate:.1f} calls/s" for name, rate in theirs.items())
        if theirs else "no libbcg729 here to compare with",
    )


def day(bench, table):
    """24 hours of traffic."""
    found = script("day.py", "--ringtap", bench.options.ringtap)
    if found is None:
        print("    the day left out: there is no room for its capture", file=sys.stderr)
        return
    bench.outcomes["day"] = found
    table.add(
        "24 hours of generated traffic", "memory flat, every call once",
        f"{found['calls']} calls, {found['missing']} missing, {found['twice']} twice; {found['anonymous_mb_quarter']:.0f} MB after a "
        f"quarter, {found['anonymous_mb_most']:.0f} MB at most later", found["met"], f"{found['packets']} packets in {found['seconds']:.0f} s",
    )


def store(bench, table, folder):
    """Calls into the database, its size, and searches with nothing in the page cache: `--store` calls, a million a day."""
    records = folder / "store"
    shutil.rmtree(records, ignore_errors=True)
    days = max(1, bench.options.store // 1_000_000)
    command = [pathlib.Path(bench.options.programs) / "fill", records, "--calls", str(bench.options.store), "--days", str(days)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    shutil.rmtree(records, ignore_errors=True)
    found = json.loads(done.stdout or "{}")
    if done.returncode != 0 or "error" in found:
        sys.exit(f"{command[0]} ended with {done.returncode}: {found.get('error', 'no figures')}")
    bench.outcomes["store"] = found
    rate, size = found["calls_per_writer_s"], found["bytes_per_call"]
    table.add(
        "calls of 180 s with two streams into the database", ">= 30 k calls/s", f"{short(rate)} calls/s", rate >= 30e3,
        f"by the processor time of the thread that writes, beside which another makes compact forms "
        f"({found['encoder_s']:.1f} s to {found['writer_s']:.1f}); {short(found['calls_per_s'])} by the clock, which waits for the disk too",
    )
    table.add("bytes of such a call, indexes included", "<= 1,200", f"{size:,.0f}", size <= 1200)
    # The others are of the console, which has rows of its own.
    searches = {name: search for name, search in found["search_ms"].items() if isinstance(search, dict) and "ms" in search}
    slowest = max(searches.items(), key=lambda search: search[1]["ms"])
    table.add(
        f"search of {found['calls']:,} calls in {days} days, nothing in memory", "<= 100 ms", f"{slowest[1]['ms']:.0f} ms",
        slowest[1]["ms"] <= 100, f"the slowest: {slowest[0]}; the target is for 10 million in 10 days (`--store 10000000`, 12 GB)",
    )


def console(bench, table, folder):
    """Searches of the console, over `--console` calls. What DuckDB and SQLite need for the same, as a table of its own."""
    python = bench.options.duckdb if pathlib.Path(bench.options.duckdb).exists() else sys.executable
    found = script(
        "console.py", "--ringtap", bench.options.ringtap, "--programs", bench.options.programs, "--folder", str(folder),
        "--calls", str(bench.options.console), python=python,
    )
    if found is None:
        print("    the console left out: there is no room for its database", file=sys.stderr)
        return ""
    bench.outcomes["console"] = found
    over = f"over {found['calls']:,} calls in {found['days']} day" + ("s" if found["days"] > 1 else "")
    sized = "" if found["calls"] >= 10_000_000 else "the target is for 10 million in 10 days (`--console 10000000`)"
    digits, worst, people = found["digits"], found["worst"], found["people"]
    warm, cold = digits["warm_ms"]["median"], digits["cold_ms"]["median"]
    table.add(
        f"search by the last 6 digits {over}, warm / cold", "<= 30 ms / 300 ms", f"{warm:.1f} ms / {cold:.0f} ms",
        warm <= 30 and cold <= 300, f"95 of 100 warm ones within {digits['warm_ms']['p95']:.1f} ms; {sized}".rstrip("; "),
    )
    table.add(
        f"worst search {over}, five fields and no index, complete, warm / cold", "<= 1.5 s / 6 s",
        f"{worst['warm_ms'] / 1e3:.2f} s / {worst['cold_ms'] / 1e3:.2f} s", worst["warm_ms"] <= 1_500 and worst["cold_ms"] <= 6_000, sized,
    )
    table.add("the same, its first row", "<= 200 ms", f"{worst['warm_first_ms']:.0f} ms", worst["warm_first_ms"] <= 200, f"of {worst['calls']}")
    table.add("the same, cancelled", "<= 50 ms", f"{worst['cancelled_ms']:.0f} ms", worst["cancelled_ms"] <= 50, "until no thread of two of them runs")
    share = people["writer_beside"] / people["writer_alone"]
    table.add(
        "a writer beside 50 people with 10 s think time", ">= 0.8 of its rate alone",
        f"{share:.2f}: {short(people['writer_beside'])} of {short(people['writer_alone'])} calls/s", share >= 0.8,
        "into a database of its own, on the same disk and processors",
    )
    times = people["beside"]["p95"] / people["alone"]["p95"]
    table.add(
        "their searches beside the writer, 95th percentile", "<= 2 x without it",
        f"{times:.2f} x: {people['beside']['p95']:.0f} of {people['alone']['p95']:.0f} ms", times <= 2,
    )
    at_once = found["at_once"]
    table.add("200 searches at once", "no error", f"{at_once['errors']} errors", at_once["errors"] == 0, f"the slowest after {at_once['most'] / 1e3:.2f} s")
    if found["page"]:
        of_page(table, found["page"])
    lines = [
        "## Searches elsewhere", "", f"Medians over {found['calls']:,} calls in memory, of the columns that are asked: 100 calls, the newest first.", "",
        "| | last 6 digits | five fields, no index | bytes a call |", "|---|---|---|---|",
        f"| ringtap, all fields, by HTTP | {found['others']['ringtap']['digits_ms']:.1f} ms | {worst['warm_ms']:.0f} ms, all of them | {found['bytes'] / found['calls']:.0f} |",
    ]
    for name, what in [("duckdb", "DuckDB"), ("sqlite", "SQLite, indexes of the numbers from behind")]:
        if name in found["others"]:
            own = found["others"][name]
            lines.append(f"| {what} | {own['digits_ms']:.2f} ms | {own['worst_ms']:.0f} ms | {own['bytes'] / found['calls']:.0f} |")
    return "\n".join(lines)


def of_page(table, page):
    """The page in Chromium."""
    load, call, ladder = page["load"], page["call"], page["ladder"]
    table.add(
        "first load of the page: bytes sent, until it can be used", "<= 150 kB, <= 1 s",
        f"{load['bytes'] / 1024:.0f} kB, {load['usable_ms'] / 1e3:.2f} s", load["bytes"] <= 150 * 1024 and load["usable_ms"] <= 1_000,
    )
    ms = call["ladder_ms"] + call["media_ms"]
    table.add(
        f"a call of {call['legs']} legs and {call['streams']} streams: ladder and charts drawn", "<= 300 ms", f"{ms:.0f} ms", ms <= 300,
        f"{call['ladder_ms']:.0f} ms from the click on the call to its ladder, {call['media_ms']:.0f} ms from that on its tab to the charts",
    )
    table.add(
        f"a ladder of {ladder['messages']:,} messages, scrolled", ">= 60 frames/s", f"{ladder['frames_per_s']:.0f} frames/s",
        # A display of 60 Hz, measured by a clock of its own.
        ladder["frames_per_s"] >= 59.5, f"95 of 100 frames within {ladder['p95_ms']:.1f} ms, without a graphics processor",
    )
    sound = page["sound"]
    table.add(
        f"a call of {sound['seconds'] // 60} minutes from the spool: sound after the click", "<= 500 ms", f"{sound['ms']:.0f} ms", sound["ms"] <= 500,
        f"the slowest of {sound['calls']}, each for the first time: {sound['worst_ms']:.0f} ms",
    )


def under_way(bench, table, folder):
    """People who listen to calls in progress and look at them, beside a capture that may lose nothing."""
    options = ["--ringtap", bench.options.ringtap, "--programs", bench.options.programs, "--folder", str(folder)]
    found = script("under_way.py", *options)
    if found is None:
        print("    calls under way left out: they need root, namespaces and two processors", file=sys.stderr)
        return
    bench.outcomes["under_way"] = found
    heard, page = found["listeners"], found["page"]
    table.add(
        f"{heard['listeners']} people who listen to calls in progress at once", "no error, no packet lost",
        f"{heard['refused'] + heard['ended']} errors, {heard['lost']} packets lost", heard["refused"] + heard["ended"] + heard["lost"] == 0,
        f"the first sound of the slowest after {heard['first_ms'] / 1e3:.1f} s, the least heard in 20 s is {heard['least_s']:.1f} s",
    )
    if page:
        more = sum(page["beside"].values()) - sum(page["without"].values())
        table.add(
            f"the page Now over {page['calls']:,} calls under way: browser, daemon", "<= 10 % / 3 % of a core",
            f"{page['browser']:.1%} / {more:.1%}", page["browser"] <= 0.1 and more <= 0.03, "daemon and console together, beyond what they take without it",
        )


def interception(bench, table, folder):
    """Subscribers, targets, and the packets of targets."""
    programs = pathlib.Path(bench.options.programs)
    options = ["--ringtap", bench.options.ringtap, "--subscribers", str(programs / "subscribers"), "--svg", str(folder), "--folder", str(folder)]
    found = script("interception.py", *options)
    if found is None:
        print("    interception left out: it needs root, and freeradius, freeradius-utils, tcpreplay and wireshark-common", file=sys.stderr)
        return
    done = subprocess.run(["taskset", "-c", str(bench.options.core), str(programs / "targets")], stdout=subprocess.PIPE, text=True, check=True)
    found["engine"] = {count: float(ratio) for count, ratio in re.findall(r"(\d+) targets: ([\d.]+)", done.stdout)}
    bench.outcomes["interception"] = found
    followed, radius = found["followed"], found["radius"]
    table.add(
        f"sessions of {followed['users']:,} users, in a capture and in the database, against what FreeRADIUS gave", "0 differ",
        f"{followed['differ']} differ", followed["differ"] == 0, f"it let in {followed['users_per_s']['let in']:.0f} users/s",
    )
    for title, key, target in [
        ("packets of RADIUS inspected for 100,000 targets", "inspected_per_s", 2e6), ("the same, all sessions followed", "followed_per_s", 1e6),
        ("the same, authenticators checked", "checked_per_s", 5e5),
    ]:
        table.add(f"{title}, one core", f">= {short(target)}/s", f"{short(radius[key])}/s", radius[key] >= target)
    size = radius["bytes_per_session"] * radius["sessions"] / 1e6
    table.add(f"{radius['sessions']:,} sessions in memory", "<= 500 MB", f"{size:.0f} MB", size <= 500)
    for run in found["targets"]:
        wrong = run["missing"] + run["surplus"]
        table.add(
            f"{run['users_per_s']:g} targets a second that log on, and as many off, among {short(run['frames_per_s'])} packets/s",
            "0 of their packets missing, 0 too many", f"{run['missing']} and {run['surplus']} of {run['of_targets']:,}", wrong == 0,
            f"{run['recalled']:,} had passed before they were known to be the targets'; the ring dropped {run['ring_drops']}",
        )
    apart = found["apart"]
    wrong = apart["missing"] + apart["surplus"]
    table.add(
        f"the same with a probe that sees RADIUS and a sniffer that sees the packets, {apart['users_per_s']:g} a second", "0 missing, 0 too many",
        f"{apart['missing']} and {apart['surplus']} of {apart['of_targets']:,}", wrong == 0,
        f"changes applied within {apart['slowest_change_ms']:.1f} ms, the sniffer was told all {apart['told_all']} times",
    )
    for title, run, most in [("here", found["targets"][-1], 1), ("at a remote sniffer", apart, 20)]:
        table.add(
            f"from the packet that names an address until its packets are wanted, {title}", f"<= {most} ms",
            f"{run['activation_ms']:.1f} ms", run["activation_ms"] <= most, f"{run['slowest_activation_ms']:.1f} ms at most, of {run['activations']:,}",
        )
    for count, most in [("1", 1.01), ("10000", 1.02), ("1000000", 1.05)]:
        ratio = found["engine"][count]
        table.add(f"time of a packet with {int(count):,} targets to watch", f"<= {most} of that without", f"{ratio:.3f}", ratio <= most)


def keep(bench, table, comparison, began):
    """Prints the page, and stores it with the figures."""
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=False)
    dirty = subprocess.run(["git", "-C", str(HERE), "status", "--porcelain", "--untracked-files=no"], stdout=subprocess.PIPE, text=True, check=False)
    commit = (commit.stdout.strip() or "unknown") + ("-changed" if dirty.stdout.strip() else "")
    moment = datetime.datetime.now(datetime.timezone.utc)
    machine = bench.machine
    description = (
        f"{machine['processor']}, {machine['processors']} of its processors for this process, {os.cpu_count()} in all; "
        f"{', '.join(machine['caches'])}; {machine['memory'] / 1e9:.1f} GB; {machine['kernel']}; "
        f"load {began:.1f} before, {os.getloadavg()[0]:.1f} after"
    )
    page = "\n".join([
        f"# {moment:%Y-%m-%d %H:%M} UTC, commit {commit}", "", description, "",
        f"Medians of {bench.options.rounds} rounds, one core but for the rows that name two.", "", table.text(), "", comparison, "",
    ])
    print(page)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    name = f"{moment:%Y-%m-%d-%H%M}-{commit}"
    (results / f"{name}.md").write_text(page)
    data = {"time": moment.isoformat(), "commit": commit, "machine": machine, "load_before": began, "load_after": os.getloadavg()[0],
            "rounds": bench.options.rounds, "rows": table.rows, "outcomes": bench.outcomes}
    (results / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")
    print(f"kept: bench/results/{name}.md and .json", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--programs", default="target/release/examples", help="folder of the programs that live.py and the part `store` run")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--core", type=int, default=os.cpu_count() - 1)
    parser.add_argument("--live", type=int, default=60, help="seconds of the last run of each live row")
    parser.add_argument("--store", type=int, default=500_000, help="calls that the database is filled with")
    parser.add_argument("--console", type=int, default=1_000_000, help="calls that the console is searched for")
    parser.add_argument("--duckdb", default="target/duckdb/bin/python", help="a Python that has DuckDB; it is left out where there is none")
    parser.add_argument("--only", default="", help="parts, with commas between: " + ",".join(PARTS))
    options = parser.parse_args()
    parts = options.only.split(",") if options.only else PARTS
    folder = pathlib.Path("target/bench")
    folder.mkdir(parents=True, exist_ok=True)
    bench, table, began = Bench(options), Table(), os.getloadavg()[0]
    loop = media(bench, table) if "media" in parts else LOOP
    if "calls" in parts:
        calls(bench, table, loop)
    if "analyze" in parts:
        analyze(bench, table, folder)
        two_cores(bench, table, folder)
    if "sound" in parts:
        sound(bench, table)
    if "spool" in parts:
        spool(bench, table)
    if "store" in parts:
        store(bench, table, folder)
    elsewhere = console(bench, table, folder) if "console" in parts else ""
    if "under_way" in parts:
        under_way(bench, table, folder)
    if "interception" in parts:
        interception(bench, table, folder)
    if "live" in parts:
        live(bench, table)
    if "day" in parts:
        day(bench, table)
    comparison = elsewhere
    if "peers" in parts:
        print("... peers.py", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, str(HERE / "peers.py"), "--ringtap", options.ringtap], stdout=subprocess.PIPE, text=True, check=True
        )
        comparison = f"{elsewhere}\n\n## Beside other programs\n\n{done.stdout}"
    if bench.machine is None:
        bench.machine = {"processor": "?", "processors": os.cpu_count(), "caches": [], "memory": 0, "kernel": os.uname().release}
    keep(bench, table, comparison, began)


if __name__ == "__main__":
    main()
