#!/usr/bin/env python3
"""Compares what ringtap says of calls with what tshark finds in the same captures.

For each call of the captures named, prints its sentence and what does not fit it: times of INVITE, answer and release, the final
code, who hung up, and the share of packets lost. tshark knows nothing of our records; the rules are written a second time here.
Ends with 1 if anything does not fit.
"""

import argparse
import json
import re
import subprocess
import sys

FIELDS = ["frame.time_epoch", "sip.Call-ID", "sip.Method", "sip.Status-Code", "sip.CSeq.method", "sip.CSeq.seq", "sip.from.tag"]


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")


def messages(tshark, path):
    """SIP messages by Call-ID, in order of time."""
    columns = [part for field in FIELDS for part in ("-e", field)]
    calls = {}
    text = output(tshark, "-n", "-r", path, "-Y", "sip && !icmp", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=\x1f", *columns)
    for line in text.splitlines():
        columns = [column.split("\x1f") for column in line.split("\t")]
        for index in range(len(columns[1])):
            value = lambda column: (column + [""] * 9)[index] if len(columns[1]) > 1 else column[0]
            time, call_id, method, code, cseq, number, tag = (value(column) for column in columns)
            calls.setdefault(call_id, []).append((float(time or columns[0][0]), method, code, cseq, number, tag))
    return calls


def lost_shares(tshark, path):
    """Loss of each RTP stream in percent, as tshark counts it."""
    text = output(tshark, "-n", "-q", "-o", "rtp.heuristic_rtp:TRUE", "-r", path, "-z", "rtp,streams")
    return [float(share) for share in re.findall(r"\((-?[0-9.]+)%\)", text)]


def span(text):
    """Seconds of `4.0 s`, `708 ms`, `1:17` or `1:02:03`, and how exact that is."""
    if text.endswith(" ms"):
        return float(text[:-3]) / 1e3, 0.002
    if text.endswith(" s"):
        return float(text[:-2]), 0.06
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds), 0.6


SPAN = r"([0-9.]+ m?s|[0-9]+(?::[0-9]{2})+)"


def wrong(sentence, seen, shares):
    """What of the sentence does not fit the messages."""
    first = lambda rule: next((message for message in seen if rule(*message)), None)
    invite = first(lambda _, method, *rest: method == "INVITE")
    answer = first(lambda _, method, code, cseq, *rest: code.startswith("2") and cseq == "INVITE")
    bye = first(lambda _, method, *rest: method == "BYE")
    found = []

    def compare(name, pattern, begin, end):
        told = re.search(pattern, sentence)
        if not told:
            return
        if begin is None or end is None:
            found.append(f"{name}: tshark sees no such message")
            return
        value, exact = span(told.group(1))
        if abs(end[0] - begin[0] - value) > exact:
            found.append(f"{name}: told {told.group(1)}, tshark has {end[0] - begin[0]:.3f} s")

    compare("answer", f"Answered after {SPAN}", invite, answer)
    if sentence.startswith("Answered") and answer is None:
        found.append("no answer in tshark's list")
    if "hung up" in sentence:
        compare("length", f", {SPAN} long", answer, bye)
        side = "caller" if bye and invite and bye[5] == invite[5] else "callee"
        if f"the {side} hung up" not in sentence:
            found.append(f"by tshark the {side} hung up")
    failed = re.search(r"^(?:Failed|Redirected)[^.]*? with (\d{3})", sentence)
    if failed:
        finals = [code for _, _, code, cseq, _, _ in seen if cseq == "INVITE" and code >= "300"]
        if failed.group(1) not in finals[-1:] and failed.group(1) not in finals:
            found.append(f"code: told {failed.group(1)}, tshark has {finals}")
    if sentence.startswith("Given up by the caller") and not first(lambda _, method, *rest: method == "CANCEL"):
        found.append("tshark sees no CANCEL")
    for told in re.findall(r"([0-9.]+) % lost", sentence):
        if not any(abs(float(told) - share) <= 0.06 + 0.01 * share for share in shares):
            found.append(f"loss: told {told} %, tshark has {shares}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--tshark", default="tshark")
    parser.add_argument("captures", nargs="+")
    options = parser.parse_args()
    checked = bad = 0
    for path in options.captures:
        seen, shares = messages(options.tshark, path), lost_shares(options.tshark, path)
        records = [json.loads(line) for line in output(options.ringtap, "analyze", "--format", "jsonl", path).splitlines()]
        for call in (record for record in records if record["type"] == "call"):
            told = output(options.ringtap, "call", "--color", "never", call["id"], path).split("\n  Record")[0]
            sentence = " ".join(told.splitlines()[1:])
            checked += 1
            faults = wrong(sentence, seen.get(call["call_id"], []), shares)
            bad += bool(faults)
            print(f"{path.rsplit('/', 1)[-1]}: {sentence}")
            for fault in faults:
                print(f"    DOES NOT FIT: {fault}")
    print(f"{checked} calls, {bad} with something that does not fit")
    sys.exit(1 if bad or not checked else 0)


if __name__ == "__main__":
    main()
