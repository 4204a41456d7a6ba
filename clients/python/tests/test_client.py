"""The client on a real console."""

import contextlib
import csv
import io
import json
import os
import re
import tempfile
import textwrap
import unittest
import warnings
import wave
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from pathlib import Path
from unittest import mock

import ringtap
from ringtap import models

from .console import BEGAN, Console

HERE = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("RINGTAP")
NEEDS_PROGRAM = unittest.skipUnless(PROGRAM, "RINGTAP names no program")
try:
    import pandas
except ImportError:
    pandas = None
try:
    import pyarrow
    from pyarrow import parquet
except ImportError:
    pyarrow = None
#: How captures begin: pcap in microseconds and nanoseconds, pcapng.
CAPTURES = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
TOKYO = timezone(timedelta(hours=9))
NEEDS_PANDAS = unittest.skipUnless(pandas, "pandas is not installed: make packages-test")
NEEDS_PYARROW = unittest.skipUnless(pyarrow, "pyarrow is not installed: make packages-test")


@NEEDS_PROGRAM
class OnAConsole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.console = cls.enterClassContext(Console(PROGRAM))
        cls.token = cls.console.token("client")
        cls.client = cls.enterClassContext(
            ringtap.Client(cls.console.url, cls.token, fingerprint=cls.console.fingerprint())
        )
        # Without the client: what it has to find.
        cls.expected = cls.console.ask("GET", "/calls?limit=1000")["calls"]

    def setUp(self):
        self.files = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call_with_sound(self):
        return next(call for call in self.client.calls() if call.state == "completed" and call.recorded == "full")

    def test_a_search_has_all_calls_of_all_pages_in_order(self):
        calls = self.client.calls()
        with Pages(self.client, of=7) as pages:
            found = [call.id for call in calls]
        self.assertEqual(found, [call["id"] for call in self.expected])
        self.assertEqual(len(found), 40)
        self.assertEqual(pages.asked, 6)
        self.assertTrue(calls.coverage.complete)
        self.assertEqual(calls.understood, "all calls")

    def test_a_search_finds_what_its_text_says(self):
        failed = list(self.client.calls("state:failed"))
        expected = {one["id"] for one in self.expected if one["state"] == "failed"}
        self.assertEqual({call.id for call in failed}, expected)
        self.assertTrue(failed)
        number = failed[0].from_user
        found = list(self.client.calls(f"from:*{number[-6:]}"))
        self.assertEqual({call.from_user for call in found}, {number})
        self.assertEqual(list(self.client.calls("from:000111222333")), [])
        self.assertIsNone(self.client.calls("from:000111222333").first())

    def test_a_search_ends_at_its_limit_and_keeps_its_order(self):
        with warnings.catch_warnings():
            # More is there, and was not asked for: nothing to warn of.
            warnings.simplefilter("error")
            first = [call.id for call in self.client.calls(limit=3)]
            self.assertEqual(first, [one["id"] for one in self.expected[:3]])
            longest = [call.duration_ms or 0 for call in self.client.calls("state:completed", sort="-dur")]
        self.assertEqual(longest, sorted(longest, reverse=True))

    def test_times_of_a_search_are_those_of_the_zone(self):
        # The hour in which all calls began, as a clock in Tokyo shows it.
        pinned = self.console.fingerprint()
        with ringtap.Client(self.console.url, self.token, fingerprint=pinned, zone="Asia/Tokyo") as zoned:
            before = BEGAN.astimezone(TOKYO) - timedelta(minutes=1)
            q = f'began>"{before:%Y-%m-%d %H:%M:%S}"'
            self.assertEqual(len(list(zoned.calls(q))), 40)
            self.assertEqual(len(list(self.client.calls(q))), 0)

    def test_a_call_is_what_its_answer_says(self):
        call = self.call_with_sound()
        given = self.console.ask("GET", f"/calls/{call.id}")
        details = self.client.call(call)
        self.assertIsInstance(details.streams[0], models.Stream)
        self.assertEqual(details.sentences, given["sentences"])
        # What need not be there, and is null, is left out when it is written.
        self.assertEqual(given["packets"].pop("reason"), None)
        # A token does not reach as far as the person that it belongs to.
        self.assertEqual((details.rights.hold, given["rights"].pop("hold")), (False, True))
        written = json.loads(json.dumps(details.to_json()))
        written["rights"].pop("hold")
        self.assertEqual(written, given)
        self.assertEqual([leg.id for leg in self.client.legs(call.id)], [leg["id"] for leg in given["legs"]])
        ladder = self.client.ladder(call)
        self.assertEqual([message.method for message in ladder.messages][0], "INVITE")
        # `from` is a word of Python.
        first = self.console.ask("GET", f"/calls/{call.id}/ladder")["messages"][0]
        self.assertEqual(ladder.messages[0].from_, first["from"])

    def test_files_are_saved_whole(self):
        call = self.call_with_sound()
        path = self.files / "call.wav"
        self.assertEqual(self.client.wav(call, path), path.stat().st_size)
        with wave.open(str(path)) as sound:
            self.assertEqual(sound.getnchannels(), 2)
            self.assertGreater(sound.getnframes() / sound.getframerate(), 4)
        packets = io.BytesIO()
        self.client.pcap(call.id, packets)
        self.assertIn(packets.getvalue()[:4], CAPTURES)
        self.client.svg(call, self.files / "call.svg")
        self.assertIn("INVITE", (self.files / "call.svg").read_text())
        self.client.export("state:failed", self.files / "calls.jsonl", "jsonl")
        lines = (self.files / "calls.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["state"] for line in lines], ["failed"] * len(lines))
        self.assertTrue(lines)

    @NEEDS_PYARROW
    def test_parquet_has_every_value_of_the_csv(self):
        for ending in ("csv", "parquet"):
            self.client.export("", self.files / f"calls.{ending}", ending)
        table = parquet.read_table(self.files / "calls.parquet")
        with (self.files / "calls.csv").open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual(table.column_names, list(rows[0]))
        self.assertEqual(table.num_rows, len(self.expected))
        for name in table.column_names:
            for value, cell in zip(table.column(name), (row[name] for row in rows), strict=True):
                self.assertEqual(as_csv(value), cell, name)
        types = {field.name: str(field.type) for field in table.schema}
        kinds = {"invite_us": "timestamp[us, tz=UTC]", "final_code": "int64", "mos": "double", "state": "string"}
        self.assertEqual({name: types[name] for name in kinds}, kinds)
        units = json.loads(table.schema.metadata[b"ringtap.units"])
        self.assertEqual((units["pdd_ms"], units["capture_drops"]), ("ms", "packets"))

    def test_a_file_that_is_not_to_be_had_leaves_nothing(self):
        path = self.files / "none.wav"
        with self.assertRaises(ringtap.NotFound):
            self.client.wav("0" * 32, path)
        self.assertEqual(list(self.files.iterdir()), [])

    def test_what_happens_now_comes_as_events(self):
        states = []
        with self.client.live() as events:
            for state in events:
                states.append(state)
                if len(states) == 2:
                    break
        self.assertEqual([state.calls.active for state in states], [6, 6])
        self.assertGreater(states[1].now_us, states[0].now_us)
        self.assertEqual(len(self.client.list_live_calls().calls), 6)

    def test_sums_are_those_of_the_calls(self):
        answered = sum(1 for one in self.expected if one["answer_us"] is not None)
        summary = self.client.summary(facets="state")
        self.assertEqual((summary.calls, summary.answered), (40, answered))
        states = {one.value: one.calls for one in summary.facets["state"]}
        self.assertEqual(states["failed"], len(list(self.client.calls("state:failed"))))
        kpis = self.client.kpis(figures="answered,asr")
        self.assertEqual(kpis.groups[0].attempts, 40)
        self.assertEqual(kpis.groups[0].figures["answered"]["value"], answered)

    def test_a_problem_says_what_is_wrong_and_what_would_be_right(self):
        with self.assertRaises(ringtap.Problem) as raised:
            list(self.client.calls("state:failled"))
        problem = raised.exception
        self.assertEqual((problem.status, problem.column, problem.length), (400, 7, 7))
        self.assertIn("`failled` is no value of `state`", str(problem))
        self.assertIn("failed", problem.remedy)
        self.assertIn(problem.remedy, str(problem))

    def test_several_threads_may_ask_at_once(self):
        ids = [one["id"] for one in self.expected]
        with ThreadPoolExecutor(8) as pool:
            found = [details.call.id for details in pool.map(self.client.call, ids)]
        self.assertEqual(found, ids)

    def test_rights_are_those_of_the_token(self):
        narrow = self.console.token("narrow", rights=["search"])
        with ringtap.Client(self.console.url, narrow, fingerprint=self.console.fingerprint()) as client:
            numbers = [call.from_user for call in client.calls(limit=5)]
            self.assertTrue(all(number.startswith("~") for number in numbers), numbers)
            with self.assertRaises(ringtap.Forbidden) as raised:
                client.wav(self.call_with_sound(), io.BytesIO())
        self.assertEqual(raised.exception.right, "listen")
        with ringtap.Client(self.console.url, "rt_wrong", fingerprint=self.console.fingerprint()) as client:
            self.assertRaises(ringtap.NotLoggedIn, client.about)

    def test_another_certificate_is_told_nothing(self):
        other = "00" * 32
        with ringtap.Client(self.console.url, self.token, fingerprint=other) as client:
            with self.assertRaises(ringtap.WrongCertificate) as raised:
                client.about()
        own = self.console.fingerprint().partition("=")[2].replace(":", "").lower()
        self.assertIn(own, str(raised.exception))
        # It is not one that this machine trusts, unless its file is given.
        with ringtap.Client(self.console.url, self.token) as client:
            self.assertRaises(ringtap.WrongCertificate, client.about)
        with ringtap.Client(self.console.url, self.token, ca_file=self.console.certificate) as client:
            self.assertEqual(client.show_session().user, "root")

    def test_the_token_may_be_left_to_the_environment(self):
        with mock.patch.dict(os.environ, {"RINGTAP_TOKEN": self.token}):
            client = ringtap.Client(self.console.url, ca_file=self.console.certificate)
        with client:
            self.assertEqual(client.show_session().user, "root")

    def test_what_is_changed_is_changed(self):
        made = self.client.add_person(models.NewPerson(name="eva", role="viewer", password="a long enough password"))
        self.assertEqual((made.name, made.role, made.disabled), ("eva", "viewer", False))
        changed = self.client.change_person("eva", models.PersonChanges(disabled=True))
        self.assertEqual((changed.role, changed.disabled), ("viewer", True))
        with self.assertRaises(ringtap.NotPossible):
            self.client.add_person(models.NewPerson(name="eva", role="viewer", password="a long enough password"))

    @NEEDS_PANDAS
    def test_a_frame_has_the_calls_with_times_and_numbers(self):
        frame = self.client.calls().to_frame()
        self.assertEqual(list(frame["id"]), [one["id"] for one in self.expected])
        self.assertEqual(set(frame.columns), set(self.expected[0]))
        self.assertEqual(str(frame["invite_us"].dtype), "datetime64[us, UTC]")
        self.assertEqual(int(frame["invite_us"].iloc[0].timestamp() * 1e6), self.expected[0]["invite_us"])
        # NaN where there is no MOS, which a mean leaves out.
        known = [one["mos"] for one in self.expected if one["mos"] is not None]
        self.assertLess(len(known), 40)
        self.assertAlmostEqual(frame["mos"].mean(), sum(known) / len(known))
        self.assertTrue(frame.attrs["coverage"].complete)
        empty = self.client.calls("from:000111222333").to_frame()
        self.assertEqual((len(empty), list(empty.columns)), (0, list(frame.columns)))

    @NEEDS_PANDAS
    def test_frames_of_kpis_and_streams(self):
        whole = self.client.kpis().to_frame()
        self.assertEqual((len(whole), whole["attempts"].iloc[0]), (1, 40))
        hours = self.client.kpis("total", every="minute").to_frame()
        self.assertEqual(hours["attempts"].sum(), 40)
        self.assertEqual(str(hours["at_us"].dtype), "datetime64[us, UTC]")
        streams = ringtap.to_frame(self.client.call(self.call_with_sound()).streams)
        self.assertEqual(set(streams["direction"]), {"caller_to_callee", "callee_to_caller"})
        self.assertEqual(str(streams["packets"].dtype), "Int64")

    @NEEDS_PANDAS
    def test_the_notebook_runs(self):
        notebook = json.loads((HERE / "first-look.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 5)
        environment = {
            "RINGTAP": self.console.url,
            "RINGTAP_TOKEN": self.token,
            "RINGTAP_FINGERPRINT": self.console.fingerprint(),
        }
        with mock.patch.dict(os.environ, environment):
            said = self.run_in_order("first-look.ipynb", cells)
        self.assertIn("the caller hung up", said)
        self.assertTrue((self.files / "call.wav").is_file())

    @NEEDS_PANDAS
    def test_the_manual_does_what_it_says(self):
        text = (HERE.parent.parent / "docs" / "manual" / "python.md").read_text()
        blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)]
        blocks = [block for block in blocks if not block.lstrip().startswith(("pip ", "openssl "))]
        self.assertGreater(len(blocks), 5)
        whole = "\n".join(blocks)
        self.assertNotIn("pip install", whole)
        for written, ours in {
            "https://127.0.0.1:8443": self.console.url,
            "rt_...": self.token,
            "AB:CD:...": self.console.fingerprint(),
        }.items():
            self.assertIn(written, whole)
            blocks = [block.replace(written, ours) for block in blocks]
        said = self.run_in_order("docs/manual/python.md", blocks)
        self.assertIn("at column 7", said)
        for name in ("call.pcapng", "call.wav", "call.svg", "failed.csv"):
            self.assertGreater((self.files / name).stat().st_size, 100, name)

    def run_in_order(self, name, blocks):
        """Runs pieces of a program one after the other, in a folder of their own; what they print."""
        names = {}
        with contextlib.chdir(self.files), contextlib.redirect_stdout(io.StringIO()) as said:
            for number, block in enumerate(blocks, 1):
                try:
                    exec(compile(block, f"<{number} of {name}>", "exec"), names)
                except Exception as error:
                    self.fail(f"{name}, piece {number}: {error!r}\n{block}")
        names["client"].close()
        return said.getvalue()


def as_csv(value):
    """A value of Parquet as a CSV has it."""
    if value.as_py() is None:
        return ""
    if pyarrow.types.is_timestamp(value.type):
        return str(value.value)
    if pyarrow.types.is_floating(value.type):
        return repr(value.as_py())
    return str(value.as_py())


class Pages:
    """Has a client ask for pages of a few calls, and counts them."""

    def __init__(self, client, of):
        self.transport, self.of, self.asked = client._transport, of, 0

    def __enter__(self):
        whole = self.transport.plain

        def plain(method, path, query):
            self.asked += 1
            return whole(method, path, query={**query, "limit": self.of})

        self.transport.plain = plain
        return self

    def __exit__(self, *_):
        del self.transport.plain


if __name__ == "__main__":
    unittest.main()
