"""A real console for the tests: `ringtap run` records generated calls, `ringtap console serve` serves them."""

import hashlib
import json
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

PASSWORD = "another horse, another staple"
FIRST_PASSWORD = "correct horse battery staple"
RIGHTS = ["search", "signalling", "numbers", "listen", "export", "administer"]
#: When the generated calls begin. Some of them fail, and of the others some lose packets.
BEGAN = datetime.now(timezone.utc) - timedelta(hours=2)
CALLS = ["--calls", "40", "--rate", "4", "--hold", "5", "--codec", "PCMU", "--failed", "20%", "--seed", "7"]
#: How long anything may take that is waited for.
PATIENCE = 120


class Console:
    """Started by `with Console(program) as console`: `url`, `certificate` and `token(...)` are what a client needs."""

    def __init__(self, program):
        self.program = str(Path(program).resolve())
        self.folder = tempfile.TemporaryDirectory(prefix="ringtap-client-")
        self.dir = Path(self.folder.name)
        self.children = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("records", "outbox", "spool"):
            (self.dir / name).mkdir()
        begin = BEGAN.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.run("generate", "--out", self.dir / "past.pcap", "--start", begin, *CALLS)
        self.run("generate", "--out", self.dir / "live.pcap", "--calls", "6", "--rate", "4", "--hold", "900",
                 "--failed", "0%", "--cancelled", "0%", "--seed", "8")
        self.run("run", "-c", self.configure("past", '"max"'))
        self.spawn("run", "-c", self.configure("live", "1.0"))
        secret = self.dir / "password"
        secret.touch(mode=0o600)
        secret.write_text(f"{FIRST_PASSWORD}\n")
        self.run("console", "setup", "--name", "root", "--password-file", secret, "--people", self.dir / "people")
        options = ["--people", "people", "--store", "records", "--spool", "spool", "--control", "control"]
        paths = [self.dir / one if at % 2 else one for at, one in enumerate(options)]
        serving = self.spawn("console", "serve", "--listen", "127.0.0.1:0", *paths, stderr=subprocess.PIPE)
        said = next((line for line in serving.stderr if "https://" in line), None)
        if said is None:
            raise AssertionError("the console did not say where it is")
        # What it says later is read, so that it can go on saying it.
        threading.Thread(target=serving.stderr.read, daemon=True).start()
        self.url = "https://" + said.split("https://")[1].split()[0].rstrip("/")
        self.certificate = self.dir / "people" / "certificate.pem"
        self.cookie = self.log_in()
        until(lambda: self.ask("GET", "/live/calls")["total"] == 6)

    def stop(self):
        for child in self.children:
            child.kill()
            child.wait()
        self.folder.cleanup()

    def fingerprint(self):
        """That of its certificate, as openssl prints it."""
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.certificate.read_text())).hexdigest().upper()
        return "sha256 Fingerprint=" + ":".join(digest[at : at + 2] for at in range(0, 64, 2))

    def token(self, name, rights=RIGHTS):
        return self.ask("POST", "/tokens", {"name": name, "rights": list(rights), "days": 1})["token"]

    def ask(self, method, path, body=None):
        """An answer of the API, without the client that is tested."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Ringtap": "1", "Content-Type": "application/json", "Cookie": getattr(self, "cookie", "")}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers, method=method)
        with urllib.request.urlopen(request, context=self.context(), timeout=PATIENCE) as answer:
            self.answered = answer.headers
            return json.loads(answer.read() or "null")

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def log_in(self):
        self.ask("POST", "/session", {"name": "root", "password": FIRST_PASSWORD, "new_password": PASSWORD})
        return self.answered["Set-Cookie"].split(";")[0]

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"ringtap {arguments[0]} ended with {done.returncode}: {done.stderr}")

    def spawn(self, *arguments, stderr=subprocess.DEVNULL):
        command = [self.program, *map(str, arguments)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, text=True)
        self.children.append(child)
        return child

    def configure(self, name, speed):
        at = {one: json.dumps(str(self.dir / one)) for one in ("records", "outbox", "journal", "spool", "control")}
        path = self.dir / f"{name}.toml"
        path.write_text(
            f'[capture]\nfiles = ["{self.dir / name}.pcap"]\nspeed = {speed}\n[store]\ndirectory = {at["records"]}\n'
            f'outbox = {at["outbox"]}\n[journal]\npath = {at["journal"]}\n[metrics]\nlisten = ""\n'
            f'[spool]\ndirectory = {at["spool"]}\nage = "1s"\n[retention]\nfree = "0%"\n'
            f'[process]\ncontrol = {at["control"]}\n[[trunk]]\nname = "carrier-a"\naddresses = ["198.51.100.0/24"]\n'
        )
        return path


def until(holds):
    """Waits until it holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE} s in vain")
        time.sleep(0.1)
