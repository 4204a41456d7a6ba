#!/usr/bin/env python3
"""A second implementation of the rating models, to check the first: one JSON object a line for each point of a grid.

Written from the equations of ITU-T G.107 (06/2015), G.107.1, G.107.2 and from Cole and Rosenbluth (2001), not from the
Rust sources. Standard library only. Its codec table is its own copy, so that a slip of the pen in either shows.
"""

import itertools
import json
import math
import sys

# name, clock, kbit/s -> model, Ie, Bpl (G.113; stand-ins where G.113 has none, as the Rust table documents)
CODECS = """
PCMU 8000 64 nb 0 25.1
PCMA 8000 64 nb 0 25.1
PCMU/no-plc 8000 64 nb 0 4.3
PCMA/no-plc 8000 64 nb 0 4.3
G729 8000 8 nb 11 19
G723 8000 6.3 nb 15 16.1
G723 8000 5.3 nb 19 16.1
GSM 8000 13 nb 20 10
GSM-EFR 8000 12.2 nb 5 10
G726-40 8000 40 nb 2 4.3
G726-32 8000 32 nb 7 4.3
G726-24 8000 24 nb 25 4.3
G726-16 8000 16 nb 50 4.3
G728 8000 16 nb 7 10
iLBC 8000 13.33 nb 11 19
iLBC 8000 15.2 nb 11 19
AMR 8000 12.2 nb 5 10
AMR 8000 7.4 nb 10 10
AMR 8000 4.75 nb 19 10
L16 8000 128 nb 0 25.1
L16/no-plc 8000 128 nb 0 4.3
L16 16000 256 wb 0 25.1
L16/no-plc 16000 256 wb 0 4.3
L16 48000 768 fb 0 25.1
L16/no-plc 48000 768 fb 0 4.3
G722 8000 64 wb 13 25.1
G722/no-plc 8000 64 wb 13 4.3
G722 16000 64 wb 13 25.1
G722/no-plc 16000 64 wb 13 4.3
G722 8000 56 wb 20 25.1
G722/no-plc 8000 56 wb 20 4.3
G722 8000 48 wb 31 25.1
G722/no-plc 8000 48 wb 31 4.3
G7221 16000 32 wb 13 4.3
G7221 16000 24 wb 19 4.3
AMR-WB 16000 6.6 wb 41 4.3
AMR-WB 16000 8.85 wb 26 4.3
AMR-WB 16000 12.65 wb 13 4.3
AMR-WB 16000 14.25 wb 10 4.3
AMR-WB 16000 15.85 wb 7 4.3
AMR-WB 16000 18.25 wb 5 4.3
AMR-WB 16000 19.85 wb 3 4.3
AMR-WB 16000 23.05 wb 1 4.6
AMR-WB 16000 23.85 wb 8 4.9
EVS 16000 9.6 fb 22.7 13
EVS 16000 13.2 fb 17.1 11.7
EVS 16000 16.4 fb 10.8 10.3
EVS 16000 24.4 fb 7.2 11.4
EVS 16000 32 fb 8.7 9.3
EVS 16000 48 fb 10.2 9.6
opus 48000 32 fb 8.7 9.3
opus 24000 24 fb 7.2 11.4
opus 16000 20 wb 8 4.9
opus 8000 12 nb 5 10
"""

TABLE_3 = dict(
    SLR=8, RLR=2, STMR=15, LSTR=18, Ds=3, Dr=3, TELR=65, WEPL=110, T=0, Tr=0, Ta=0, qdu=1, Ie=0, Bpl=4.3, Ppl=0,
    BurstR=1, Nc=-70, Nfor=-64, Ps=35, Pr=35, A=0,
)


def dB(x):
    return 10 * math.log(x, 10)


def undB(x):
    return math.pow(10, x / 10)


def norm(base, exponent):
    """(1 + base^n)^(1/n), the shape that G.107 bends its curves with."""
    return math.pow(1 + math.pow(base, exponent), 1 / exponent)


def hinge(difference, square):
    """d/2 + sqrt(d^2/4 + s), its soft max(d, 0)."""
    return difference / 2 + math.sqrt(difference**2 / 4 + square)


def idd(ta):
    if ta <= 100:
        return 0
    x = math.log(ta / 100) / math.log(2)
    return 25 * (norm(x, 6) - 3 * norm(x / 3, 6) + 2)


def ie_eff(ie, bpl, ppl, burst, ceiling):
    return ie if ppl == 0 else ie + (ceiling - ie) / (1 / burst + bpl / ppl)


