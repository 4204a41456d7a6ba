#!/usr/bin/env python3
"""The console: how fast searches answer over a filled database, alone, at once and beside a writer; the same searches by
DuckDB and by SQLite on the same calls; and how fast the page is in Chromium.

Fills a database with the example `fill`, serves it with `ringtap console serve`, and asks over HTTP as a program does, with a
token. Cold is with nothing of the database in the page cache and a console that was just started. Prints one JSON object.

  bench/console.py --calls 1000000 --days 1
  bench/console.py --calls 10000000 --days 10      # the targets' size: 12 GB for the database, 5 for the comparison
"""

import argparse
import contextlib
import csv
import http.client
import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PASSWORD = "correct horse battery staple"
RIGHTS = ["search", "numbers", "signalling", "listen", "export"]
# How long anything may take that is waited for.
PATIENCE = 600
# Several fields, none of them with an index, and few calls: every record of every day has to be looked at.
WORST = "ua:t46s pdd>3 dur>4m mosworst<4.2 retrans>0"
WORST_SQL = (
    "(user_agent_caller LIKE '%T46S%' OR user_agent_callee LIKE '%T46S%') AND pdd_ms > 3000 AND duration_ms > 240000 "
    "AND mos_worst_interval < 4.2 AND retransmissions > 0"
)
COLUMNS = {
    "id": "TEXT", "from_user": "TEXT", "to_user": "TEXT", "state": "TEXT", "final_code": "INTEGER", "invite_us": "BIGINT",
    "pdd_ms": "DOUBLE", "duration_ms": "DOUBLE", "retransmissions": "INTEGER", "user_agent_caller": "TEXT",
    "user_agent_callee": "TEXT", "mos_worst_interval": "DOUBLE",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--programs", default="target/release/examples", help="the folder of the example `fill`")
    parser.add_argument("--folder", default="target/bench", help="where the database is made, and removed again")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=0, help="a million calls a day unless it is given")
    parser.add_argument("--writer", type=int, default=500_000, help="calls that are written beside the searches")
    parser.add_argument("--keep", action="store_true", help="keep the database, and use one that is there")
    options = parser.parse_args()
    options.days = options.days or max(1, options.calls // 1_000_000)
    if shutil.disk_usage(pathlib.Path(options.folder).parent).free < options.calls * 2_200 + 2e9:
        print(f"bench/console.py: no room for {options.calls:,} calls on the disk of {options.folder}", file=sys.stderr)
        sys.exit(77)
    with Bench(options) as bench:
        print(json.dumps(bench.measure()))


class Bench:
    """A filled database and the console on it."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder).resolve() / "console"
        self.store = self.folder / f"{options.calls}-in-{options.days}"
        self.server = None

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.store.exists():
            part = self.store.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            self.fill(part, self.options.calls, self.options.days)
            part.rename(self.store)
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.stop()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def measure(self):
        with self.serving() as server:
            digits = self.some_digits(server)
        found = {"calls": self.options.calls, "days": self.options.days, "bytes": size(self.store)}
        say("the last six digits of a number")
        found["digits"] = self.digits(digits)
        say("a search without an index")
        found["worst"] = self.worst()
        say("200 searches at once")
        found["at_once"] = self.at_once(digits)
        say("50 people, and a writer")
        found["people"] = self.people(digits)
        say("the page in Chromium")
        found["page"] = self.page()
        say("DuckDB and SQLite")
        found["others"] = self.others(digits[:20])
        return found

    def serving(self):
        self.server = Server(self.options.ringtap, self.folder / "people", self.store)
        return contextlib.closing(self.server)

    def fill(self, folder, calls, days):
        """Writes calls. The example's own figures."""
        say(f"writing {calls:,} calls")
        command = [str(pathlib.Path(self.options.programs) / "fill"), str(folder), "--calls", str(calls), "--days", str(days)]
        done = subprocess.run([*command, "--no-search"], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.decode()}")
        return json.loads(done.stdout)

    def some_digits(self, server):
        """Last six digits of numbers that calls of each day have, always the same ones."""
        dice = random.Random(1)
        cover = server.get("/calls", limit=1)["coverage"]
        found = []
        while len(found) < 300:
            at = dice.randrange(cover["from_us"], cover["until_us"]) // 1_000_000
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
            for call in server.get("/calls", q=f'began<"{moment}"', limit=20)["calls"]:
                found.append(dice.choice([call["from_user"], call["to_user"]])[-6:])
        dice.shuffle(found)
        return found

    def digits(self, digits):
        cold = []
        for at in range(5):
            forget(self.store)
            with self.serving() as server:
                cold.append(server.search(f"number:*{digits[at]}"))
        with self.serving() as server:
            for one in digits[100:]:
                server.search(f"number:*{one}")
            warm = [server.search(f"number:*{one}") for one in digits[100:]]
            hits = [hit["calls"] for hit in warm]
        return {"warm_ms": times(warm), "cold_ms": times(cold), "calls": statistics.mean(hits), "searches": len(warm)}

    def worst(self):
        forget(self.store)
        with self.serving() as server:
            cold = server.export(WORST)
            warm = [server.export(WORST) for _ in range(3)]
            sorted_ms = server.search(WORST, sort="-pdd")["ms"]
            cancelled = [self.cancelled(server) for _ in range(5)]
        return {
            "calls": warm[0]["calls"], "cold_ms": cold["ms"], "cold_first_ms": cold["first_ms"],
            "warm_ms": statistics.median(one["ms"] for one in warm),
            "warm_first_ms": statistics.median(one["first_ms"] for one in warm),
            "sorted_ms": sorted_ms, "cancelled_ms": statistics.median(cancelled),
        }

    def cancelled(self, server):
        """How long two scans, which is as many as run at once, go on after their connections were closed."""
        # Nothing has a pdd of an hour: they go on to the end.
        running = [server.begin("/calls/export", q="pdd>3600 ua:t46s", format="jsonl") for _ in range(2)]
        time.sleep(0.1)
        for connection in running:
            connection.close()
        closed = time.monotonic()
        # Idle again: less than a millisecond of processor time in ten.
        while True:
            before, began = server.process_time(), time.monotonic()
            time.sleep(0.01)
            if server.process_time() - before < 1e6:
                return (began - closed) * 1e3
            if time.monotonic() > closed + PATIENCE:
                sys.exit("bench/console.py: a search goes on although nobody reads it")

    def at_once(self, digits):
        """Errors of 200 searches that begin together, and the slowest."""
        with self.serving() as server:
            server.search(f"number:*{digits[0]}")
            gate = threading.Barrier(200)

            def ask(one):
                gate.wait()
                return server.search(f"number:*{one}")

            answers = in_threads(ask, digits[:200])
        return {"errors": sum("error" in one for one in answers), **times([one for one in answers if "ms" in one])}

    def people(self, digits):
        """Fifty people who search and think for ten seconds, and a writer in the same machine: each alone, then both."""
        with self.serving() as server:
            for one in digits:
                server.search(f"number:*{one}")
            alone = self.written()
            quiet = self.searching(server, digits, threading.Event(), seconds=30)
            stop = threading.Event()
            beside = {}
            thread = threading.Thread(target=lambda: beside.update(self.searching(server, digits, stop, seconds=PATIENCE)))
            thread.start()
            together = self.written()
            stop.set()
            thread.join()
        return {"writer_alone": alone, "writer_beside": together, "alone": quiet, "beside": beside}

    def written(self):
        """Calls a second of the writer, into a database of its own on the same disk."""
        folder = self.folder / "writer"
        shutil.rmtree(folder, ignore_errors=True)
        found = self.fill(folder, self.options.writer, 1)
        shutil.rmtree(folder)
        return found["calls_per_s"]

    def searching(self, server, digits, stop, seconds):
        answers, end = [], time.monotonic() + seconds

        def person(number):
            dice = random.Random(number)
            # They did not all begin this second.
            pause = dice.uniform(0, 10)
            while not stop.wait(min(pause, max(0, end - time.monotonic()))) and time.monotonic() < end:
                answers.append(server.search(f"number:*{dice.choice(digits)}"))
                pause = dice.uniform(5, 15)

        in_threads(person, range(50))
        return {"errors": sum("error" in one for one in answers), **times([one for one in answers if "ms" in one])}

    def page(self):
        """What web/browser/speed.js measures; None where there is no Chromium, or the page's packages are missing."""
        web = pathlib.Path(__file__).resolve().parent.parent / "web"
        if not (web / "node_modules").exists() or not shutil.which("node"):
            say("left out: no node, or no web/node_modules (tools/page)")
            return None
        environment = {**os.environ, "RINGTAP": str(pathlib.Path(self.options.ringtap).resolve())}
        command = ["node", "browser/speed.js"]
        done = subprocess.run(command, cwd=web, env=environment, stdout=subprocess.PIPE, check=False, text=True)
        if done.returncode == 77:
            return None
        if done.returncode != 0:
            sys.exit(f"web/browser/speed.js ended with {done.returncode}")
        return json.loads(done.stdout)

    def others(self, digits):
        """The same two searches elsewhere, on the same calls: milliseconds, and whether as many calls were found."""
        exported = self.folder / "calls.csv"
        with self.serving() as server:
            server.save(exported)
            expected = [server.search(f"number:*{one}")["calls"] for one in digits]
            worst = server.export(WORST)["calls"]
            own = {"digits_ms": times([server.search(f"number:*{one}") for one in digits])["median"]}
        found = {"ringtap": own}
        with contextlib.suppress(ImportError):
            found["duckdb"] = beside(Duck(self.folder, exported), digits, expected, worst)
        found["sqlite"] = beside(Lite(self.folder, exported), digits, expected, worst)
        exported.unlink()
        return found


class Server:
    """`ringtap console serve` on a database, and a token for it."""

    def __init__(self, program, people, store, daemon=("--control", "/nonexistent")):
        """`daemon`: the arguments that name its socket and its spool."""
        if not people.exists():
            with tempfile.NamedTemporaryFile("w", suffix=".password") as secret:
                secret.write(PASSWORD + "\n")
                secret.flush()
                subprocess.run(
                    [program, "console", "setup", "--name", "bench", "--password-file", secret.name, "--people", people],
                    check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
        command = [program, "console", "serve", "--plain-http", "--listen", "127.0.0.1:0", "--search-time", "600"]
        self.process = subprocess.Popen(
            [*command, "--people", people, "--store", store, *daemon],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        said = next((line for line in self.process.stderr if "http://" in line), None)
        if said is None:
            sys.exit(f"{' '.join(map(str, command))} did not say where it is")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.host = urllib.parse.urlsplit(said.split()[-1]).netloc
        self.local = threading.local()
        self.headers = {"X-Ringtap": "1", "Content-Type": "application/json"}
        self.token(people)

    def token(self, people):
        kept = people / "bench-token"
        if not kept.exists():
            login = {"name": "bench", "password": PASSWORD, "new_password": PASSWORD + "."}
            connection = self.connection()
            connection.request("POST", "/api/v1/session", json.dumps(login), self.headers)
            answer = connection.getresponse()
            answer.read()
            headers = {**self.headers, "Cookie": answer.getheader("Set-Cookie", "").split(";")[0]}
            made = json.dumps({"name": "bench", "rights": RIGHTS, "days": 1})
            connection.request("POST", "/api/v1/tokens", made, headers)
            kept.write_text(json.loads(connection.getresponse().read())["token"])
        self.headers["Authorization"] = f"Bearer {kept.read_text()}"

    def close(self):
        self.stop()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def connection(self):
        """One for each thread, which stays open."""
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        return self.local.connection

    def get(self, path, **query):
        connection = self.connection()
        connection.request("GET", f"/api/v1{path}?{urllib.parse.urlencode(query)}", headers=self.headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body.decode()}")
        return json.loads(body)

    def search(self, q, **query):
        """A page of 100 calls: milliseconds from the request to the last byte of the answer."""
        began = time.monotonic()
        try:
            answer = self.get("/calls", q=q, limit=100, **query)
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            return {"error": str(error)}
        ms = (time.monotonic() - began) * 1e3
        return {"ms": ms, "took_ms": answer["took_ms"], "calls": len(answer["calls"])}

    def begin(self, path, **query):
        """A request whose answer nobody has read yet."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        connection.request("GET", f"/api/v1{path}?{urllib.parse.urlencode(query)}", headers=self.headers)
        return connection

    def export(self, q):
        """All calls of a search: when the first came, and when the last."""
        began = time.monotonic()
        answer = self.begin("/calls/export", q=q, format="jsonl").getresponse()
        first, calls = None, 0
        for _ in answer:
            calls += 1
            first = first or time.monotonic()
        end = time.monotonic()
        return {"ms": (end - began) * 1e3, "first_ms": ((first or end) - began) * 1e3, "calls": calls}

    def save(self, path):
        """All calls as CSV, of the columns that are compared."""
        answer = self.begin("/calls/export", format="csv").getresponse()
        lines = csv.reader(line.decode() for line in answer)
        header = next(lines)
        places = [header.index(name) for name in COLUMNS]
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([line[place] for place in places] for line in lines)

    def process_time(self):
        """Processor time of all its threads, in nanoseconds."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            # A thread may end meanwhile.
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total


class Duck:
    """DuckDB, with what it does on its own: columns with minima and maxima, all processors."""

    def __init__(self, folder, exported):
        import duckdb

        self.path = folder / "calls.duckdb"
        self.path.unlink(missing_ok=True)
        self.db = duckdb.connect(str(self.path))
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
        self.db.execute(f"CREATE TABLE calls AS SELECT * FROM read_csv('{exported}', header=false, columns={{{columns}}})")
        self.db.execute("CHECKPOINT")

    def number(self, digits):
        return self.rows(f"from_user LIKE '%{digits}' OR to_user LIKE '%{digits}'")

    def rows(self, where):
        return self.db.execute(f"SELECT * FROM calls WHERE {where} ORDER BY invite_us DESC LIMIT 100").fetchall()

    def close(self):
        self.db.close()


class Lite:
    """SQLite, with the indexes that a person would give it for these searches: the numbers from behind, and the time."""

    def __init__(self, folder, exported):
        import sqlite3

        self.path = folder / "calls.sqlite"
        self.path.unlink(missing_ok=True)
        self.db = sqlite3.connect(self.path)
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self.db.execute(f"CREATE TABLE calls ({columns}, from_behind TEXT, to_behind TEXT)")
        marks = ", ".join("?" * (len(COLUMNS) + 2))
        names = list(COLUMNS)
        with exported.open(newline="") as file:
            rows = (
                [*(value or None for value in row), row[names.index("from_user")][::-1], row[names.index("to_user")][::-1]]
                for row in csv.reader(file)
            )
            while part := list(itertools.islice(rows, 50_000)):
                self.db.executemany(f"INSERT INTO calls VALUES ({marks})", part)
        for column in ("from_behind", "to_behind", "invite_us"):
            self.db.execute(f"CREATE INDEX by_{column} ON calls ({column})")
        self.db.commit()
        self.db.execute("ANALYZE")
        self.db.execute("PRAGMA mmap_size = 100000000000")

    def number(self, digits):
        low, high = digits[::-1], digits[::-1] + ":"
        found = self.db.execute(
            "SELECT * FROM calls WHERE rowid IN (SELECT rowid FROM calls WHERE from_behind >= ?1 AND from_behind < ?2 "
            "UNION SELECT rowid FROM calls WHERE to_behind >= ?1 AND to_behind < ?2) ORDER BY invite_us DESC LIMIT 100",
            (low, high),
        )
        return found.fetchall()

    def rows(self, where):
        # Sorted behind the scan: the index of the time would read each row at another place.
        return self.db.execute(f"SELECT * FROM calls WHERE {where} ORDER BY +invite_us DESC LIMIT 100").fetchall()

    def close(self):
        self.db.close()


def beside(other, digits, expected, worst):
    """Median milliseconds of the two searches, with the file in memory. It has to find what ringtap found."""
    try:
        found = [len(other.number(one)) for one in digits]
        if found != expected:
            sys.exit(f"bench/console.py: {type(other).__name__} finds {found} calls, ringtap {expected}")
        digits_ms = [timed(lambda one=one: other.number(one)) for one in digits]
        # One hundred are listed of however many there are.
        if len(other.rows(WORST_SQL)) != min(worst, 100):
            sys.exit(f"bench/console.py: {type(other).__name__} finds other calls for `{WORST}` than ringtap: {worst}")
        worst_ms = [timed(lambda: other.rows(WORST_SQL)) for _ in range(5)]
    finally:
        other.close()
    bytes_used = other.path.stat().st_size
    other.path.unlink()
    return {
        "digits_ms": statistics.median(digits_ms), "worst_ms": statistics.median(worst_ms), "bytes": bytes_used,
    }


def timed(action):
    began = time.monotonic()
    action()
    return (time.monotonic() - began) * 1e3


def in_threads(action, things):
    """What the action gives for each thing, in a thread for each."""
    found = []
    threads = [threading.Thread(target=lambda one=one: found.append(action(one))) for one in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def times(answers):
    """Of the milliseconds of searches."""
    wrong = [one["error"] for one in answers if "error" in one]
    if wrong:
        sys.exit(f"bench/console.py: {len(wrong)} searches failed, such as: {wrong[0]}")
    all_ms = sorted(one["ms"] for one in answers)
    return {
        "median": statistics.median(all_ms), "p95": all_ms[int(0.95 * (len(all_ms) - 1))], "most": all_ms[-1],
        "server_median": statistics.median(one["took_ms"] for one in answers), "count": len(all_ms),
    }


def forget(folder):
    """Takes the files of a database out of the page cache."""
    os.sync()
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def size(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def say(text):
    print(f"... {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
