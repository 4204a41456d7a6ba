#!/usr/bin/env python3
"""Asks Prometheus for every panel of the dashboard, and draws what it answers.

`ringtap run` replays generated calls between two trunks while Prometheus reads its metrics every second. Then the query of each panel of
packaging/grafana/ringtap.json is asked as Grafana would, over the time of the replay. A query that Prometheus refuses is an error; panels
without a value are listed: those of what did not happen. The picture is an SVG of all panels at their places.

    bench/dashboard.py RINGTAP PICTURE.svg      needs prometheus; takes a minute
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROMETHEUS = 19090
SECONDS = 45
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2"]
COLUMN, ROW = 50, 26

CONFIG = """
[capture]
files = ["{folder}/calls.pcap"]
speed = 4.0
[store]
directory = "{folder}/records"
outbox = "{folder}/outbox"
[journal]
path = "{folder}/journal"
[spool]
directory = "{folder}/spool"
[retention]
free = "0%"
[[keep]]
keep = "headers"
[metrics]
listen = "127.0.0.1:0"
[alarms]
patterns = "all"
[[alarm]]
name = "calls"
figure = "begun"
over = "20s"
above = 20
[[trunk]]
name = "carrier-a"
addresses = ["192.0.2.0/25"]
[[trunk]]
name = "carrier-b"
addresses = ["192.0.2.128/25"]
"""


def ask(path, **query):
    url = f"http://127.0.0.1:{PROMETHEUS}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def query_of(expression):
    return expression.replace("$instance", ".*").replace("$__rate_interval", "15s").replace("$__range", f"{SECONDS}s")


def record(ringtap, folder):
    """Replays calls while Prometheus looks; returns the span."""
    run = lambda *command: subprocess.run(command, check=True, capture_output=True)
    run(ringtap, "generate", "--out", f"{folder}/calls.pcap", "--impair", "all", "--calls", "400", "--rate", "3", "--hold", "20",
        "--registrations", "60", "--cross", "1M")
    pathlib.Path(folder, "ringtap.toml").write_text(CONFIG.format(folder=folder))
    log = open(f"{folder}/log", "w+")
    daemon = subprocess.Popen([ringtap, "run", "-c", f"{folder}/ringtap.toml"], stderr=log)
    prometheus = None
    try:
        address = None
        for _ in range(100):
            time.sleep(0.1)
            found = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", pathlib.Path(folder, "log").read_text())
            if found or daemon.poll() is not None:
                address = found and found[1]
                break
        if not address:
            sys.exit(pathlib.Path(folder, "log").read_text())
        pathlib.Path(folder, "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: ringtap, static_configs: [{{targets: ['{address}']}}]}}]\n")
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{PROMETHEUS}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begin = time.time()
        time.sleep(SECONDS)
        daemon.terminate()
        daemon.wait(60)
        return (begin, time.time()), panels((begin, time.time()))
    finally:
        for process in filter(None, (daemon, prometheus)):
            process.kill()
            process.wait()


def panels(span):
    """Each panel with the series of its queries: a name, and the points."""
    dashboard = json.loads((ROOT / "packaging/grafana/ringtap.json").read_text())
    drawn = []
    for panel in dashboard["panels"]:
        series = []
        for target in panel.get("targets", []):
            answer = ask("query_range", query=query_of(target["expr"]), start=span[0], end=span[1], step=1)
            if answer["status"] != "success":
                sys.exit(f"{panel['title']}: {target['expr']}: {answer}")
            for found in answer["data"]["result"]:
                name = ",".join(f"{value}" for key, value in found["metric"].items() if key not in ("__name__", "instance", "job"))
                values = [(time, float(value)) for time, value in found["values"] if value not in ("NaN", "+Inf", "-Inf")]
                if values:
                    series.append((name or target.get("legendFormat", ""), values))
        drawn.append((panel, series))
    return drawn


def short(value):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def draw(panel, series, span):
    place = panel["gridPos"]
    x, y, width, height = place["x"] * COLUMN, place["y"] * ROW, place["w"] * COLUMN - 8, place["h"] * ROW - 8
    title = html.escape(panel["title"])
    if panel["type"] == "row":
        return [f'<text x="{x}" y="{y + 18}" class="row">{title}</text>']
    out = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" class="panel"/><text x="{x + 8}" y="{y + 16}">{title}</text>']
    if not series:
        return out + [f'<text x="{x + width / 2}" y="{y + height / 2}" class="none">none</text>']
    if panel["type"] == "stat":
        value = [values for _, values in series if values][0][-1][1]
        return out + [f'<text x="{x + width / 2}" y="{y + height / 2 + 20}" class="stat">{short(value)}</text>']
    top = max(value for _, values in series for _, value in values) or 1
    left, right, up, down = x + 40, x + width - 8, y + 26, y + height - 26
    out.append(f'<path d="M{left} {up}V{down}H{right}" class="axis"/>')
    out += [f'<text x="{left - 4}" y="{at}" class="scale">{short(value)}</text>' for at, value in ((up + 4, top), (down, 0))]
    for number, (name, values) in enumerate(series[:8]):
        colour = COLOURS[number % len(COLOURS)]
        at = lambda time, value: f"{left + (time - span[0]) / (span[1] - span[0]) * (right - left):.1f},{down - value / top * (down - up):.1f}"
        points = " ".join(at(time, value) for time, value in values)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        out.append(f'<text x="{left + number % 4 * 88}" y="{down + 12 + number // 4 * 10}" class="key" fill="{colour}">{html.escape(name[:16])}</text>')
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ringtap, picture = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="ringtap-dashboard.") as folder:
        pathlib.Path(folder).chmod(0o755)
        span, drawn = record(ringtap, folder)
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel, _ in drawn) * ROW
    style = ("text{font:12px sans-serif;fill:#222}.row{font-weight:bold}.panel{fill:#fff;stroke:#ccc}.none{fill:#999;text-anchor:middle}"
             ".stat{font-size:28px;text-anchor:middle}.axis{fill:none;stroke:#999}.scale{font-size:9px;text-anchor:end}.key{font-size:9px}")
    body = "\n".join(line for panel, series in drawn for line in draw(panel, series, span))
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{24 * COLUMN}" height="{bottom}"><style>{style}</style>'
                       f'<rect width="100%" height="100%" fill="#f4f5f5"/>\n{body}\n</svg>\n')
    shown = [panel for panel, _ in drawn if panel["type"] != "row"]
    empty = [panel["title"] for panel, series in drawn if panel["type"] != "row" and not series]
    print(f"{len(shown) - len(empty)} of {len(shown)} panels have values; without: {', '.join(empty) or 'none'}")


main()
