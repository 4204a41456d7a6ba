#!/usr/bin/env python3
"""Measures how many calls of 120 s are converted to stereo WAV per second on one core, in memory, and how fast other decoders
decode the same G.729.

The sound is synthesised: voice pulses through three formants, with pauses and noise, encoded by libbcg729. Without that library,
frames of noise are decoded and not compared with other decoders. Prints one line of JSON.
"""

import argparse
import array
import ctypes
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys

SECONDS = 120


def voice():
    """Speech-like sound at 8 kHz: syllables of changing pitch and formants, with pauses between them."""
    chance = random.Random(1)
    samples, phase = array.array("h"), 0.0
    filters = [[0.0, 0.0] for _ in range(3)]
    while len(samples) < SECONDS * 8000:
        pitch, loud = chance.uniform(90, 220), chance.choice([0, 0.5, 0.8, 1])
        formants = [chance.uniform(250, 850), chance.uniform(900, 2300), chance.uniform(2400, 3300)]
        poles = [(2 * 0.96 * math.cos(2 * math.pi * formant / 8000), -0.96 ** 2) for formant in formants]
        length = int(chance.uniform(0.08, 0.3) * 8000)
        for at in range(length):
            phase += pitch / 8000
            pulse = 0.0
            if phase >= 1:
                phase -= 1
                pulse = 1.0
            value = pulse * math.sin(math.pi * at / length) * loud * 900 + chance.gauss(0, 4)
            for (one, two), state in zip(poles, filters):
                value += one * state[0] + two * state[1]
                state[1], state[0] = state[0], value
                value *= 0.45
            samples.append(max(-32768, min(32767, int(value))))
    return samples[:SECONDS * 8000]


def encoded(library, samples):
    """G.729 with ten bytes per frame."""
    library.initBcg729EncoderChannel.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.initBcg729EncoderChannel(0))
    data, frame, length = samples.tobytes(), ctypes.create_string_buffer(10), ctypes.c_uint8()
    frames = bytearray()
    for at in range(0, len(data) - 159, 160):
        library.bcg729Encoder(state, data[at:at + 160], frame, ctypes.byref(length))
        frames += frame.raw
    return bytes(frames)


def spent(work):
    """Processor seconds of this process and its children."""
    def total():
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    before = total()
    work()
    return total() - before


def others(library, raw):
    """Sides of 120 s that libbcg729 and ffmpeg decode per second; a call has two sides."""
    library.initBcg729DecoderChannel.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.initBcg729DecoderChannel())
    frames, out = raw.read_bytes(), ctypes.create_string_buffer(160)
    pieces = [frames[at:at + 10] for at in range(0, len(frames), 10)]
    decode = library.bcg729Decoder
    rates = {"libbcg729": 1 / spent(lambda: [decode(state, piece, 10, 0, 0, 0, out) for piece in pieces])}
    if shutil.which("ffmpeg"):
        command = ["ffmpeg", "-v", "error", "-f", "g729", "-i", str(raw), "-f", "s16le", "-y", "/dev/null"]
        rates["ffmpeg"] = 1 / spent(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, check=True))
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default="target/release/examples", help="folder of the program `speed`")
    parser.add_argument("--folder", type=pathlib.Path, default="target/bench")
    parser.add_argument("--core", type=int, default=os.cpu_count() - 1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {options.core})
    command = [str(options.programs / "speed")]
    found = {}
    try:
        library = ctypes.CDLL("libbcg729.so.0")
    except OSError:
        print("    no libbcg729: G.729 is compared with nobody", file=sys.stderr)
    else:
        raw = options.folder / "voice.g729"
        raw.write_bytes(encoded(library, voice()))
        found["others"] = others(library, raw)
        command.append(str(raw))
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found |= {name: float(rate) for name, rate in re.findall(r"^(\S+)\s+([\d.]+) calls/s", done.stdout, re.M)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
