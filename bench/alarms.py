#!/usr/bin/env python3
"""Raises and clears three alarms in the running daemon, and checks who was told: a webhook, an SMTP server and an Alertmanager, which this
script plays on loopback.

Three captures follow each other in time: a minute without fault, a minute in which three times as many calls begin, most fail and 5 % of the
packets are lost, and two minutes without fault. `ringtap run` replays them, faster than they were; then `ringtap alarms --replay` judges the
same captures, and the records that the daemon stored, and must find the same alarms. Ends within two minutes.

    bench/alarms.py [RINGTAP]      default: target/release/ringtap
"""

import email
import email.policy
import http.server
import json
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

SPEED = 20
START = "2026-11-21T02:{}:00Z"
# Seconds after which it gives up.
PATIENCE = 120
PHASES = [
    ("good", START.format("00"), ["--calls", "120", "--rate", "2", "--failed", "0%", "--loss", "none"]),
    ("bad", START.format("01"), ["--calls", "360", "--rate", "6", "--failed", "80%", "--loss", "bernoulli:5%"]),
    ("after", START.format("02"), ["--calls", "240", "--rate", "2", "--failed", "0%", "--loss", "none"]),
]
USUAL = ["--hold", "15", "--cancelled", "0%", "--challenged", "0%"]
RULES = """
[[alarm]]
name = "loss"
severity = "critical"
figure = "loss_pct"
over = "20s"
minimum = 20
above = 2
clear = 1

[[alarm]]
name = "few answers"
figure = "asr"
over = "30s"
minimum = 10
below = 60
clear = 80

[[alarm]]
name = "burst"
severity = "info"
figure = "begun"
over = "20s"
above = 80
clear = 60
"""
NAMES = {"loss", "few answers", "burst"}


class Web(http.server.BaseHTTPRequestHandler):
    """A webhook, or an Alertmanager by its path."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/v2/alerts":
            self.server.alerts.extend(body)
        else:
            self.server.notices.append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Mail(socketserver.StreamRequestHandler):
    """As much of a mail server as one needs to receive mail (RFC 5321)."""

    def handle(self):
        say = lambda line: self.wfile.write(line.encode() + b"\r\n")
        say("220 mail.example.org ESMTP")
        while line := self.rfile.readline():
            verb = line.split(b" ")[0].strip().upper()
            if verb == b"EHLO":
                say("250 mail.example.org")
            elif verb == b"DATA":
                say("354 go on")
                data = b""
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    data += text[1:] if text.startswith(b".") else text
                self.server.mails.append(email.message_from_bytes(data, policy=email.policy.default))
                say("250 OK")
            elif verb == b"QUIT":
                say("221 bye")
                return
            else:
                say("250 OK")


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def wanted(check):
    """Whether it is so before patience ends."""
    end = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def configuration(folder, files, web, mail):
    quoted = ", ".join(f'"{file}"' for file in files)
    return f"""
