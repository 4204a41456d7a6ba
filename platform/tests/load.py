#!/usr/bin/env python3
"""Load tests: load.py --ringtap PROGRAM [--duration SECONDS] [--runs N] [--cpu 'pbx=0.1 proxy=0.7'] [TEST...]. The platform is up before.

Calls without sound and registrations at the rates of a paper, beside its figures; the highest rates without a limit of active calls; calls
with sound; and whether anything fails over that should not. Results are kept in the folder of the platform, so a later command makes the
missing runs only, also after one that was interrupted; those of another configuration, duration or limit of processors are not counted.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import signal
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "here"))

import capture  # noqa: E402
import checks  # noqa: E402
import failover  # noqa: E402
import figure13  # noqa: E402
import generator  # noqa: E402
import nodes  # noqa: E402
import quotas  # noqa: E402
import search  # noqa: E402
import telephones  # noqa: E402
import watch  # noqa: E402

HOUR = 3600


@dataclasses.dataclass(frozen=True)
class Test:
    """What is asked for: calls or registrations a second, how many at once, how long each call is in seconds, and for how long. Through the
    proxies, or `direct`: one PBX without them, as the paper's table IX. Then the paper's runs: rate, generated, active, successful,
    failed, retransmissions; None is a misprint or not told."""

    rate: int
    active: int = generator.MANY
    lengths: tuple = (6,)
    seconds: int = HOUR
    scenario: str = "call"
    how: str = "load"
    paper: tuple = ()

    @property
    def direct(self):
        return self.scenario == "direct"

    def told(self):
        """As the tables name it."""
        active = f"/{self.active}" if self.active != generator.MANY else ""
        length = "" if self.scenario == "register" else f"/{'..'.join(str(each) for each in sorted({min(self.lengths), max(self.lengths)}))}"
        return f"{self.rate}{active}{length}"


TESTS = {
    # ringtap's count of calls beside SIPp's.
    "watched": Test(20, seconds=30, how="watched"),
    # Tables IV, IX and X.
    "one-1": Test(175, 1000, (6,), scenario="direct", paper=((142.42, 512733, 998.33, 512730, 3, 0), (142.42, 512731, 998.37, 512726, 5, 0))),
    "one-2": Test(200, 1000, (5,), scenario="direct", paper=((166.00, 597613, 997.79, None, 3, 0), (165.97, 597530, 997.79, 597522, 8, 0))),
    "one-3": Test(200, 1200, (5,), scenario="direct",
                  paper=((197.70, 307064, 509.27, 98073, 207796, 23530), (199.10, 717763, 1197.62, 717658, 105, 104))),
    "one-4": Test(200, 1200, (6,), scenario="direct", paper=((170.86, 615960, 1199.04, 615859, 101, 0), (170.85, 615953, 1198.83, 615830, 123, 2))),
    "platform-1": Test(300, 2000, (6,), paper=((284.75, 1025107, 1997.58, 1025091, 16, 0), (284.80, 1025314, 1997.66, 1024246, 1068, 34))),
    "platform-2": Test(300, 2000, (7,), paper=((249.34, 897640, 1997.66, 897626, 14, 13), (248.77, 897573, 1997.75, 897562, 11, 58))),
    "platform-3": Test(350, 2000, (5,), 1200, paper=((345.76, 418292, 344.20, 53614, 364574, 29308), (346.87, 420175, 268.00, 59533, 360638, 33832))),
    "platform-4": Test(350, 2000, (6,), paper=((284.87, 1025566, 1998.33, 1025001, 565, 0), (284.76, 1025162, 1998.79, 1025143, 19, 4))),
    # Tables V and XI.
    "register-500": Test(500, scenario="register", paper=((498.81, 1795733, None, None, 0, 72855), (498.86, 1795932, None, None, 0, 71952))),
    "register-750": Test(750, scenario="register", paper=((748.15, 2693403, None, None, 18, 232129), (748.29, 2693882, None, None, 0, 174833))),
    "register-1000": Test(1000, scenario="register", paper=((996.05, 3585832, None, None, 1, 301450), (995.23, 3582895, None, None, 8, 275637))),
    # Figure 13 once more: calls as long as they come.
    "mixed": Test(300, 2000, (1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6)),
    # The highest rates without a limit of active calls, and how much more two PBXs carry than one. A minute finds rates that do not hold for three.
    "highest": Test(20, seconds=180, how="highest"),
    "media": Test(60, 300, (5,), 334, how="media"),
    "registrations": Test(1000, seconds=600, scenario="register"),
    "steady": Test(0, how="steady"),
}
# Of calls, how many may fail at the highest rate; and how near a rate has to come to what was asked for.
FAILED, REACHED = 0.0001, 0.95
# How much more two PBXs carry than one: the paper's, and what is aimed at.
PAPER_RATIO, RATIO = "1.75 to 2.0", 1.8
# What is searched for: by name, the scenario, and where the search begins, as a multiple of a rate.
SEARCHED = {"one": ("direct", 1), "platform": ("call", 2)}
# Of registrations, how many messages may be repeated.
REPEATED = 0.01
# No search goes beyond; SIPp would be what gives out.
MOST = 2000
STEADY = 0.9
MEDIA_CALLS, MEDIA_PROCESSES = 20_000, 6
# The port of SIPp where it stands in for a proxy, whose own is 5060.
STAND_IN = 5080
COLUMNS = tuple(field.name for field in dataclasses.fields(generator.Counted))


class Platform:
    """The platform under load, with how long the tests are to last, and what its nodes may use."""

    def __init__(self, options):
        self.folder, self.ringtap = options.folder.resolve(), options.ringtap.resolve()
        self.results = options.results or self.folder / "load.jsonl"
        self.duration, self.rate, self.cpu = options.duration, options.rate, options.cpu
        self.shares = {name: share for kind, share in options.cpu.items() for name in nodes.NODES if quotas.kind(name) == kind}

    def seconds(self, name):
        return self.duration or TESTS[name].seconds

    def key(self, name):
        """What a result has to agree in to be one of this test."""
        return {"test": name, "seconds": self.seconds(name), "cpu": self.cpu, "configuration": configuration(self.folder),
                **({"asked": self.steady_rate()} if name == "steady" else {})}

    def found(self, name, step=None):
        """The runs of a test, or the steps of a search, that earlier commands made. A line that a command was killed at is none."""
        key, found = self.key(name), []
        for line in self.results.read_text().splitlines() if self.results.exists() else ():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [each for each in found if key.items() <= each.items() and each.get("step") == step]

    def keep(self, name, figures):
        """On the disk before the next run begins."""
        with open(self.results, "a+") as file:
            # What a command that was killed has left of a line stays a line of its own.
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            file.write(("" if file.read() in ("", "\n") else "\n") + json.dumps({**self.key(name), **figures}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def settle(self):
        """Everything works and no call is left: what an overload broke is whole again."""
        nodes.Node(self.folder, "arbiter").ask("crm_resource", "--cleanup")
        checks.wait(self.folder)
        nodes.wait(lambda: all((watch.calls(self.folder, name) or (1,))[0] == 0 for name in checks.PBXS), "PBXs hold calls that ended", 1)
        # Proxies go on counting calls that an overload broke off, for hours, and give the PBX that had more of them fewer: they begin anew.
        for name in checks.PROXIES:
            nodes.Node(self.folder, name)("kamcmd", "dispatcher.reload")
        checks.wait(self.folder)

    def load(self, name, test, seconds, where):
        """One load; what was counted and seen of it."""
        around, target, sources, port = telephones.INSIDE, capture.VIRTUAL, generator.SOURCES, generator.PORT
        if test.direct:
            # PBXs accept calls from the proxies alone: SIPp takes the place of the one that has not got the address.
            stand_in = next(each for each in checks.PROXIES if each != checks.owner(self.folder))
            around = ["nsenter", f"--net=/run/netns/{nodes.PREFIX}{stand_in}"]
            target, sources, port = nodes.address(failover.PBX), [nodes.address(stand_in)], STAND_IN

        def begin():
            yield generator.Load(self.folder, where, test.scenario, target, test.rate, seconds, test.active, test.lengths, sources, around, port)
        return self.measure(begin, seconds, where, name if test.scenario == "call" else None)

    def measure(self, begin, seconds, where, figure=None):
        """What was counted and seen of a load, whose processes `begin` starts one after the other; a picture of the PBXs' calls if it has a name."""
        with quotas.limits(self.folder, self.shares) as limits, watch.Watch(self.folder, max(1, seconds / 360), limits) as watched:
            loads = []
            try:
                for each in begin():
                    loads.append(each)
                counted = generator.Counted.sum([each.wait() for each in loads])
            finally:
                for each in loads:
                    each.stop()
        if figure:
            figure13.write_table(where / "figure13.csv", watched.samples, checks.PBXS)
            figure13.write_picture(where / "figure13.svg", watched.samples, checks.PBXS, figure)
        return {**dataclasses.asdict(counted), **watched.figures()}

    def run(self, name, number):
        """One run of a test; its figures."""
        where = self.folder / "load" / name / str(number)
        where.mkdir(parents=True, exist_ok=True)
        return {"load": self.plain, "watched": self.watched, "highest": self.highest, "media": self.media, "steady": self.steady}[
            TESTS[name].how](name, where)

    def plain(self, name, where):
        return self.load(name, TESTS[name], self.seconds(name), where)

    def watched(self, name, where):
        """ringtap listens to the signalling, and finds the calls that SIPp made."""
        packets = capture.Capture(where / "run.pcap", only=f"udp port {generator.PORT}")
        try:
            figures = self.plain(name, where)
        finally:
            packets.stop()
        if packets.dropped():
            raise generator.Unusable(f"the capture lost {packets.dropped()} packets")
        records, _ = capture.records(self.ringtap, packets.path)
        answered = sum(call["answer_us"] is not None for call in records.values())
        failover.check(len(records) == figures["generated"], f"ringtap finds {len(records)} calls, SIPp made {figures['generated']}")
        failover.check(answered >= figures["successful"], f"ringtap finds {answered} answered calls, SIPp {figures['successful']}")
        return {**figures, "ringtap": len(records), "ringtap_answered": answered}

    def highest(self, name, where):
        """The highest rates of one PBX without the proxies and of the platform, without a limit of active calls, at which no more than one call of
        10,000 fails, and nothing fails over."""
        number, test = len(self.found(name)) + 1, TESTS[name]

        def carries(which, rate, attempt):
            step = [number, which, rate, attempt]
            kept = self.found(name, step)
            if not kept:
                self.settle()
                scenario, _ = SEARCHED[which]
                figures = self.load(name, dataclasses.replace(test, rate=rate, scenario=scenario), self.seconds(name), where)
                self.keep(name, {**figures, "step": step})
                kept = [figures]
            good = carried(rate, kept[0])
            print(f"load: {name}: {which}: {rate}/s is {'carried' if good else 'too much'}: {kept[0]['failed']} of {kept[0]['generated']} failed, "
                  f"{kept[0]['rate']:.1f}/s reached, {a_call(kept[0], self.seconds(name)):.1f} ms of PBXs a call"
                  f"{''.join(f', {event}' for event in kept[0]['events'])}", flush=True)
            return good
        first = self.rate or test.rate
        return {**search.in_turn({which: search.highest(times * first, MOST) for which, (_, times) in SEARCHED.items()}, carries), "events": []}

    def media(self, name, where):
        """Calls with sound, by several processes, each from an address of its own. rtpengine says whether sound went both ways."""
        test, before = TESTS[name], watch.media(self.folder)
        count = min(MEDIA_CALLS, test.rate * self.seconds(name))
        each = [count // MEDIA_PROCESSES + (number < count % MEDIA_PROCESSES) for number in range(MEDIA_PROCESSES)]

        def begin():
            size = len(generator.USERS) // MEDIA_PROCESSES
            for number, calls in enumerate(each):
                yield Sound(self.folder, where / str(number), calls, test.rate / MEDIA_PROCESSES, test.lengths[0], address=generator.SOURCES[number],
                            active=test.active // MEDIA_PROCESSES, users=generator.USERS[number * size:(number + 1) * size])
        figures = self.measure(begin, count / test.rate, where, name)
        if figures["events"]:
            # rtpengine was started again, and has counted from nothing.
            return {**figures, "relayed": None, "silent": None}
        after = watch.media(self.folder)
        return {**figures, **{key: after[key] - before[key] for key in after}}

    def steady_rate(self):
        """Nine tenths of the highest rate that was found, or what was asked for; 0 if neither is known."""
        highest = [each["platform"] for each in self.found("highest")]
        return self.rate or round(STEADY * statistics.median(highest or [0]))

    def steady(self, name, where):
        """At nine tenths of the highest rate nothing fails over."""
        if not self.steady_rate():
            raise nodes.Failure("nine tenths of the highest rate are not known: run `highest` before with the same DURATION and CPU "
                                "(--duration, --cpu), or give RATE (--rate)")
        return self.load(name, dataclasses.replace(TESTS[name], rate=self.steady_rate()), self.seconds(name), where)


class Sound(telephones.Calls):
    """A process of calls with sound, waited for as one without."""

    def wait(self):
        status = self.process.wait()
        self.output.close()
        if status not in (0, 1):
            raise generator.Unusable(f"SIPp ended with {status}, see {self.where / 'errors.log'}")
        return generator.Counted.of(generator.statistics(self.where / "statistics.csv"))


def carried(rate, figures):
    """Whether a step of a search held."""
    return figures["failed"] <= FAILED * figures["generated"] and figures["rate"] >= REACHED * rate and not figures["events"]


def a_call(figures, seconds):
    """Milliseconds of processor time of the PBXs for a call that succeeded: it says how fast the machine was. What they do without calls counts too."""
    used = sum(share for name, share in figures["processors"].items() if name in checks.PBXS)
    return 1000 * used * seconds / max(1, figures["successful"])


def configuration(folder):
    """What the platform is configured by, and what loads it, as a digest: figures of another one are not these."""
    digest = hashlib.sha256(failover.configuration(folder).encode())
    for path in sorted((HERE / "load").glob("*.xml")):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def missed(name, found):
    """What the runs of a test are to hold, and do not."""
    for number, each in enumerate(found, 1):
        if name in ("media", "registrations") and each["failed"]:
            yield f"{name}, run {number}: {each['failed']} of {each['generated']} failed, none may"
        if name == "media" and each["silent"]:
            yield f"{name}, run {number}: {each['silent']} streams had sound in one direction or none"
        if name == "media" and each["silent"] is None:
            yield f"{name}, run {number}: {'; '.join(each['events'])}: nobody has counted sound in one direction"
        if name == "registrations" and each["retransmissions"] > REPEATED * each["generated"]:
            yield f"{name}, run {number}: {each['retransmissions']} of {each['generated']} were repeated, more than {REPEATED:.0%}"
        if name == "steady" and each["events"]:
            yield f"{name}, run {number}: {'; '.join(each['events'])}: nothing was to fail over"


def spread(values, lowest=False):
    """Median, 95th percentile and worst, which is the lowest where more is better."""
    values = sorted(values, reverse=lowest)
    ninety_fifth = values[max(0, -(-95 * len(values) // 100) - 1)]
    return " / ".join(shown(value) for value in (statistics.median(values), ninety_fifth, values[-1]))


def shown(value):
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"


def rows(platform):
    yield ("test", "asked", "of", *COLUMNS, "processors used", "seen")
    for name, test in TESTS.items():
        found = platform.found(name)
        if not found or test.how == "highest":
            continue
        for number, run in enumerate(test.paper, 1):
            yield (name, test.told(), f"paper, run {number}", *map(shown, run), "", "")
        for number, run in enumerate(found, 1):
            asked = test.told() if test.rate else str(run["asked"])
            used = " ".join(f"{node} {value:.2f}" for node, value in run["processors"].items())
            yield (name, asked, f"run {number}", *(shown(run[column]) for column in COLUMNS), used, "; ".join(run["events"]))
        if len(found) > 1:
            better = ("rate", "generated", "active", "successful")
            yield (name, "", "median / 95th / worst", *(spread([run[column] for run in found], column in better) for column in COLUMNS), "", "")


def table(platform, names):
    """The paper's figures beside ours, of all that was kept; returns what these tests are to hold and do not."""
    lines = list(rows(platform))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    print("\nAsked: calls a second/active at most/seconds of a call. Rate, generated, active, successful, failed, retransmissions as SIPp counts.")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    wrong = [each for name in names for each in missed(name, platform.found(name))]
    highest = platform.found("highest")
    for which in SEARCHED if highest else ():
        print(f"highest: {which}: {spread([each[which] for each in highest], True)} calls a second without a limit of active calls "
              f"(median / 95th / worst of {len(highest)})")
    # Of one run, whose steps the machine was equally fast for.
    if ratios := [each["platform"] / each["one"] if each["one"] else 0.0 for each in highest]:
        print(f"two PBXs carry {spread(ratios, True)} times as much as one; the paper: {PAPER_RATIO}, to be {RATIO} at least")
        if statistics.median(ratios) < RATIO and "highest" in names:
            wrong.append(f"two PBXs carry {statistics.median(ratios):.2f} times as much as one, less than {RATIO}")
    return wrong


def shares(text):
    """`pbx=0.3 proxy=0.6`: of each kind of node, how many processors each such node may use."""
    found = {}
    for word in text.split():
        kind, _, share = word.partition("=")
        if kind not in quotas.UNITS:
            raise argparse.ArgumentTypeError(f"there is no kind of node {kind!r}: {', '.join(quotas.UNITS)}")
        try:
            found[kind] = float(share)
        except ValueError:
            found[kind] = 0
        if not 0.05 <= found[kind] <= 64:
            raise argparse.ArgumentTypeError(f"{word!r}: a share is a number of processors, 0.05 to 64, as in {kind}=0.5")
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Tests: " + ", ".join(TESTS))
    parser.add_argument("--ringtap", type=Path, default=HERE.parents[1] / "target/release/ringtap", help="the program")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "target/platform")
    parser.add_argument("--duration", type=int, help="seconds of each load and of each step of a search; else as long as the paper's")
    parser.add_argument("--runs", type=int, default=2, help="runs of each test, those of earlier commands counted")
    parser.add_argument("--cpu", type=shares, default={}, help="processors that each node may use, 'pbx=0.1 proxy=0.7 db=0.2'; else no limits")
    parser.add_argument("--rate", type=int, help="calls a second of `steady`, and where the search for one PBX begins; for the platform twice that")
    parser.add_argument("--results", type=Path, help="where runs are kept, a line each: load.jsonl in the folder")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of earlier commands")
    parser.add_argument("tests", nargs="*", metavar="TEST", default=[])
    options = parser.parse_args()
    unknown = [name for name in options.tests if name not in TESTS]
    if unknown:
        parser.error(f"there is no test {unknown[0]!r}: {', '.join(TESTS)}")
    if options.duration is not None and options.duration < 5:
        parser.error("--duration: 5 seconds at least")
    if options.results and not options.results.absolute().parent.is_dir():
        parser.error(f"--results {options.results}: its folder is not there")
    return options


def main():
    options = arguments()
    # So that SIPp, limits and addresses go also when somebody else ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("load: ended"))
    platform = Platform(options)
    if options.fresh:
        platform.results.unlink(missing_ok=True)
    try:
        with alone(platform.folder):
            run_all(platform, options)
    except (nodes.Failure, failover.Wrong, generator.Unusable) as failure:
        table(platform, ())
        sys.exit(f"load: {failure}")
    wrong = table(platform, options.tests or TESTS)
    if wrong:
        sys.exit("".join(f"load: missed: {each}\n" for each in wrong).rstrip())


@contextlib.contextmanager
def alone(folder):
    """Nobody else loads the platform meanwhile."""
    with open(folder / "load.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise nodes.Failure("another load test of this platform is under way: wait until it ends") from error
        yield


def run_all(platform, options):
    """The runs that are missing, of each test in turn."""
    platform.settle()
    with generator.addresses(), generator.subscribers(platform.folder):
        for number in range(options.runs):
            for name in options.tests or TESTS:
                if len(platform.found(name)) > number:
                    continue
                print(f"load: {name}, run {number + 1}, {platform.seconds(name)} s", flush=True)
                try:
                    figures = platform.run(name, number + 1)
                except (failover.Wrong, generator.Unusable, nodes.Failure) as wrong:
                    raise type(wrong)(f"{name}: {wrong}") from wrong
                platform.keep(name, figures)
                print(json.dumps(figures), flush=True)
                platform.settle()


if __name__ == "__main__":
    os.umask(0o077)
    main()
