"""What needs no console: the types, how answers are read, and what is refused before anything is sent."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import ringtap
from ringtap import models
from ringtap.errors import problem_of

HERE = Path(__file__).resolve().parent.parent
NEEDS_MYPY = unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed: make packages-test")


class Types(unittest.TestCase):
    def mypy(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, arguments)]
            return subprocess.run(command, capture_output=True, text=True, cwd=HERE)

    @NEEDS_MYPY
    def test_the_client_is_typed(self):
        done = self.mypy("ringtap")
        self.assertEqual(done.returncode, 0, done.stdout)

    @NEEDS_MYPY
    def test_what_the_console_does_not_know_is_an_error_of_types(self):
        right = ['client.list_calls(q="a", limit=5)', 'client.kpis(by="codec")', "client.call('a').call.mos"]
        wrong = {
            'client.list_calls(query="a")': "call-arg",
            'client.list_calls(limit="all")': "arg-type",
            'client.kpis(by="weekday")': "arg-type",
            "client.call('a').call.moss": "attr-defined",
            'models.NewPerson(name="a", role="guest", password="b")': "arg-type",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "asks.py"
            head = ["import ringtap", "from ringtap import models", 'client = ringtap.Client("https://a")']
            lines = [*head, *right, *wrong]
            path.write_text("\n".join(lines) + "\n")
            told = self.mypy(path).stdout
        errors = [line for line in told.splitlines() if ": error:" in line]
        self.assertEqual(len(errors), len(wrong), told)
        for number, (line, code) in enumerate(wrong.items(), len(lines) - len(wrong) + 1):
            self.assertTrue(any(f":{number}: " in error and f"[{code}]" in error for error in errors), (line, told))


class Answers(unittest.TestCase):
    COVERAGE = {"complete": True, "days": 1, "days_searched": 1, "looked_at": 5}

    def test_what_need_not_be_there_is_none_and_what_is_new_is_left_out(self):
        coverage = models.Coverage.from_json({**self.COVERAGE, "later_version": 1})
        self.assertEqual((coverage.looked_at, coverage.from_us), (5, None))
        self.assertEqual(coverage.to_json(), self.COVERAGE)

    def test_what_is_missing_is_said(self):
        with self.assertRaisesRegex(ringtap.RingtapError, "no `days`, which `Coverage` has"):
            models.Coverage.from_json({"complete": True, "days_searched": 1, "looked_at": 5})

    def test_an_error_without_a_document_is_one_all_the_same(self):
        problem = problem_of(503, None)
        self.assertIsInstance(problem, ringtap.Unavailable)
        self.assertEqual(str(problem), "status 503")
        self.assertEqual(problem_of(429, {"detail": "Wait."}, "30").retry_after, 30)
        self.assertEqual(str(problem_of(400, {"detail": "No.", "remedy": "yes"})), "No: yes")


class Addresses(unittest.TestCase):
    def test_what_is_no_console_is_refused(self):
        for url in ("tap.example.org", "ftp://a", "https://", "https://a/api"):
            self.assertRaisesRegex(ValueError, "no address of a console", ringtap.Client, url)
        self.assertRaisesRegex(ValueError, "64 hex digits", ringtap.Client, "https://a", fingerprint="ab:cd")

    def test_a_token_is_not_sent_in_clear(self):
        self.assertRaisesRegex(ValueError, "in clear", ringtap.Client, "http://tap.example.org", "rt_x")
        ringtap.Client("http://127.0.0.1:8443", "rt_x")

    def test_where_nobody_answers_is_said(self):
        # Port 1 of this machine: nobody listens there.
        with ringtap.Client("https://127.0.0.1:1") as client:
            with self.assertRaisesRegex(ringtap.Unreachable, "127.0.0.1:1 does not answer"):
                client.about()


if __name__ == "__main__":
    unittest.main()