[capture]
files = [{quoted}]
speed = {SPEED}.0
[store]
directory = "{folder}/records"
outbox = "{folder}/outbox"
[journal]
path = "{folder}/journal"
[process]
control = "{folder}/control"
[metrics]
listen = ""
[alarms]
host = "sensor-1"
{RULES}
[[notify]]
name = "hook"
kind = "webhook"
url = "http://127.0.0.1:{web}/hook"
[[notify]]
name = "alertmanager"
kind = "alertmanager"
url = "http://127.0.0.1:{web}"
[[notify]]
name = "mail"
kind = "smtp"
server = "127.0.0.1"
port = {mail}
tls = "none"
from = "ringtap@example.org"
to = ["noc@example.org"]
"""


def main():
    ringtap = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/ringtap").resolve()
    if not ringtap.exists():
        sys.exit(f"{ringtap} is not there: make build")
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    web.notices, web.alerts = [], []
    mail = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)
    mail.mails = []
    with tempfile.TemporaryDirectory(prefix="ringtap-alarms.") as folder:
        os.chmod(folder, 0o755)
        files = []
        for seed, (name, start, options) in enumerate(PHASES, 1):
            files.append(f"{folder}/{name}.pcap")
            run(ringtap, "generate", "--out", files[-1], "--start", start, "--seed", str(seed), *USUAL, *options)
        config = pathlib.Path(folder, "ringtap.toml")
        config.write_text(configuration(folder, files, serve(web), serve(mail)))
        daemon = subprocess.Popen([ringtap, "run", "-c", config], stderr=subprocess.PIPE, text=True)
        log = []
        reader = threading.Thread(target=lambda: log.extend(daemon.stderr), daemon=True)
        reader.start()
        try:
            whole = lambda: len(web.notices) >= 6 and len(mail.mails) >= 6 and cleared(web.alerts) == NAMES
            came = wanted(lambda: whole() or daemon.poll() is not None) and (time.sleep(1) or whole())
        finally:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)
            reader.join(5)
        told = [line.strip() for line in log if " alarm" in line]
        print("\n".join(told))
        wrong = [] if came else [f"not everybody was told; the log:\n{''.join(log)}"]
        wrong += check(web, mail)
        wrong += replayed(ringtap, config, files, folder)
    print(f"webhook: {len(web.notices)} notices; mail: {len(mail.mails)}; Alertmanager: {len(web.alerts)} alerts of {sorted(cleared(web.alerts))}")
    if wrong:
        sys.exit("WRONG: " + "\nWRONG: ".join(wrong))
    print("three alarms were raised and cleared, and everybody was told")


def cleared(alerts):
    return {alert["labels"]["rule"] for alert in alerts if alert.get("endsAt")}


def check(web, mail):
    wrong = []
    by_kind = lambda kind: sorted(notice["rule"] for notice in map(flat, web.notices) if notice["kind"] == kind)
    for kind in ("raised", "cleared"):
        if by_kind(kind) != sorted(NAMES):
            wrong.append(f"the webhook was told of {by_kind(kind)} as {kind}")
    for notice in map(flat, web.notices):
        if notice["host"] != "sensor-1" or not notice["text"]:
            wrong.append(f"a notice without host or text: {notice}")
        if notice["kind"] == "raised" and notice["rule"] != "burst" and not notice["calls"]:
            wrong.append(f"a notice without a call: {notice}")
    threads = {}
    for message in mail.mails:
        threads.setdefault(message["In-Reply-To"] or message["Message-ID"], []).append(message["Subject"])
    if sorted(map(len, threads.values())) != [2, 2, 2]:
        wrong.append(f"mails: {threads}")
    started = {alert["labels"]["rule"] for alert in web.alerts if not alert.get("endsAt")}
    if started != NAMES:
        wrong.append(f"Alertmanager was told of {started}")
    return wrong


def flat(notice):
    """The alarm may be an object of its own."""
    return notice | notice.get("alarm", {})


def replayed(ringtap, config, files, folder):
    """What a replay finds: of the captures, and of the stored records."""
    wrong = []
    for name, arguments in [("captures", files), ("records", ["--store", f"{folder}/records"])]:
        out = run(ringtap, "alarms", "--replay", "--config", config, "--format", "jsonl", *arguments)
        alarms = [json.loads(line) for line in out.splitlines()]
        print(f"replay of {name}: " + "; ".join(f"{alarm['rule']}: {alarm['text']}" for alarm in alarms))
        if sorted(alarm["rule"] for alarm in alarms) != sorted(NAMES) or any(alarm["cleared_us"] is None for alarm in alarms):
            wrong.append(f"the replay of the {name} found {alarms}")
    stored = [json.loads(line) for line in run(ringtap, "alarms", "--store", f"{folder}/records", "--format", "jsonl").splitlines()]
    if sorted(alarm["rule"] for alarm in stored) != sorted(NAMES) or any(alarm["cleared_us"] is None for alarm in stored):
        wrong.append(f"the database has {stored}")
    return wrong


main()