def narrowband(**given):
    g = {**TABLE_3, **given}
    SLR, RLR, Ps, Ds, T, Tr = (g[key] for key in ("SLR", "RLR", "Ps", "Ds", "T", "Tr"))
    OLR = SLR + RLR
    # 7.2 basic signal-to-noise ratio
    Pre = g["Pr"] + dB(1 + undB(10 - g["LSTR"]))
    Nor = RLR - 121 + Pre + 0.008 * (Pre - 35) ** 2
    Nos = Ps - SLR - Ds - 100 + 0.004 * (Ps - OLR - Ds - 14) ** 2
    No = dB(sum(map(undB, (g["Nc"], Nos, Nor, g["Nfor"] + RLR))))
    Ro = 15 - 1.5 * (SLR + No)
    # 7.3 simultaneous impairment
    Xolr = OLR + 0.2 * (64 + No - RLR)
    Iolr = 20 * (norm(Xolr / 8, 8) - Xolr / 8)
    STMRo = -dB(undB(-g["STMR"]) + math.exp(-T / 4) * undB(-g["TELR"]))
    Ist = 29 + 12 * norm((STMRo - 13) / 6, 8) - 28 * norm((STMRo + 1) / 19.4, 35) - 13 * norm((STMRo - 3) / 33, 13)
    Q = 37 - 15 * math.log10(g["qdu"])
    G = 1.07 + 0.258 * Q + 0.0602 * Q**2
    Y, Z = (Ro - 100) / 15 + 46 / 8.4 - G / 9, 46 / 30 - G / 40
    Iq = 15 * math.log10(1 + 10**Y + 10**Z)
    # 7.4 delay impairment
    if T < 1:
        Idte = 0
    else:
        TERV = g["TELR"] - 40 * math.log10((1 + T / 10) / (1 + T / 150)) + 6 * math.exp(-0.3 * T**2)
        TERV += Ist / 2 if g["STMR"] < 9 else 0
        Idte = (hinge(-1.5 * (No - RLR) - (80 + 2.5 * (TERV - 14)), 100) - 1) * (1 - math.exp(-T))
        Idte = math.sqrt(Idte**2 + Ist**2) if g["STMR"] > 20 else Idte
    Idle = hinge(Ro - 10.5 * (g["WEPL"] + 7) / math.sqrt(math.sqrt(Tr + 1)), 169)
    # 7.5, 7.1
    codec = ie_eff(g["Ie"], g["Bpl"], g["Ppl"], g["BurstR"], 95)
    listening = Ro - Iolr - Ist - Iq - codec + g["A"]
    return listening, listening - Idte - Idle - idd(g["Ta"])


def wideband(ie, bpl, ppl, burst, ta):
    listening = 129 - ie_eff(ie, bpl, ppl, burst, 95)
    return listening, listening - idd(ta)


def fullband(ie, bpl, ppl, burst, ta):
    listening = 148 - ie_eff(ie, bpl, ppl, burst, 132)
    return listening, listening - 1.48 * idd(ta)


def mos(r, top=100):
    """G.107 annex B over R scaled to 100, not below 1."""
    x = min(max(100 * r / top, 0), 100)
    return max(1, 1 + x * (0.035 + 7e-6 * (x - 60) * (100 - x)))


def cole(name, d, e):
    a, b, c = (11, 40, 10) if name.startswith("G729") else (0, 30, 15)
    echo = 0.11 * (d - 177.3) if d > 177.3 else 0
    return 94.2 - 0.024 * d - echo - a - b * math.log(1 + c * e)


def emit(**point):
    print(json.dumps(point))


def codecs():
    losses = (0, 0.1, 0.5, 1, 2, 3, 5, 10, 20, 50, 100)
    for line in CODECS.split("\n"):
        if not line:
            continue
        name, clock, kbps, model, ie, bpl = line.split()
        ie, bpl = float(ie), float(bpl)
        for ppl, burst, ta in itertools.product(losses, (1, 1.5, 2, 4, 8), (0, 50, 100, 150, 200, 300, 400, 800)):
            if model == "nb":
                lq, cq = narrowband(Ie=ie, Bpl=bpl, Ppl=ppl, BurstR=burst, Ta=ta)
                top = 100
            else:
                lq, cq = (wideband if model == "wb" else fullband)(ie, bpl, ppl, burst, ta)
                top = 129 if model == "wb" else 148
            emit(kind="codec", codec=name, clock=int(clock), kbps=float(kbps), model=model, ppl=ppl, burst=burst, ta=ta,
                 r_lq=lq, r=cq, mos_lq=mos(lq, top), mos_cq=mos(cq, top))
            if name in ("PCMU", "G729"):
                emit(kind="cole", codec=name, ta=ta, loss=ppl / 100, mos=mos(cole(name, ta, ppl / 100)))


def parameters():
    """Every parameter of table 3 over its range with the others at their defaults, then some of them together."""
    ranges = dict(
        SLR=(0, 5, 18), RLR=(-5, 0, 14), STMR=(5, 8.9, 9, 10, 20, 20.1, 25), LSTR=(13, 15, 23), Ds=(-3, 0, 3),
        Dr=(-3, 0, 3), TELR=(5, 20, 35, 50, 65), WEPL=(5, 20, 50, 110), T=(0, 0.5, 1, 5, 20, 100, 250, 500),
        Tr=(0, 10, 100, 1000), Ta=(0, 99, 101, 250, 500), qdu=(1, 2, 4, 14), Ie=(0, 10, 40), Bpl=(4.3, 10, 40),
        Ppl=(0, 1, 20), BurstR=(1, 2, 8), Nc=(-80, -60, -40), Nfor=(-70, -64, -50), Ps=(35, 50, 85),
        Pr=(35, 50, 85), A=(0, 5, 20),
    )
    points = [{key: value} for key, values in ranges.items() for value in values]
    for stmr, telr, t in itertools.product((8, 15, 22), (10, 30, 65), (0.9, 3, 50, 300)):
        points.append(dict(STMR=stmr, LSTR=stmr + 3, TELR=telr, T=t, Tr=2 * t, Ta=t))
    for ps, pr, nc, slr in itertools.product((35, 60), (35, 60), (-70, -45), (2, 14)):
        points.append(dict(Ps=ps, Pr=pr, Nc=nc, SLR=slr, qdu=3, Ppl=2, Ie=11, Bpl=19))
    for point in points:
        lq, cq = narrowband(**point)
        emit(kind="parameters", given=point, r_lq=lq, r=cq, mos_lq=mos(lq), mos_cq=mos(cq))


if __name__ == "__main__":
    codecs()
    parameters()
    sys.stdout.flush()
