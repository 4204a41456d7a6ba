#!/usr/bin/env python3
"""Measures how fast packets are recorded and read back, on the disk of the given folder.

    kept      `ringtap run` replays a capture as fast as possible and records everything, plain and again sealed and signed, between
              two runs of fio that write as many bytes with O_DIRECT, in sequential writes of one megabyte; and again without recording
    order     strace checks that each write begins where the last one ended
    hour      an hour of 2,000 concurrent calls, from which one call is read back without the page cache
    memory    52,000 concurrent calls: resident memory of the daemon

Needs 16 GB of disk space, and frees it again. Prints one line of JSON; the exit status is 77 without that space or without fio.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

# Space that the largest part needs, and space that must stay free.
ROOM, SPARE = 14e9, 4e9


def generate(ringtap, path, calls, seconds, seed):
    """Generates a capture of concurrent calls of equal length, once."""
    if not path.exists():
        part = path.with_suffix(".part")
        subprocess.run(
            [ringtap, "generate", "--calls", str(calls), "--rate", str(calls / 2), "--seed", str(seed), "--hold-distribution",
             f"constant:{seconds}", "--codec", "PCMU=100", "--out", str(part)], check=True,
        )
        part.rename(path)


def forget(paths):
    """Removes files from the page cache."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def fio(folder, size):
    """Bytes per second that fio writes to the disk."""
    target = folder / "fio.dat"
    try:
        done = subprocess.run(
            ["fio", "--name=write", f"--filename={target}", "--rw=write", "--bs=1M", "--direct=1", f"--size={size}", "--ioengine=psync",
             "--end_fsync=1", "--output-format=json"], stdout=subprocess.PIPE, check=True,
        )
    finally:
        target.unlink(missing_ok=True)
    return json.loads(done.stdout)["jobs"][0]["write"]["bw_bytes"]


def configured(ringtap, folder, capture, spool):
    """The daemon's configuration; `spool` says how packets are recorded: "plain", "signed" (sealed as well), or not at all."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    text = f"""[capture]
files = ["{capture}"]
speed = "max"
[store]
directory = "{folder}/records"
outbox = "{folder}/outbox"
[journal]
path = "{folder}/journal"
[metrics]
listen = ""
[log]
status = "0s"
"""
    if spool:
        text += f'[spool]\ndirectory = "{folder}/spool"\nkeep = "full"\n'
    if spool == "signed":
        keys = {name: folder / f"{name}.key" for name in ("seal", "sign")}
        subprocess.run([ringtap, "key", *(word for name, path in keys.items() for word in (f"--{name}", path))],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        text += "".join(f'{name} = "{path}"\n' for name, path in keys.items())
    path = folder / "ringtap.toml"
    path.write_text(text)
    return path


class Threads:
    """Samples the processor time of a process's threads, by name, while it runs."""

    def __init__(self, pid):
        self.tasks = pathlib.Path(f"/proc/{pid}/task")
        self.found = {}

    def look(self):
        now = time.monotonic()
        try:
            for task in self.tasks.iterdir():
                name = (task / "comm").read_text().strip()
                figures = dict(line.split(": ") for line in (task / "io").read_text().splitlines())
                cpu = int((task / "schedstat").read_text().split()[0]) / 1e9
                self.found.setdefault((name, task.name), []).append((now, int(figures["syscw"]), int(figures["write_bytes"]), cpu))
        except (FileNotFoundError, ProcessLookupError):
            return

    def of(self, begin):
        """The samples of each thread whose name begins with a prefix."""
        return [samples for (name, _), samples in self.found.items() if name.startswith(begin)]


def replay(ringtap, folder, capture, spool):
    """Runs the daemon once: packets, seconds of its worker, and bytes written between the first and the last write."""
    capture.read_bytes()
    process = subprocess.Popen([ringtap, "run", "-c", configured(ringtap, folder, capture, spool)], stderr=subprocess.PIPE, text=True)
    threads = Threads(process.pid)
    try:
        while process.poll() is None:
            threads.look()
            time.sleep(0.01)
    finally:
        if process.poll() is None:
            process.kill()
    said = process.stderr.read()
    seen = re.search(r"of (\d+) frames seen", said)
    if process.returncode != 0 or not seen:
        sys.exit(f"`ringtap run` ended with {process.returncode}: {said}")
    found = {"packets": int(seen[1]), "worker_cpu": max(samples[-1][3] for samples in threads.of("worker"))}
    if spool:
        kept = re.search(r"(\d+) packets recorded in (\d+) segments?, .*; (\d+) lost", said)
        if not kept or int(kept[3]) or int(kept[1]) != found["packets"]:
            sys.exit(f"not everything was kept: {said}")
        writers = threads.of("spool")
        written = [(at, total) for samples in writers for at, _, total, _ in samples]
        begun = min(at for at, total in written if total)
        ended = max(next(at for at, _, total, _ in samples if total == samples[-1][2]) for samples in writers)
        size = sum(file.stat().st_size for file in (folder / "spool").rglob("*") if file.is_file())
        found |= {
            "bytes": size, "seconds": ended - begun, "writes": sum(samples[-1][1] for samples in writers),
            "worker_busy": found["worker_cpu"] / (ended - begun),
        }
    shutil.rmtree(folder)
    return found


