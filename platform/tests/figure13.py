"""The paper's figure 13: active and processed calls of each PBX over time, as a table (CSV) and as a picture (SVG)."""

import csv
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, BETWEEN = 900, 260, 80, 20, 30, 40, 30
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6")


def write_table(path, samples, pbxs):
    """A line for each moment: seconds since the load began, and of each PBX the calls that are active and those processed until then."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["seconds", *(f"{name}_{what}" for what in ("active", "processed") for name in pbxs)])
        for each in samples:
            out.writerow([f"{each['seconds']:.1f}", *(each["pbxs"][name][what] for what in (0, 1) for name in pbxs)])


def nice(most):
    """The smallest of 1, 2, 5, 10, 20 ... that is not below it."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if factor * step >= most:
                return factor * step
        step *= 10


def panel(title, top, seconds, lines):
    """One diagram: of each name its values at these seconds."""
    end, most = max(seconds[-1], 1), nice(max(max(values) for _, values in lines) or 1)
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(second, value):
        return f"{LEFT + across * second / end:.1f},{top + TOP + down * (1 - value / most):.1f}"
    yield f'<text x="{LEFT}" y="{top + TOP - 10}" font-weight="bold">{title}</text>'
    for part in range(5):
        y = top + TOP + down * (1 - part / 4)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{most * part / 4:g}</text>'
        x = LEFT + across * part / 4
        yield f'<text x="{x:.1f}" y="{top + HEIGHT - BOTTOM + 18}" text-anchor="middle">{end * part / 4:.0f} s</text>'
    for number, (name, values) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(map(place, seconds, values))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        yield f'<text x="{WIDTH - RIGHT - 90 * (len(lines) - number)}" y="{top + TOP - 10}" fill="{colour}">{name}</text>'


def write_picture(path, samples, pbxs, title):
    seconds = [each["seconds"] for each in samples]
    body = []
    for number, what in enumerate(("active", "processed")):
        lines = [(name, [each["pbxs"][name][number] for each in samples]) for name in pbxs]
        body += panel(f"{title}: {what} calls", number * (HEIGHT + BETWEEN), seconds, lines)
    Path(path).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{2 * HEIGHT + BETWEEN}" font-family="sans-serif" '
                          'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")
