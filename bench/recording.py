#!/usr/bin/env python3
"""Both ends of bench/recording.sh: sends a recording as RTP with deliberate loss, and measures how close the recorded sound is."""

import argparse
import array
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import wave

# SIPp's recording has packets of 240 samples of G.711.
SIZE = 240
RATE = 8000


def rtp(path):
    """RTP packets of a capture of Ethernet frames, IPv4, UDP: sequence number and payload in order of sequence."""
    data = pathlib.Path(path).read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    packets, at = {}, 24
    while at + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        datagram = frame[14 + 4 * (frame[14] & 15) + 8:]
        packets[struct.unpack_from(">H", datagram, 2)[0]] = datagram[12:]
    return [payload for _, payload in sorted(packets.items())]


def lost(kind, count):
    """Which packets are lost; never the first and the last, so that the sound has its full length."""
    chance, missing, burst = random.Random(7), set(), False
    for number in range(1, count - 1):
        if kind == "random":
            burst = chance.random() < 0.03
        elif kind == "bursts":
            # Gilbert model: 5 % loss in runs of three on average.
            burst = chance.random() > 1 / 3 if burst else chance.random() < 0.05 / 3 / 0.95
        if burst:
            missing.add(number)
    return missing


def make(options):
    """Writes the recording, repeated several times, as G.711 A-law and as a capture of RTP for SIPp to play."""
    payloads = [payload for payload in rtp(options.source) if len(payload) == SIZE] * options.times
    options.out.with_suffix(".al").write_bytes(b"".join(payloads))
    missing = lost(options.loss, len(payloads))
    options.out.with_suffix(".json").write_text(json.dumps(sorted(missing)))
    pcap = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number, payload in enumerate(payloads):
        if number in missing:
            continue
        datagram = struct.pack(">BBHII", 0x80, 8, number, number * SIZE, options.ssrc) + payload
        udp = struct.pack(">HHHH", 6000, 6000, 8 + len(datagram), 0) + datagram
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0, bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
        frame = bytes(12) + b"\x08\x00" + ip + udp
        micros = number * SIZE * 1_000_000 // RATE
        pcap += struct.pack("<IIII", micros // 1_000_000, micros % 1_000_000, len(frame), len(frame)) + frame
    options.out.write_bytes(pcap)


def decoded(bytes_of_alaw):
    """Converts a file with sox."""
    command = ["sox", "-t", "al", "-r", "8000", "-c", "1", "-", "-t", "s16", "-L", "-"]
    done = subprocess.run(command, input=bytes_of_alaw, stdout=subprocess.PIPE, check=True)
    return array.array("h", done.stdout)


def heard(path):
    """The first channel of a WAV."""
    with wave.open(str(path)) as sound:
        samples = array.array("h", sound.readframes(sound.getnframes()))
        return samples[::sound.getnchannels()]


def exported(capture, ssrc):
    """Decodes tshark's payloads with sox: missing packets leave no gap."""
    command = ["tshark", "-r", str(capture), "-d", "udp.port==1-65535,rtp", "-Y", f"rtp.ssrc=={ssrc} && ip.src==192.0.2.1",
               "-T", "fields", "-e", "rtp.payload"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    return decoded(bytes.fromhex("".join(done.stdout.split()).replace(":", "")))


def segmental(source, found, missing):
    """Signal-to-noise ratio in dB over the 10 ms frames that loss affects, each from -10 to 35, and their number."""
    figures = []
    for number in sorted(missing):
        for start in range(number * SIZE, (number + 1) * SIZE, 80):
            one, other = source[start:start + 80], found[start:start + 80]
            signal = sum(a * a for a in one)
            if len(other) < 80 or signal < 80 * 100 * 100:
                continue
            noise = sum((a - b) ** 2 for a, b in zip(one, other))
            figures.append(min(35.0, max(-10.0, 10 * math.log10(signal / max(noise, 1)))))
    return sum(figures) / len(figures), len(figures)


def spectral(source, found, missing):
    """Log-spectral distance in dB over windows of 32 ms around losses."""
    turns = [(math.cos(2 * math.pi * k / 256), math.sin(2 * math.pi * k / 256)) for k in range(256)]
    window = [0.5 - 0.5 * turn[0] for turn in turns]

    def spectrum(samples):
        weighted = [value * weight for value, weight in zip(samples, window)]
        levels = []
        for line in range(3, 122, 2):
            real = sum(value * turns[k * line % 256][0] for k, value in enumerate(weighted))
            imaginary = sum(value * turns[k * line % 256][1] for k, value in enumerate(weighted))
            levels.append(10 * math.log10(real * real + imaginary * imaginary + 1e6))
        return levels

    figures = []
    for number in sorted(missing):
        start = number * SIZE + SIZE // 2 - 128
        one, other = source[start:start + 256], found[start:start + 256]
        if len(other) < 256 or sum(a * a for a in one) < 256 * 100 * 100:
            continue
        pairs = list(zip(spectrum(one), spectrum(other)))
        figures.append(math.sqrt(sum((a - b) ** 2 for a, b in pairs) / len(pairs)))
    return sum(figures) / len(figures)


def judge(options):
    """Without loss, every sample must equal the source; with loss, the concealed recording must be closer than the others."""
    source = decoded(options.made.with_suffix(".al").read_bytes())
    missing = json.loads(options.made.with_suffix(".json").read_text())
    sounds = {"ringtap": heard(options.concealed), "silence": heard(options.silent)}
    if not missing:
        for name, found in sounds.items():
            same = sum(a == b for a, b in zip(source, found))
            print(f"{options.name}: {same:,} of {len(source):,} samples the same, {len(found):,} heard ({name})")
            if found != source:
                sys.exit(f"WRONG: {options.name}: the recording is not what was played")
        return
    sounds["tshark and sox"] = exported(options.capture, options.ssrc)
    snr = {name: segmental(source, found, missing) for name, found in sounds.items()}
    far = {name: spectral(source, found, missing) for name, found in sounds.items()}
    for name in sounds:
        figure, count = snr[name]
        print(f"{options.name:8} {name:16} {figure:8.2f} dB {far[name]:8.2f} dB apart   ({len(missing)} packets lost, {count} segments)")
    came = [number for number in range(len(source) // SIZE) if number not in missing]
    whole = all(sounds["ringtap"][n * SIZE:(n + 1) * SIZE] == source[n * SIZE:(n + 1) * SIZE] for n in came)
    best = all(snr["ringtap"][0] > snr[other][0] and far["ringtap"] < far[other] for other in sounds if other != "ringtap")
    if not whole or not best or len(sounds["ringtap"]) != len(source):
        sys.exit(f"WRONG: {options.name}: what came changed, or others are nearer")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make", help="a recording as RTP for SIPp")
    command.add_argument("source", help="a capture of one direction of G.711 A-law in packets of 30 ms")
    command.add_argument("out", type=pathlib.Path, help="the capture; .al and .json beside it are the sound and what is lost")
    command.add_argument("--times", type=int, default=3)
    command.add_argument("--loss", choices=["none", "random", "bursts"], default="none")
    command.add_argument("--ssrc", type=int, required=True)
    command.set_defaults(run=make)
    command = commands.add_parser("judge", help="what was kept, against it")
    command.add_argument("name")
    command.add_argument("made", type=pathlib.Path)
    command.add_argument("concealed", type=pathlib.Path, help="a WAV of the caller")
    command.add_argument("silent", type=pathlib.Path, help="the same, loss left silent")
    command.add_argument("--capture", type=pathlib.Path)
    command.add_argument("--ssrc", type=int)
    command.set_defaults(run=judge)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