def kept(options, folder):
    """The rate of recording compared with that of fio, run by run."""
    capture = folder / "spool.pcap"
    generate(options.ringtap, capture, 2000, 90, 2)
    size = capture.stat().st_size >> 20 << 20
    rounds, disk = [], [fio(folder, size)]
    for number in range(options.rounds):
        alone = replay(options.ringtap, folder / "run", capture, None)
        full = replay(options.ringtap, folder / "run", capture, "plain")
        signed = replay(options.ringtap, folder / "run", capture, "signed")
        disk.append(fio(folder, size))
        beside = (disk[-2] + disk[-1]) / 2
        full["rate"], full["signed_rate"] = full["bytes"] / full["seconds"], signed["bytes"] / signed["seconds"]
        full["share"], full["signed_share"] = full["rate"] / beside, full["signed_rate"] / beside
        full["alone_cpu"] = alone["worker_cpu"]
        print(f"    round {number + 1}: {full['rate'] / 1e6:.0f} MB/s kept, {full['signed_rate'] / 1e6:.0f} signed, "
              f"fio {disk[-1] / 1e6:.0f} MB/s; a packet takes the worker {full['worker_cpu'] / full['packets'] * 1e9:.0f} ns, {alone['worker_cpu'] / alone['packets'] * 1e9:.0f} without the spool",
              file=sys.stderr)
        rounds.append(full)
    capture.unlink()
    return {"rounds": rounds, "fio": disk}


def order(options, folder):
    """Counts the writes of segments, and those that do not begin where the previous one ended."""
    if not shutil.which("strace"):
        return None
    capture = folder / "order.pcap"
    generate(options.ringtap, capture, 500, 20, 3)
    trace = folder / "strace.out"
    configuration = configured(options.ringtap, folder / "run", capture, "plain")
    subprocess.run(
        ["strace", "-f", "-qq", "-o", str(trace), "-e", "trace=openat,close,pwrite64,pwritev,pwritev2,write", options.ringtap, "run", "-c",
         str(configuration)], stderr=subprocess.DEVNULL, check=True,
    )
    ends, writes, elsewhere = {}, 0, 0
    begun = {}
    for line in trace.read_text(errors="replace").splitlines():
        thread, _, call = line.partition(" ")
        call = call.strip()
        # strace prints a call in two parts if another thread interrupts it.
        if call.endswith("<unfinished ...>"):
            begun[thread] = call.removesuffix("<unfinished ...>").rstrip()
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", call):
            call = begun.pop(thread, "") + resumed[1]
        if opened := re.match(r'openat\(.*/spool/.*\.pcap", .*O_CREAT.*\) += (\d+)', call):
            ends[opened[1]] = 0
        elif closed := re.match(r"close\((\d+)", call):
            ends.pop(closed[1], None)
        elif (wrote := re.match(r"pwrite64\((\d+), .*, (\d+), (\d+)\) += (\d+)", call)) and wrote[1] in ends:
            writes += 1
            elsewhere += int(wrote[3]) != ends[wrote[1]]
            ends[wrote[1]] = int(wrote[3]) + int(wrote[4])
        elif (other := re.match(r"(?:write|pwritev2?)\((\d+)", call)) and other[1] in ends:
            sys.exit(f"a segment is written by another call than is looked at: {call}")
    trace.unlink()
    capture.unlink()
    shutil.rmtree(folder / "run")
    if not writes:
        sys.exit("no write to a segment was seen")
    return {"writes": writes, "elsewhere": elsewhere}


def hour(options, folder):
    """Reads one call of an hour, without the page cache."""
    spool = folder / "hour"
    shutil.rmtree(spool, ignore_errors=True)
    program = str(options.programs / "measure")
    try:
        done = subprocess.run([program, "hour", str(spool), "2000", "60", "3"], stdout=subprocess.PIPE, check=True)
        made = json.loads(done.stdout)
        if made["lost"]:
            sys.exit(f"not everything was kept: {made}")
        reads = []
        for call, begin in made.pop("whole"):
            forget(file for file in spool.rglob("*") if file.is_file())
            done = subprocess.run([program, "read", str(spool), str(call), str(begin)], stdout=subprocess.PIPE, check=True)
            reads.append(json.loads(done.stdout))
    finally:
        shutil.rmtree(spool, ignore_errors=True)
    return {
        "made": made, "ms": statistics.median(read["ms"] for read in reads), "worst_ms": max(read["ms"] for read in reads),
        "reads": max(read["reads"] for read in reads), "calls": len(reads),
    }


def memory(options, folder):
    """Resident memory with 52,000 concurrent calls."""
    spool = folder / "many"
    shutil.rmtree(spool, ignore_errors=True)
    try:
        done = subprocess.run([str(options.programs / "measure"), "many", str(spool), "52000", "3", "900"], stdout=subprocess.PIPE, check=True)
    finally:
        shutil.rmtree(spool, ignore_errors=True)
    found = json.loads(done.stdout)
    if found["lost"]:
        sys.exit(f"not everything was kept: {found}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ringtap", default="target/release/ringtap")
    parser.add_argument("--programs", type=pathlib.Path, default="target/release/examples", help="folder of the program `measure`")
    parser.add_argument("--folder", type=pathlib.Path, default="target/bench", help="on the disk that is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="kept,order,hour,memory")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < ROOM + SPARE or not shutil.which("fio"):
        print(f"the spool is not measured: {free / 1e9:.0f} GB free where {(ROOM + SPARE) / 1e9:.0f} are needed, or no fio", file=sys.stderr)
        sys.exit(77)
    parts = {"kept": kept, "order": order, "hour": hour, "memory": memory}
    print(json.dumps({name: part(options, folder) for name, part in parts.items() if name in options.only.split(",")}))


if __name__ == "__main__":
    main()
