"""What failover.py keeps of its runs, without a platform: python3 -m unittest discover platform/tests."""

import argparse
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "here"), str(HERE.parent)]

import failover  # noqa: E402
import nodes  # noqa: E402
from measures import Wrong, causes_of  # noqa: E402


class Causes(unittest.TestCase):
    """What ringtap may say of a run whose address was silent for these times, of which it tells these as outages."""

    def test_moved(self):
        self.assertEqual(causes_of(True, [], [], [], []), [{"address_moved"}])
        self.assertEqual(causes_of(True, [1.4], [1.4], [1.4], []), [{"proxy_lost"}])
        self.assertEqual(causes_of(True, [0.45], [], [], []), [{"proxy_lost"}, {"address_moved"}])
        # It may be that of the move, or another one; not both.
        self.assertEqual(causes_of(True, [0.56], [], [0.56], []), [{"proxy_lost"}, {"address_moved"}, {"address_moved", "pbx_lost"}])
        self.assertEqual(causes_of(True, [1.4, 0.6], [1.4], [1.4, 0.6], []), [{"proxy_lost"}, {"proxy_lost", "pbx_lost"}])
        self.assertIn({"proxy_lost", "refusing"}, causes_of(True, [1.4], [1.4], [1.4], ["one", "two", "three"]))

    def test_stays(self):
        self.assertEqual(causes_of(False, [], [], [], []), [set()])
        self.assertEqual(causes_of(False, [0.45], [], [], []), [set()])
        self.assertEqual(causes_of(False, [0.53], [], [0.53], []), [{"pbx_lost"}])
        self.assertEqual(causes_of(False, [6.0], [6.0], [6.0], []), [{"pbx_lost"}])


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.options = argparse.Namespace(results=self.folder / "runs.jsonl", calls=10, rate=20, ringtap=Path("ringtap"))
        self.printed = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def run_of(self, **behaviour):
        """`one` with a run that behaves so; what did not hold."""
        run = mock.Mock()
        run.make.return_value = {"kind": "moved", "established": 10, "rate": 20, "service": 0.2512345, "calls": 130, "failed": 0}
        run.configure_mock(**behaviour)
        with mock.patch.object(failover, "Run", return_value=run), mock.patch.object(failover.checks, "wait") as wait:
            wrong = failover.one(self.folder, "moved", self.options)
        self.waited = wait.called
        return wrong

    def kept(self):
        return failover.results(self.folder, self.options)

    def test_a_run_that_holds_is_kept_in_milliseconds(self):
        self.assertEqual(self.run_of(), [])
        self.assertEqual([each["service"] for each in self.kept()], [0.251])

    def test_what_did_not_hold_is_a_run_and_its_packets_are_set_aside(self):
        (self.folder / "runs/moved-wrong").mkdir(parents=True)
        (self.folder / "runs/moved-wrong/of-before").touch()
        wrong, = self.run_of(**{"make.side_effect": Wrong("a call was lost")})
        self.assertIn("moved: a call was lost", wrong)
        self.assertEqual([each["wrong"] for each in self.kept()], ["a call was lost"])
        self.assertTrue(self.waited, "the next run begins on a platform that is whole")
        self.assertFalse((self.folder / "runs/moved").exists())
        self.assertEqual(list((self.folder / "runs/moved-wrong").iterdir()), [])
        failover.table(self.kept())
        self.assertIn("1, 1 wrong", self.printed.getvalue())

    def test_packets_of_the_slowest_run_stay(self):
        for user, pending, slowest in ((1.5, 0.2, 1.5), (1.4, None, 1.5), (0.5, 1.7, 1.7), (1.7, 1.7, 1.7)):
            def make(_, user=user, pending=pending):
                (self.folder / "runs/moved/run.pcap").write_text(str(max(user, pending or 0)))
                return {"kind": "moved", "established": 10, "rate": 20, "user": user, "pending": pending}
            self.run_of(**{"make.side_effect": make})
            self.assertEqual((self.folder / "runs/moved-slowest/run.pcap").read_text(), str(slowest))
        self.run_of(**{"make.side_effect": Wrong("a call was lost")})
        self.assertTrue((self.folder / "runs/moved-slowest").exists())

    def test_what_comes_back_wrong_is_kept_too(self):
        wrong, = self.run_of(**{"restore.side_effect": nodes.Failure("a PBX holds calls")})
        self.assertIn("a PBX holds calls", wrong)
        self.assertEqual(len(self.kept()), 1)

    def test_runs_of_another_configuration_and_half_a_line_are_not_counted(self):
        self.run_of()
        with mock.patch.object(failover, "configuration", return_value="another"):
            self.run_of()
        with open(self.options.results, "a") as file:
            file.write('{"kind": "moved", "establ')
        self.assertEqual(len(self.kept()), 1)
        self.run_of()
        self.assertEqual(len(self.kept()), 2, "the line after half a line")
        self.options.calls = 300
        self.assertEqual(self.kept(), [])


if __name__ == "__main__":
    unittest.main()
