"""What load.py makes of what SIPp, rtpengine and Asterisk say, and its search, without a platform: python3 -m unittest discover platform/tests."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "here")]

import figure13  # noqa: E402
import generator  # noqa: E402
import load  # noqa: E402
import nodes  # noqa: E402
import quotas  # noqa: E402
import search  # noqa: E402
import watch  # noqa: E402

# Columns as SIPp 3.6.1 names them, those that are read and some of the others, and times as it writes them.
HEADER = ("StartTime;LastResetTime;CurrentTime;ElapsedTime(C);TargetRate;CallRate(C);TotalCallCreated;CurrentCall;SuccessfulCall(C);FailedCall(C);"
          "FailedMaxUDPRetrans(C);Retransmissions(P);Retransmissions(C);WatchdogMajor(C);WatchdogMinor(C);CallLength(C);\n")


def stamp(second):
    return f"2026-11-26\t22:17:{second:02}.564638\t{1795731400 + second}.564638"


def line(second, created, active, good, bad, again):
    return (f"{stamp(0)};{stamp(second)};{stamp(second)};00:00:{second:02};5;0.15;{created};{active};{good};{bad};{bad};0;{again};0;0;"
            "00:00:00:000000;\n")


# 10 calls a second for four seconds, no more than 20 at once; the last end at 7 s.
WHOLE = (line(1, 10, 10, 0, 0, 0), line(2, 20, 20, 0, 0, 0), line(3, 30, 20, 10, 0, 1), line(4, 40, 20, 19, 1, 2), line(5, 40, 10, 29, 1, 2),
         line(7, 40, 0, 38, 2, 5))


class Statistics(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "statistics.csv"
            path.write_text(text)
            return generator.statistics(path)

    def test_run(self):
        counted = generator.Counted.of(self.read(HEADER + "".join(WHOLE)))
        self.assertEqual(counted, generator.Counted(rate=10.0, generated=40, active=17.5, successful=38, failed=2, retransmissions=5))

    def test_line_that_is_not_finished(self):
        self.assertEqual(len(self.read(HEADER + "".join(WHOLE)[:-8])), len(WHOLE) - 1)

    def test_ended_before_its_calls(self):
        with self.assertRaisesRegex(generator.Unusable, "began 40 calls, of which 29 succeeded and 1 failed"):
            generator.Counted.of(self.read(HEADER + "".join(WHOLE[:5])))

    def test_nothing(self):
        for text in ("", HEADER, HEADER + line(1, 0, 0, 0, 0, 0)):
            with self.assertRaises(generator.Unusable):
                generator.Counted.of(self.read(text))

    def test_several_processes(self):
        one = generator.Counted(10.0, 40, 17.5, 38, 2, 5)
        self.assertEqual(generator.Counted.sum([one, one, one]), generator.Counted(30.0, 120, 52.5, 114, 6, 15))


class Search(unittest.TestCase):
    def found(self, carries, first):
        return search.in_turn({"it": search.highest(first, 2000)}, lambda _, rate, attempt: carries(rate, attempt))["it"]

    def test_finds_it(self):
        for true in (*range(0, 200), 333, 999, 1000, 1001, 1999, 2000, 5000):
            for first in (1, 20, 150):
                tried = []
                found = self.found(lambda rate, _: tried.append(rate) or rate <= true, first)
                self.assertLessEqual(found, min(true, 2000))
                self.assertGreaterEqual(found + max(1, 0.05 * found), min(true, 2000), f"{true} from {first}")
                self.assertLess(len(tried), 40)
                self.assertLessEqual(max(tried), 2000)

    def test_one_hiccup(self):
        tried = set()

        def carries(rate, attempt):
            hiccup = rate not in tried
            tried.add(rate)
            return rate <= 100 and not hiccup
        self.assertGreaterEqual(self.found(carries, 20), 95)

    def test_in_turn(self):
        true, tried = {"one": 45, "platform": 300}, []
        found = search.in_turn({name: search.highest(20, 2000) for name in true}, lambda name, rate, _: tried.append(name) or rate <= true[name])
        self.assertEqual({name: true[name] >= rate >= 0.95 * true[name] - 1 for name, rate in found.items()}, {"one": True, "platform": True})
        fewest = 2 * min(map(tried.count, true))
        self.assertEqual(tried[:fewest], ["one", "platform"] * (fewest // 2))


class Results(unittest.TestCase):
    def platform(self, folder, duration=20, cpu=None, rate=None, results=None):
        return load.Platform(types.SimpleNamespace(folder=Path(folder), ringtap=Path("ringtap"), duration=duration, rate=rate, cpu=cpu or {},
                                                   results=results))

    def test_resumed(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(load, "configuration", lambda folder: "one"):
            platform = self.platform(folder)
            platform.keep("one-1", {"failed": 1})
            platform.keep("highest", {"step": [1, "one", 20, 1], "failed": 0})
            with open(Path(folder) / "load.jsonl", "a") as file:
                file.write(json.dumps({**platform.key("one-1"), "failed": 2})[:-9])
            self.assertEqual([each["failed"] for each in platform.found("one-1")], [1])
            self.assertEqual(platform.found("highest"), [])
            self.assertEqual(len(platform.found("highest", [1, "one", 20, 1])), 1)
            self.assertEqual(platform.found("highest", [1, "platform", 20, 1]), [])
            self.assertEqual(platform.found("highest", [2, "one", 20, 1]), [])
            self.assertEqual(platform.key("steady")["asked"], 0)
            for highest in (60, 110, 100):
                platform.keep("highest", {"one": 50, "platform": highest})
            self.assertEqual(platform.key("steady")["asked"], 90)
            self.assertEqual(self.platform(folder, rate=42).key("steady")["asked"], 42)
            for other in (self.platform(folder, duration=30), self.platform(folder, cpu={"pbx": 0.5})):
                self.assertEqual(other.found("one-1"), [])
            with mock.patch.object(load, "configuration", lambda folder: "another"):
                self.assertEqual(self.platform(folder).found("one-1"), [])
            elsewhere = self.platform(folder, results=Path(folder) / "kept.jsonl")
            self.assertEqual(elsewhere.found("one-1"), [])
            elsewhere.keep("one-1", {"failed": 3})
            self.assertEqual([each["failed"] for each in elsewhere.found("one-1")], [3])
            self.assertEqual([each["failed"] for each in platform.found("one-1")], [1])

    def test_targets(self):
        good = {"failed": 0, "generated": 1000, "retransmissions": 10, "events": [], "silent": 0}
        for name, wrong in (("media", {"failed": 1}), ("media", {"silent": 1}), ("registrations", {"failed": 1}),
                            ("registrations", {"retransmissions": 11}), ("steady", {"events": ["proxy1 was fenced"]})):
            self.assertEqual(list(load.missed(name, [good])), [])
            self.assertEqual(len(list(load.missed(name, [good, {**good, **wrong}]))), 1, (name, wrong))

    def test_carried(self):
        good = {"failed": 1, "generated": 10000, "rate": 99.0, "events": []}
        self.assertTrue(load.carried(100, good))
        for wrong in ({"failed": 2}, {"generated": 9999}, {"rate": 94.0}, {"events": ["pbx failed on pbx1"]}):
            self.assertFalse(load.carried(100, {**good, **wrong}), wrong)

    def test_processor_time_of_a_call(self):
        figures = {"processors": {"proxy1": 0.5, "pbx1": 0.1, "pbx2": 0.14}, "successful": 4800}
        self.assertAlmostEqual(load.a_call(figures, 60), 3.0)
        self.assertAlmostEqual(load.a_call({**figures, "successful": 0}, 60), 14400)

    def test_ratio(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(load, "configuration", lambda folder: "one"):
            platform = self.platform(folder)
            for each, count in (((40, 80), 0), ((40, 40), 1), ((0, 0), 1)):
                platform.keep("highest", dict(zip(load.SEARCHED, each)))
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(len(load.table(platform, ("highest",))), count, each)
                    self.assertEqual(load.table(platform, ("media",)), [])

    def test_spread(self):
        values = list(range(1, 101))
        self.assertEqual(load.spread(values), "50.50 / 95 / 100")
        self.assertEqual(load.spread(values, lowest=True), "50.50 / 6 / 1")

    def test_shares(self):
        self.assertEqual(load.shares("pbx=0.3 proxy=1"), {"pbx": 0.3, "proxy": 1.0})
        for text in ("pbx", "pbx=much", "pbx=0", "pbx=-1", "pbx=nan", "arbiter=0.5"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=text):
                load.shares(text)


class Quotas(unittest.TestCase):
    def test_mounts(self):
        text = ("tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /c/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /c/cpuset cgroup rw,cpuset 0 0\n"
                "cgroup2 /c/u cgroup2 rw 0 0\n")
        with mock.patch.object(Path, "read_text", lambda _: text):
            self.assertEqual(quotas.mounted("cgroup", "cpu"), Path("/c/cpu,cpuacct"))
            self.assertEqual(quotas.mounted("cgroup2", None), Path("/c/u"))
            self.assertIsNone(quotas.mounted("cgroup", "io"))

    def test_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit, pids in (("init.scope", "1\n"), ("system.slice/asterisk.service", "2\n3\n"), ("system.slice/corosync.service", "4\n")):
                path = Path(folder) / f"{nodes.PREFIX}pbx1" / unit
                path.mkdir(parents=True)
                (path / "cgroup.procs").write_text(pids)
            with mock.patch.object(quotas, "mounted", lambda *_: Path(folder)):
                self.assertEqual(quotas.processes("pbx1"), {1, 2, 3})
                self.assertEqual(quotas.processes("pbx2"), set())


class Told(unittest.TestCase):
    def test_rtpengine(self):
        text = (" Total managed sessions                          :5\n Total relayed packets                           :1200\n"
                " Total number of streams with no relayed packets :3\n Total number of 1-way streams                   :2\n")
        for what, count in (("relayed packets", 1200), ("streams with no relayed packets", 3), ("1-way streams", 2)):
            self.assertEqual(watch.totalled(text, what), count)
        with self.assertRaises(nodes.Failure):
            watch.totalled("nothing", "1-way streams")

    def test_asterisk(self):
        for text, told in (("2 active calls\n7 calls processed\n", (2, 7)), ("1 active call\n1 call processed\n", (1, 1)),
                           ("Unable to connect", None)):
            with mock.patch.object(nodes.Node, "ask", lambda *_, text=text: types.SimpleNamespace(stdout=text)):
                self.assertEqual(watch.calls("folder", "pbx1"), told)


class Figure13(unittest.TestCase):
    def test_table_and_picture(self):
        samples = [{"seconds": float(each), "pbxs": {"pbx1": (each % 3, each), "pbx2": (1, 2 * each)}} for each in range(5)]
        with tempfile.TemporaryDirectory() as folder:
            figure13.write_table(Path(folder) / "table.csv", samples, ("pbx1", "pbx2"))
            self.assertEqual((Path(folder) / "table.csv").read_text().splitlines()[:2],
                             ["seconds,pbx1_active,pbx2_active,pbx1_processed,pbx2_processed", "0.0,0,1,0,0"])
            figure13.write_picture(Path(folder) / "picture.svg", samples, ("pbx1", "pbx2"), "mixed")
            lines = tree.parse(Path(folder) / "picture.svg").getroot().findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual([len(each.get("points").split()) for each in lines], [5] * 4)

    def test_nothing_yet(self):
        with tempfile.TemporaryDirectory() as folder:
            figure13.write_picture(Path(folder) / "picture.svg", [{"seconds": 0.0, "pbxs": {"pbx1": (0, 0)}}], ("pbx1",), "none")


if __name__ == "__main__":
    unittest.main()
